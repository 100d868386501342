package rewrite_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/internal/engine/rewrite"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/ledger"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

// posted returns a store in which three viewers have posted twice each, each time in a
// chunk of its own. The store has a snapshot of the stream, too.
func posted(t *testing.T) *storetest.Memory {
	t.Helper()
	store := storetest.NewMemory()
	engine := newEngine(store, stream.Options{SnapshotTail: 1})
	for id := range uint64(6) {
		if _, err := engine.Do(t.Context(), testStream, ledger.Post{ID: id, Amount: 2, Who: ledger.Viewers[1+id%3]}); err != nil {
			t.Fatal(err)
		}
	}
	mustClose(t, engine)
	return store
}

func erase(t *testing.T, e *ledger.Engine, ids ...string) rewrite.Erasure {
	t.Helper()
	erased, err := e.Erase(t.Context(), testStream, rewrite.Viewer{IDs: ids})
	if err != nil {
		t.Fatal(err)
	}
	return erased
}

// given returns what a viewer has given.
func given(t *testing.T, e *ledger.Engine, who string) int64 {
	t.Helper()
	given, err := e.View(t.Context(), testStream, ledger.Post{Amount: ledger.GivenQuery, Who: who})
	if err != nil {
		t.Fatal(err)
	}
	return given
}

