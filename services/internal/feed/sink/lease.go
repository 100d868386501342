package sink

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

// leaseRecord is a lease as it is stored.
type leaseRecord struct {
	Owner string `json:"owner,omitempty"` // empty: it is free
	// For is the lease's duration from the time of its writing, in milliseconds.
	For int64 `json:"for,omitempty"`
}

// queueLease is the exclusive right to deliver a queue, as one process sees it. Clocks of
// processes are not compared: the owner counts from before it wrote the lease, every
// other process from after it first read that version, each by its own clock, which
// is never set. So it is over for its owner before another process may take it. One
// goroutine uses it.
type queueLease struct {
	store     document.Store
	clock     stream.Clock
	key       string
	owner     string
	atFirst   time.Duration // how long a record lasts that does not say so
	version   uint64        // of the record that was written or read last
	heldUntil time.Time     // zero: it is not held
	freeAt    time.Time     // when another process's lease of that version is over
}

// isHeld reports whether this process holds the lease, for as long as it lasts.
func (l *queueLease) isHeld() bool { return !l.heldUntil.IsZero() }

// remainingTime returns for how long the lease is still held.
func (l *queueLease) remainingTime() time.Duration { return l.heldUntil.Sub(l.clock.Now()) }

// acquire makes sure that the lease is held for at least enough time, and takes it
// for span if it is not. It returns how long to wait before the next try when another
// process holds it, and whether another one may have held it since this one did.
func (l *queueLease) acquire(ctx context.Context, enough, span time.Duration) (wait time.Duration, lost bool, err error) {
	if l.remainingTime() >= enough {
		return 0, false, nil
	}
	l.heldUntil = time.Time{}
	begun := l.clock.Now()
	found, err := l.store.Get(ctx, l.key)
	if err != nil {
		return 0, true, err
	}
	now := found[0]
	if wait, err = l.waitForOwner(now); err != nil || wait > 0 {
		return wait, true, err
	}
	lost = now.Version != l.version
	err = putJSON(ctx, l.store, l.key, leaseRecord{Owner: l.owner, For: span.Milliseconds()}, now.Version)
	if errors.Is(err, document.ErrConflict) {
		return recheckAfter, true, nil // another process was faster
	}
	if err != nil {
		return 0, true, err
	}
	l.version, l.heldUntil = now.Version+1, begun.Add(span)
	return 0, lost, nil
}

// recheckAfter is the pause after another process was faster to take the lease.
const recheckAfter = time.Second

// waitForOwner returns how long to wait, 0 when no other process holds the lease. It
// is half of the time that is left, for the owner may release it sooner.
func (l *queueLease) waitForOwner(now document.Document) (wait time.Duration, err error) {
	if now.Version == 0 {
		return 0, nil
	}
	var r leaseRecord
	if err := json.Unmarshal(now.Body, &r); err != nil {
		return 0, fmt.Errorf("sink: decode the lease at %s: %w", l.key, err)
	}
	if r.Owner == "" || r.Owner == l.owner {
		return 0, nil
	}
	span := time.Duration(r.For) * time.Millisecond
	if span <= 0 {
		span = l.atFirst
	}
	if l.freeAt.IsZero() || l.version != now.Version {
		l.version, l.freeAt = now.Version, l.clock.Now().Add(span)
	}
	left := l.freeAt.Sub(l.clock.Now())
	return max(0, min(left, span/2)), nil
}

// release lets other processes have the lease at once.
func (l *queueLease) release(ctx context.Context) error {
	if !l.isHeld() {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	l.heldUntil = time.Time{}
	err := putJSON(ctx, l.store, l.key, leaseRecord{}, l.version)
	if err == nil {
		l.version++
	}
	if errors.Is(err, document.ErrConflict) {
		return nil // another process holds it
	}
	return err
}
