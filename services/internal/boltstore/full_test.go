package boltstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/document"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

// TestFullDisk limits how large a file of a process may be, which any user can:
// writing beyond fails like on a full disk.
func TestFullDisk(t *testing.T) {
	if output, err := child(t, "full", t.TempDir()).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}

// fullChild runs out of space in the two ways there are: when pages are written
// to room that the file only seems to have, and when the file is to grow.
func fullChild(dir string) error {
	signal.Ignore(syscall.SIGXFSZ) // writing then fails instead
	s, err := Open(dir)
	if err != nil {
		return err
	}
	d := &disk{Store: s, dir: dir}
	if err := d.appendUntil(func(seq uint64) bool { return seq == 200 }); err != nil {
		return err
	}
	for _, limit := range []uint64{6 << 20, uint64(s.Stats().FileBytes)} {
		if err := d.fillAndRecover(limit); err != nil {
			return fmt.Errorf("limit of %d bytes: %w", limit, err)
		}
	}
	return d.Close()
}

// disk is a store and what has been stored in it.
type disk struct {
	*Store
	dir  string
	last uint64 // seq of the last chunk of the one stream
}

const fullChunk = 20 << 10

func (d *disk) chunk(seq uint64) stream.Chunk {
	chunk := newChunk("s", seq)
	chunk.Payload = append(chunk.Payload, make([]byte, fullChunk)...)
	return chunk
}

// appendUntil appends chunks until one fails or enough says so.
func (d *disk) appendUntil(enough func(seq uint64) bool) error {
	for !enough(d.last) {
		if err := d.Append(context.Background(), d.chunk(d.last+1)); err != nil {
			return err
		}
		d.last++
	}
	return nil
}

// fillAndRecover writes until there is no more room, and again when there is.
func (d *disk) fillAndRecover(limit uint64) error {
	if err := limitFiles(limit); err != nil {
		return err
	}
	err := d.appendUntil(func(seq uint64) bool { return seq > 10_000 })
	if err := wantFull(err); err != nil {
		return err
	}
	if err := errors.Join(d.refusesLargeWrites(), d.verify()); err != nil {
		return fmt.Errorf("while the disk is full: %w", err)
	}
	if err := errors.Join(d.reopen(), d.verify()); err != nil {
		return fmt.Errorf("opened while the disk is full: %w", err)
	}
	if err := errors.Join(limitFiles(math.MaxUint64), d.Err()); err != nil {
		return err
	}
	target := d.last + 100
	if err := d.appendUntil(func(seq uint64) bool { return seq == target }); err != nil {
		return fmt.Errorf("when there is room again: %w", err)
	}
	return errors.Join(d.verify(), d.reopen(), d.verify())
}

// refusesLargeWrites of every kind.
func (d *disk) refusesLargeWrites() error {
	ctx, large := context.Background(), make([]byte, 64<<20)
	return errors.Join(
		wantFull(d.Put(ctx, document.Write{Key: "d", Body: large})),
		wantFull(d.SaveSnapshot(ctx, "s", stream.Snapshot{State: large})),
		wantFull(d.Append(ctx, stream.Chunk{Stream: "t", Seq: 1, Payload: large})),
		d.Err(),
	)
}

// verify reads everything: what was acknowledged is there and nothing else.
func (d *disk) verify() error {
	seen := uint64(0)
	for chunk, err := range d.Chunks(context.Background(), "s", 0) {
		if err != nil {
			return err
		}
		seen++
		if want := d.chunk(seen); chunk.Sum() != want.Sum() {
			return fmt.Errorf("chunk %d is not what was written", seen)
		}
	}
	if seen != d.last {
		return fmt.Errorf("%d chunks are stored, %d were acknowledged", seen, d.last)
	}
	for chunk, err := range d.Chunks(context.Background(), "t", 0) {
		return fmt.Errorf("chunk %d that was refused is stored, or %w", chunk.Seq, err)
	}
	found, err := d.Get(context.Background(), "d")
	if err == nil && found[0].Version != 0 {
		err = errors.New("a document that was refused is stored")
	}
	return err
}

func (d *disk) reopen() (err error) {
	if err := d.Close(); err != nil {
		return err
	}
	d.Store, err = Open(d.dir)
	return err
}

// wantFull returns nil if err is that of a full disk.
func wantFull(err error) error {
	if fault.KindOf(err) != fault.Storage || !strings.Contains(err.Error(), "the disk is full") {
		return fmt.Errorf("error is %w, want that of a full disk, of kind Storage", err)
	}
	return nil
}

func limitFiles(bytes uint64) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	limit.Cur = min(bytes, limit.Max)
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)
}
