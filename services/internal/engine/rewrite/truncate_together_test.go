package rewrite_test

import (
	"context"
	"errors"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/rewrite"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/ledger"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

// interrupted lets something happen before one of its writes, which are counted down.
type interrupted struct {
	*storetest.Memory
	left int
	then func()
}

func (i *interrupted) write() {
	if i.left--; i.left == 0 {
		i.then()
	}
}

func (i *interrupted) Append(ctx context.Context, chunk stream.Chunk) error {
	i.write()
	return i.Memory.Append(ctx, chunk)
}

func (i *interrupted) Replace(ctx context.Context, chunk stream.Chunk, expect stream.Digest) error {
	i.write()
	return i.Memory.Replace(ctx, chunk, expect)
}

func (i *interrupted) DeleteSnapshot(ctx context.Context, name string) error {
	i.write()
	return i.Memory.DeleteSnapshot(ctx, name)
}

// A process pauses before a step of a truncation or an erasure. Meanwhile another
// process finishes it, more is posted, and a later truncation of all that has reached
// any of its steps. When the first process continues, it must not break the later
// truncation.
func TestPausedProcessMeetsALaterTruncation(t *testing.T) {
	for name, redact := range map[string]func(e *ledger.Engine, store *storetest.Memory) error{
		"a truncation": func(e *ledger.Engine, store *storetest.Memory) error {
			_, err := e.Truncate(t.Context(), testStream, after(t, store, 4))
			return err
		},
		"an erasure": func(e *ledger.Engine, _ *storetest.Memory) error {
			_, err := e.Erase(t.Context(), testStream, rewrite.Viewer{IDs: []string{"viewer-1"}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			for step := 1; ; step++ {
				for later := 0; ; later++ {
					slept, whole := meet(t, redact, step, later)
					if !slept && later == 0 {
						return
					}
					if whole {
						break
					}
				}
			}
		})
	}
}

// meet lets one redact sleep before a step, and another one come to a later step of a
// truncation meanwhile. It reports whether there was such a step of the one, and whether the
// other's truncation came to its end.
func meet(t *testing.T, redact func(*ledger.Engine, *storetest.Memory) error, step, later int) (slept, whole bool) {
	t.Helper()
	store := posted(t)
	other := newEngine(store, stream.Options{})
	asleep := &interrupted{Memory: store, left: step}
	asleep.then = func() {
		slept = true
		if err := redact(other, store); err != nil {
			t.Error(err)
		}
		if _, err := other.Do(t.Context(), testStream, ledger.Post{ID: 9, Amount: 1, Who: "viewer-2"}); err != nil {
			t.Error(err)
		}
		cutOff := newEngine(&ailing{Memory: store, left: later}, stream.Options{})
		_, err := cutOff.Truncate(t.Context(), testStream, after(t, store, uint64(len(ledger.ChunksOf(t, store)))))
		if whole = err == nil; !whole && !errors.Is(err, errAiling) {
			t.Error(err)
		}
		mustClose(t, cutOff)
	}
	sleeper := newEngine(asleep, stream.Options{})
	if err := redact(sleeper, store); err != nil {
		t.Errorf("asleep before step %d, the other one came to %d: %v", step, later, err)
	}
	truncate(t, other, after(t, store, 1)) // finishes what was cut off
	if _, err := verify(t, store); err != nil {
		t.Errorf("asleep before step %d, the other one came to %d: %v", step, later, err)
	}
	want := int64(12)
	if slept {
		want++
	}
	if n := sum(t, other); n != want {
		t.Errorf("asleep before step %d, the other one came to %d: the sum is %d, want %d", step, later, n, want)
	}
	mustClose(t, sleeper)
	mustClose(t, other)
	return slept, whole
}
