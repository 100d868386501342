package pebblestore

import (
	"errors"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/record"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

const (
	manifestBlock  = 32 << 10 // bytes; an edit that does not fit into the rest of a block is divided
	manifestHeader = 7        // bytes before an edit or a part of one
)

// checkManifest returns an error where Pebble would skip an edit of the manifest. Pebble takes
// 7 to 18 zeros at the end of a block for its rest, which has fewer than manifestHeader. If
// they were the first bytes of an edit, Pebble skips what follows of it and applies the next,
// so that an sstable is missing between others.
func (s *Store) checkManifest() error {
	database, err := pebble.Peek(s.dir, s.fs)
	if err != nil || !database.Exists {
		return err
	}
	file, err := s.fs.Open(database.ManifestFilename)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was read
	edits, at := record.NewReader(file, 0), int64(0)
	for {
		var size int64
		edit, err := edits.Next()
		if err == nil {
			size, err = io.Copy(io.Discard, edit)
		}
		if errors.Is(err, io.EOF) || isInvalid(err) {
			return nil // Pebble ends here, too
		}
		if err != nil {
			return err
		}
		if end := endOfEdit(at, size); end != edits.Offset() {
			return fmt.Errorf("%w: its manifest lacks an edit after byte %d", stream.ErrDamaged, at)
		}
		at = edits.Offset()
	}
}

// endOfEdit returns where an edit of a size ends that follows one which ends at a byte.
func endOfEdit(at, size int64) int64 {
	for {
		room := manifestBlock - at%manifestBlock
		if room < manifestHeader {
			at += room
			continue
		}
		part := min(size, room-manifestHeader)
		at, size = at+manifestHeader+part, size-part
		if size == 0 {
			return at
		}
	}
}