func TestEraseForgetsOneViewerInEveryEngine(t *testing.T) {
	for _, exclusive := range []bool{false, true} {
		store := posted(t)
		owner, other := newEngine(store, stream.Options{Exclusive: exclusive}), newEngine(store, stream.Options{})
		for _, e := range []*ledger.Engine{owner, other} {
			if sum(t, e) != 12 || given(t, e, "viewer-1") != 4 {
				t.Fatal("the engines do not know the stream")
			}
		}
		want := rewrite.Erasure{Chunks: 2, Entries: 2}
		if diff := cmp.Diff(want, erase(t, owner, "viewer-1")); diff != "" {
			t.Errorf("erased (-want +got):\n%s", diff)
		}
		for _, e := range []*ledger.Engine{owner, other} {
			if sum, first, second := sum(t, e), given(t, e, "viewer-1"), given(t, e, "viewer-2"); sum != 12 || first != 0 || second != 4 {
				t.Errorf("the sum is %d, of it %d and %d, want 12, 0 and 4", sum, first, second)
			}
		}
		ledger.WantErased(t, store, testStream, "viewer-1")
		if report, err := verify(t, store); err != nil || report.Redacted != 3 || report.Entries != 6 {
			t.Errorf("verify: %+v, %v, want 3 redacted chunks", report, err)
		}
		// A viewer that returns is a new viewer: the two have 4 + 8, above the limit
		// of one.
		if _, err := owner.Do(t.Context(), testStream, ledger.Post{ID: 9, Amount: ledger.ViewerLimit, Who: "viewer-1"}); err != nil {
			t.Errorf("the viewer came back: %v", err)
		}
		if diff := cmp.Diff(rewrite.Erasure{Chunks: 1, Entries: 1}, erase(t, other, "viewer-1", "viewer-9")); diff != "" {
			t.Errorf("erased the second time (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(rewrite.Erasure{}, erase(t, owner, "viewer-1")); diff != "" {
			t.Errorf("erased the third time (-want +got):\n%s", diff)
		}
		if report, err := verify(t, store); err != nil || report.Redacted != 5 || sum(t, other) != 20 {
			t.Errorf("verify: %+v, %v, want 5 redacted chunks", report, err)
		}
		mustClose(t, owner)
		mustClose(t, other)
	}
}

// ailing fails from one operation on, which is counted from 0 and may take effect all
// the same.
type ailing struct {
	*storetest.Memory
	left    int
	applies bool
}

var errAiling = errors.New("the store is gone")

func (a *ailing) do(write func() error) error {
	a.left--
	if a.left >= 0 || a.left == -1 && a.applies {
		if err := write(); err != nil || a.left >= 0 {
			return err
		}
	}
	return errAiling
}

func (a *ailing) Append(ctx context.Context, chunk stream.Chunk) error {
	return a.do(func() error { return a.Memory.Append(ctx, chunk) })
}

func (a *ailing) Replace(ctx context.Context, chunk stream.Chunk, expect stream.Digest) error {
	return a.do(func() error { return a.Memory.Replace(ctx, chunk, expect) })
}

func (a *ailing) DeleteSnapshot(ctx context.Context, name string) error {
	return a.do(func() error { return a.Memory.DeleteSnapshot(ctx, name) })
}

// An erasure that is cut off at any step changes no figure, and the engine that erases next
// finishes it.
func TestEraseIsCutOff(t *testing.T) {
	cuts := 0
	for i := 0; ; i++ {
		store := posted(t)
		resident := newEngine(store, stream.Options{})
		before := sum(t, resident)
		broken := &ailing{Memory: store, left: i / 2, applies: i%2 == 1}
		engine := newEngine(broken, stream.Options{})
		_, err := engine.Erase(t.Context(), testStream, rewrite.Viewer{IDs: []string{"viewer-1", "viewer-2"}})
		if broken.left >= 0 {
			if err != nil {
				t.Fatalf("step %d: %v", i, err)
			}
			break
		}
		cuts++
		if !errors.Is(err, errAiling) {
			t.Errorf("step %d: got %v", i, err)
		}
		fresh := newEngine(store, stream.Options{})
		for _, e := range []*ledger.Engine{resident, fresh} {
			total, first, third := sum(t, e), given(t, e, "viewer-1"), given(t, e, "viewer-3")
			if total != before || third != 4 || first != given(t, e, "viewer-2") || first != 0 && first != 4 {
				t.Errorf("step %d: the sum is %d, of it %d and %d", i, total, first, third)
			}
		}
		if _, err := verify(t, store); err != nil && !errors.Is(err, rewrite.ErrUnfinished) {
			t.Errorf("step %d: cut off: %v", i, err)
		}
		erase(t, fresh, []string{"viewer-1", "viewer-2"}[i%2], "viewer-3")
		erase(t, fresh, "viewer-1", "viewer-2")
		ledger.WantErased(t, store, testStream, ledger.Viewers[1:]...)
		if report, err := verify(t, store); err != nil || report.Entries != 6 || sum(t, fresh) != before {
			t.Errorf("step %d: finished: %+v, %v", i, report, err)
		}
		for _, e := range []*ledger.Engine{engine, fresh, resident} {
			mustClose(t, e)
		}
	}
	if cuts != 2*(1+4+1+1+1) { // control record, chunks, checksum record, snapshot, control record
		t.Errorf("cut off at %d places", cuts)
	}
}

// A snapshot that was taken before an erasure and is written after it is not used,
// the next engine that reads the stream replaces it, and erasing again deletes it.
func TestEraseMeetsALateSnapshot(t *testing.T) {
	store := posted(t)
	snapshot, ok, err := store.LoadSnapshot(t.Context(), testStream)
	if !ok || err != nil {
		t.Fatal("there is no snapshot")
	}
	late := func() {
		if err := store.SaveSnapshot(t.Context(), testStream, snapshot); err != nil {
			t.Fatal(err)
		}
	}
	engine := newEngine(store, stream.Options{})
	defer mustClose(t, engine)
	erase(t, engine, "viewer-1")
	late()
	if report, err := verify(t, store); err != nil || report.Snapshot {
		t.Errorf("verify: %+v, %v, want that the late snapshot is left out", report, err)
	}
	erase(t, engine, "viewer-1")
	ledger.WantErased(t, store, testStream, "viewer-1")
	if _, err := engine.Do(t.Context(), testStream, ledger.Post{ID: 9, Amount: 1, Who: "viewer-2"}); err != nil {
		t.Fatal(err)
	}
	truncate(t, engine, after(t, store, 9))
	late() // where even the control record of the erasure is gone
	erase(t, engine, "viewer-1")
	ledger.WantErased(t, store, testStream, "viewer-1")
	late()
	fresh := newEngine(store, stream.Options{})
	if given(t, fresh, "viewer-1") != 0 || sum(t, fresh) != 13 {
		t.Error("the late snapshot was used")
	}
	mustClose(t, fresh)
	ledger.WantErased(t, store, testStream, "viewer-1")
	if report, err := verify(t, store); err != nil || !report.Snapshot {
		t.Errorf("verify: %+v, %v, want a snapshot", report, err)
	}
}

// held is a store whose first snapshot waits to be let go.
type held struct {
	*storetest.Memory
	begun, let chan struct{}
}

func (h *held) SaveSnapshot(ctx context.Context, name string, snapshot stream.Snapshot) error {
	select {
	case <-h.begun:
	default:
		close(h.begun)
		<-h.let
	}
	return h.Memory.SaveSnapshot(ctx, name, snapshot)
}

// An erasure waits for a snapshot that its engine copied before and is writing, and leaves
// nothing of the viewer in it.
func TestEraseMeetsASnapshotBeingWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &held{posted(t), make(chan struct{}), make(chan struct{})}
		engine := newEngine(store, stream.Options{SnapshotTail: 1, Exclusive: true})
		for id := range uint64(8) { // more than the state takes
			if _, err := engine.Do(t.Context(), testStream, ledger.Post{ID: id, Who: "viewer-1"}); err != nil {
				t.Fatal(err)
			}
		}
		<-store.begun
		erased := make(chan struct{})
		go func() {
			defer close(erased)
			erase(t, engine, "viewer-1")
		}()
		time.Sleep(time.Minute) // by the clock of the bubble
		select {
		case <-erased:
			t.Error("the erasure has ended before the snapshot was written")
		default:
		}
		close(store.let)
		<-erased
		ledger.WantErased(t, store, testStream, "viewer-1")
		mustClose(t, engine)
		ledger.WantErased(t, store, testStream, "viewer-1")
		if report, err := verify(t, store.Memory); err != nil || !report.Snapshot {
			t.Errorf("verify: %+v, %v, want a snapshot", report, err)
		}
	})
}

