package sink

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/document"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

// claim is who delivers a lane, as it is stored.
type claim struct {
	Owner string `json:"owner,omitempty"` // empty: nobody
	// For is how long the claim lasts from when it was written, in milliseconds.
	For int64 `json:"for,omitempty"`
}

// lease is a claim as one process sees it. Clocks of processes are not compared: its
// owner counts from before it wrote the claim, everybody else from after they have
// first read that version of it, each by a clock of its own that is never set. So it
// is over for its owner before anybody else may take it. One goroutine uses it.
type lease struct {
	store     document.Store
	clock     stream.Clock
	key       string
	owner     string
	atFirst   time.Duration // how long a claim lasts that does not say so
	version   uint64        // of the claim that was written or read last
	heldUntil time.Time     // zero: it is not held
	freeAt    time.Time     // when another one's claim of that version is over
}

// held reports whether the claim is this process's, for as long as it lasts.
func (l *lease) held() bool { return !l.heldUntil.IsZero() }

// left returns for how long it is still held.
func (l *lease) left() time.Duration { return l.heldUntil.Sub(l.clock.Now()) }

// hold makes sure that the lease is held for at least enough time, and claims it for
// span if it is not. It returns how long to wait before asking again when another
// one has it, and whether another one may have had it since it was last held here.
func (l *lease) hold(ctx context.Context, enough, span time.Duration) (wait time.Duration, anew bool, err error) {
	if l.left() >= enough {
		return 0, false, nil
	}
	l.heldUntil = time.Time{}
	begun := l.clock.Now()
	found, err := l.store.Get(ctx, l.key)
	if err != nil {
		return 0, true, err
	}
	now := found[0]
	if wait, err = l.others(now); err != nil || wait > 0 {
		return wait, true, err
	}
	anew = now.Version != l.version
	err = put(ctx, l.store, l.key, claim{Owner: l.owner, For: span.Milliseconds()}, now.Version)
	if errors.Is(err, document.ErrConflict) {
		return recheck, true, nil // somebody else was faster
	}
	if err != nil {
		return 0, true, err
	}
	l.version, l.heldUntil = now.Version+1, begun.Add(span)
	return 0, anew, nil
}

// recheck is when to look again after a claim that another one was faster with.
const recheck = time.Second

// others returns how long to wait, 0 when nobody else has the lease. Half of the
// time is waited for at once, for it may be over sooner.
func (l *lease) others(now document.Document) (wait time.Duration, err error) {
	if now.Version == 0 {
		return 0, nil
	}
	var c claim
	if err := json.Unmarshal(now.Body, &c); err != nil {
		return 0, fmt.Errorf("sink: the claim at %s cannot be read: %w", l.key, err)
	}
	if c.Owner == "" || c.Owner == l.owner {
		return 0, nil
	}
	span := time.Duration(c.For) * time.Millisecond
	if span <= 0 {
		span = l.atFirst
	}
	if l.freeAt.IsZero() || l.version != now.Version {
		l.version, l.freeAt = now.Version, l.clock.Now().Add(span)
	}
	left := l.freeAt.Sub(l.clock.Now())
	return max(0, min(left, span/2)), nil
}

// release lets others have the lease at once.
func (l *lease) release(ctx context.Context) error {
	if !l.held() {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	l.heldUntil = time.Time{}
	err := put(ctx, l.store, l.key, claim{}, l.version)
	if err == nil {
		l.version++
	}
	if errors.Is(err, document.ErrConflict) {
		return nil // somebody has it
	}
	return err
}
