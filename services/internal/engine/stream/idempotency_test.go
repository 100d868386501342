package stream_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/engine/rewrite"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/ledger"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

// keyOf returns the key of a request, as an owner of keys sends it under some secrets.
func keyOf(owner, key, request string, secrets ...string) *once.Key {
	all := [][]byte{[]byte("secret")}
	for _, s := range secrets {
		all = append([][]byte{[]byte(s)}, all...)
	}
	return once.NewScope(all, time.Now(), owner).NewKey(key, []byte(request))
}

// wantOnce sends a command with a key and expects it to be run, or to be a repetition.
func wantOnce(t *testing.T, e *ledger.Engine, p ledger.Post, key *once.Key, replayed bool) {
	t.Helper()
	if _, err := e.Do(t.Context(), testStream, p, key); err != nil || key.Replayed != replayed {
		t.Errorf("a command with a key: %v, replayed: %t, want %t", err, key.Replayed, replayed)
	}
}

func TestKeyRunsACommandOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storetest.NewMemory()
		first := newEngine(store, stream.Options{SnapshotTail: 1})
		p := ledger.Post{ID: 1, Amount: 3}
		wantOnce(t, first, p, keyOf("U1", "a", "give 3"), false)
		wantOnce(t, first, p, keyOf("U1", "a", "give 3"), true)
		wantOnce(t, first, p, keyOf("U1", "a", "give 3", "a newer secret"), true)
		if _, err := first.Do(t.Context(), testStream, p, keyOf("U1", "a", "give 4")); fault.KindOf(err) != fault.Reused {
			t.Errorf("another request with the key: %v", err)
		}
		wantOnce(t, first, ledger.Post{ID: 2, Amount: 3}, keyOf("U2", "a", "give 3"), false)

		other := newEngine(store, stream.Options{}) // reads the log
		wantOnce(t, other, p, keyOf("U1", "a", "give 3"), true)
		if _, err := other.Do(t.Context(), testStream, ledger.Post{ID: 3, Amount: 99}, keyOf("U1", "b", "")); fault.KindOf(err) != fault.Invalid {
			t.Errorf("a command over the limit: %v", err)
		}
		wantOnce(t, other, ledger.Post{ID: 3, Amount: 1}, keyOf("U1", "b", ""), false) // a refusal is not kept
		mustClose(t, other)
		mustClose(t, first)

		if s, ok, err := store.LoadSnapshot(t.Context(), testStream); !ok || err != nil || s.Format == 1 {
			t.Errorf("the snapshot has format %d, %t, %v", s.Format, ok, err)
		}
		if _, err := verify(t, store); err != nil {
			t.Errorf("verify: %v", err)
		}
		later := newEngine(store, stream.Options{}) // reads the snapshot
		wantOnce(t, later, p, keyOf("U1", "a", "give 3"), true)
		if n := sum(t, later); n != 7 {
			t.Errorf("the sum is %d, want 7", n)
		}
		time.Sleep(once.Lifetime)
		wantOnce(t, later, p, keyOf("U1", "a", "give 3"), false)
		mustClose(t, later)
	})
}

// Commands in one batch know the keys of those before.
func TestKeysOfOneBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSlow(10 * time.Millisecond)
		engine := newEngine(store, stream.Options{Exclusive: true})
		keys := make([]*once.Key, 30)
		for i := range keys {
			keys[i] = keyOf("U1", fmt.Sprint(i%10), "")
			go func() {
				if _, err := engine.Do(t.Context(), testStream, ledger.Post{ID: uint64(i), Amount: 1}, keys[i]); err != nil {
					t.Error(err)
				}
			}()
		}
		synctest.Wait()
		time.Sleep(time.Second)
		if n := sum(t, engine); n != 10 {
			t.Errorf("the sum is %d, want 10", n)
		}
		mustClose(t, engine)
	})
}