// Verify proves that redacted chunks hold exactly the bytes that the last erasure
// wrote.
func TestVerifyFindsWhatErasuresHaveNotDone(t *testing.T) {
	before := ledger.ChunksOf(t, posted(t))
	for name, damage := range map[string]func(c []stream.Chunk) []stream.Chunk{
		"a redacted chunk changed": func(c []stream.Chunk) []stream.Chunk {
			c[3].Payload = slices.Clone(c[3].Payload)
			c[3].Payload[len(c[3].Payload)-1]++
			return c
		},
		"the original put back": func(c []stream.Chunk) []stream.Chunk { c[3] = before[3]; return c },
		"a chunk redacted by nobody": func(c []stream.Chunk) []stream.Chunk {
			c[1].Original, c[1].ID[0] = c[1].Sum(), 0
			return c
		},
		"one redacted by nobody at the end": func(c []stream.Chunk) []stream.Chunk {
			last := &c[len(c)-1]
			last.Original = last.Sum()
			return c
		},
		"a notice changed": func(c []stream.Chunk) []stream.Chunk {
			c[6].Payload = slices.Clone(c[6].Payload)
			c[6].Payload[len(c[6].Payload)-1]++
			return c
		},
		"the seal is gone": func(c []stream.Chunk) []stream.Chunk { return c[:7] },
	} {
		t.Run(name, func(t *testing.T) {
			store := posted(t)
			engine := newEngine(store, stream.Options{})
			erase(t, engine, "viewer-1")
			mustClose(t, engine)
			if _, err := verify(t, store); err != nil {
				t.Fatal(err)
			}
			if _, err := verify(t, storetest.NewMemoryOf(damage(ledger.ChunksOf(t, store))...)); !errors.Is(err, stream.ErrDamaged) {
				t.Errorf("got %v, want damage", err)
			}
		})
	}
}

// The digest of the original chunk does not reveal the viewer, even to a reader that
// knows the rest of the chunk.
func TestRedactedChunksDoNotTellIfAGuessIsRight(t *testing.T) {
	store := posted(t)
	engine := newEngine(store, stream.Options{})
	erase(t, engine, "viewer-1")
	mustClose(t, engine)
	redacted := ledger.ChunksOf(t, store)[0]
	guess := redacted
	guess.Original = stream.Digest{}
	guess.Payload = ledger.Rules().AppendEntry([]byte{0}, ledger.Post{ID: 0, Amount: 2, Who: "viewer-1"})
	if guess.Sum() == redacted.Original {
		t.Error("the guess can be checked")
	}
	if before := ledger.ChunksOf(t, posted(t))[0]; string(before.Payload) != string(guess.Payload) {
		t.Error("the guess is not that of all the rest")
	}
}

// Several erase at once, while others post.
func TestEraseTogether(t *testing.T) {
	store := posted(t)
	done := make(chan error)
	for i := range 8 {
		go func() {
			engine := newEngine(store, stream.Options{})
			_, err := engine.Erase(t.Context(), testStream, rewrite.Viewer{IDs: []string{ledger.Viewers[1+i%3]}})
			for n := range uint64(10) {
				_, e := engine.Do(t.Context(), testStream, ledger.Post{ID: 100*uint64(i+1) + n, Amount: 0, Who: fmt.Sprint("other-", i)})
				err = errors.Join(err, e)
			}
			done <- errors.Join(err, engine.Close(t.Context()))
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	ledger.WantErased(t, store, testStream, ledger.Viewers[1:]...)
	if report, err := verify(t, store); err != nil || report.Entries != 86 {
		t.Errorf("verify: %+v, %v", report, err)
	}
}
