package boltstore

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"

	"go.etcd.io/bbolt"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

// database is a bbolt file whose every transaction is guarded: bbolt panics on a
// page that makes no sense and faults on one that is not there.
type database struct {
	path string
	bolt *bbolt.DB
	file *os.File // the one bbolt has open

	// mu is held while a transaction begins or a reader's ends, so that no one
	// waits for a lock that a panic inside bbolt left locked.
	mu      sync.Mutex
	failure error // why everything is refused
	broken  bool  // a panic left bbolt's own locks in disorder
}

// panicked is the error that a panic inside bbolt has become.
type panicked struct{ reason any }

func (p panicked) Error() string { return fmt.Sprintf("%v: %v", stream.ErrDamaged, p.reason) }
func (p panicked) Unwrap() error { return stream.ErrDamaged }

// guard runs fn and turns a panic, a memory fault included, into an error that
// wraps [stream.ErrDamaged].
func guard(fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if reason := recover(); reason != nil {
			err = panicked{reason}
		}
	}()
	return fn()
}

// view runs fn in a read transaction. A panic in it fails this call only.
func (d *database) view(fn func(*bbolt.Tx) error) error {
	tx, err := d.begin(false)
	if err != nil {
		return err
	}
	defer d.release(tx)
	return guard(func() error { return fn(tx) })
}

// update runs fn in a transaction and commits it. Only the writer calls it, and
// fn fails on nothing but damage: so the database is given up for any failure
// but that of a full disk.
func (d *database) update(fn func(*bbolt.Tx) error) error {
	tx, err := d.begin(true)
	if err != nil {
		return err
	}
	id := tx.ID()
	err = guard(func() error {
		if err := fn(tx); err != nil {
			return errors.Join(fmt.Errorf("%w: %w", stream.ErrDamaged, err), tx.Rollback())
		}
		return tx.Commit()
	})
	switch {
	case err == nil:
		return nil
	case isFull(err) && !d.shows(id):
		return fault.Wrap(fault.Storage, err, "the disk is full")
	}
	d.fail(err)
	return fault.Wrap(fault.Uncertain, d.err(), "storage failed")
}

// isFull reports whether bbolt ran out of space. It grows the file before it
// writes anything and hides the cause of a failure to do so in its text.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) ||
		strings.HasPrefix(err.Error(), "file resize error")
}

// shows reports whether readers can see the transaction with that id: whether
// its root page has been written.
func (d *database) shows(id int) bool {
	last := id
	err := d.view(func(tx *bbolt.Tx) error {
		last = tx.ID()
		return nil
	})
	return err != nil || last >= id
}

func (d *database) begin(writable bool) (tx *bbolt.Tx, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failure != nil {
		return nil, d.failure
	}
	err = guard(func() error {
		tx, err = d.bolt.Begin(writable)
		return err
	})
	if err != nil {
		d.giveUp(err)
		return nil, d.failure
	}
	return tx, nil
}

func (d *database) release(tx *bbolt.Tx) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.broken {
		_ = tx.Rollback() // a reader's fails only when it has ended already
	}
}

// fail makes the database refuse everything from now on.
func (d *database) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.giveUp(err)
}

func (d *database) giveUp(err error) {
	_, isPanic := errors.AsType[panicked](err)
	d.broken = d.broken || isPanic
	d.failure = fault.Wrap(fault.Storage,
		fmt.Errorf("%s cannot be relied upon until the program is started again: %w", d.path, err), "storage has failed")
}

func (d *database) err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failure
}

// size returns that of the file in bytes, 0 when it is closed.
func (d *database) size() int64 {
	info, err := d.file.Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}

// close waits for the readers. After a panic it leaves bbolt alone, and the lock
// on the file stays until the process ends.
func (d *database) close() error {
	broken, closed := d.shut()
	if broken || closed || d.bolt == nil {
		return nil
	}
	return d.bolt.Close()
}

// shut refuses everything from now on and says how the database was before.
func (d *database) shut() (broken, closed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	broken, closed = d.broken, errors.Is(d.failure, os.ErrClosed)
	if !closed {
		d.failure = fault.Wrap(fault.Unavailable, os.ErrClosed, "storage is closed")
	}
	return broken, closed
}