// Several commands of one key are answered again as they were; those with keys of their own
// each for itself.
func TestKeysOfSeveralCommands(t *testing.T) {
	store := storetest.NewMemory()
	engine := newEngine(store, stream.Options{})
	all := []ledger.Post{{ID: 1, Amount: 7, Who: "a"}, {ID: 2, Amount: 7, Who: "a"}, {ID: 3, Amount: 1, Who: "b"}}
	do := func(commands []ledger.Post, whole *once.Key, each ...*once.Key) string {
		batch, err := engine.DoAll(t.Context(), testStream, commands, ledger.SumQuery, whole, each)
		if err != nil {
			return fmt.Sprint([]error{}, 0, err)
		}
		return fmt.Sprint(batch.Refusals(), batch.Answer, err)
	}
	whole := keyOf("U1", "all", "1")
	if got := do(all, whole); got != "[<nil> limit reached <nil>] 8 <nil>" || whole.Replayed {
		t.Errorf("at first %s", got)
	}
	whole = keyOf("U1", "all", "1")
	if got := do(all, whole); got != "[<nil> refused when the key was first used <nil>] 8 <nil>" || !whole.Replayed {
		t.Errorf("again %s, %t", got, whole.Replayed)
	}
	if got := do(all[1:], keyOf("U1", "all", "2")); got != "[] 0 "+once.ErrReused.Error() {
		t.Errorf("others with the key %s", got)
	}
	one, two := keyOf("U1", "one", ""), keyOf("U1", "two", "")
	if got := do([]ledger.Post{{ID: 4, Amount: 1}, {ID: 5, Amount: 1}, {ID: 6, Amount: 1}}, nil, one, nil, one); got != "[<nil> <nil> <nil>] 10 <nil>" {
		t.Errorf("with keys of their own %s", got)
	}
	if got := do([]ledger.Post{{ID: 7, Amount: 1}, {ID: 8, Amount: 1}}, nil, keyOf("U1", "one", "other"), two); got != "["+once.ErrReused.Error()+" <nil>] 11 <nil>" || two.Replayed {
		t.Errorf("with one that was used %s", got)
	}
	mustClose(t, engine)
}

// With an entry go its keys: a viewer that was erased and entries that were truncated.
func TestKeysEndWithTheirEntries(t *testing.T) {
	store := storetest.NewMemory()
	engine := newEngine(store, stream.Options{})
	wantOnce(t, engine, ledger.Post{ID: 1, Amount: 1, Who: ledger.Viewers[1]}, keyOf("1", "a", ""), false)
	wantOnce(t, engine, ledger.Post{ID: 2, Amount: 1, Who: ledger.Viewers[2]}, keyOf("2", "a", ""), false)
	if _, err := engine.Erase(t.Context(), testStream, rewrite.Viewer{IDs: ledger.Viewers[1:2]}); err != nil {
		t.Fatal(err)
	}
	for _, e := range []*ledger.Engine{engine, newEngine(store, stream.Options{})} {
		wantOnce(t, e, ledger.Post{ID: 2, Amount: 1, Who: ledger.Viewers[2]}, keyOf("2", "a", ""), true)
	}
	wantOnce(t, engine, ledger.Post{ID: 3, Amount: 1, Who: ledger.Viewers[1]}, keyOf("1", "a", ""), false)
	if _, err := verify(t, store); err != nil {
		t.Errorf("verify after an erasure: %v", err)
	}
	mustClose(t, engine)
	engine = newEngine(store, stream.Options{})
	if _, err := engine.Truncate(t.Context(), testStream, time.UnixMilli(ledger.ChunksOf(t, store)[1].At+1)); err != nil {
		t.Fatal(err)
	}
	mustClose(t, engine)
	engine = newEngine(store, stream.Options{})
	wantOnce(t, engine, ledger.Post{ID: 4, Amount: 1}, keyOf("2", "a", ""), false)
	if n := sum(t, engine); n != 4 {
		t.Errorf("the sum is %d, want 4", n)
	}
	mustClose(t, engine)
	if _, err := verify(t, store); err != nil {
		t.Errorf("verify after a truncation: %v", err)
	}
}
