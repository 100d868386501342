package boltstore

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"os"

	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

// The first two pages of a bbolt file take turns as its root. Layout of either,
// after a page header of 16 bytes, in the byte order of the machine: magic,
// version, page size and flags (4 bytes each), root page, sequence, freelist
// page, number of pages, transaction, FNV-1a checksum (8 bytes each).
const (
	pageHeader   = 16
	metaLength   = 64
	metaMagic    = 0xED0CDAED
	atPageSize   = 8
	atPageCount  = 40
	atChecksum   = 56
	smallestPage = 512
)

// inspect returns what makes the file unfit to be opened: a root page that is
// damaged, which may be the one that holds the last commit, or pages that are
// missing at the end.
func inspect(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	if err != nil {
		return err
	}
	first, err := readRoot(file, 0)
	if err != nil {
		return fmt.Errorf("first page: %w", err)
	}
	second, err := readRoot(file, first.pageSize)
	if err != nil {
		return fmt.Errorf("second page: %w", err)
	}
	if want := first.pageSize * max(first.pages, second.pages); info.Size() < want {
		return fmt.Errorf("%w: %d bytes of at least %d, the end is missing", stream.ErrDamaged, info.Size(), want)
	}
	return nil
}

// root is what a root page says of the file.
type root struct{ pageSize, pages int64 }

func readRoot(file *os.File, offset int64) (root, error) {
	page := make([]byte, pageHeader+metaLength)
	if _, err := file.ReadAt(page, offset); err != nil {
		return root{}, fmt.Errorf("%w: file is too short", stream.ErrDamaged)
	}
	meta, order := page[pageHeader:], binary.NativeEndian
	sum := fnv.New64a()
	sum.Write(meta[:atChecksum])
	r := root{
		pageSize: int64(order.Uint32(meta[atPageSize:])),
		pages:    int64(order.Uint64(meta[atPageCount:])),
	}
	switch {
	case order.Uint32(meta) != metaMagic:
		return root{}, fmt.Errorf("%w: not that of a bbolt file", stream.ErrDamaged)
	case order.Uint64(meta[atChecksum:]) != sum.Sum64(), r.pageSize < smallestPage:
		return root{}, fmt.Errorf("%w: wrong checksum, the last commit may be lost", stream.ErrDamaged)
	}
	return r, nil
}
