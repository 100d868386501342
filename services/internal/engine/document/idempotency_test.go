package document_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

// A document has the newest keys of a day, and each edit with one of them changes nothing.
func TestKeysOfADocument(t *testing.T) {
	store := storetest.NewMemory()
	service := newService(store)
	begin := time.UnixMilli(1767225600000)
	send := func(at time.Time, key, body string) (replayed bool, version uint64, err error) {
		e := edit(t, "k", body)
		e.Once = once.NewScope([][]byte{[]byte("secret")}, at, "me").NewKey(key, []byte(body))
		d, err := service.Edit(t.Context(), e)
		return e.Once.Replayed, d.Version, err
	}
	for i := range 600 {
		if replayed, version, err := send(begin, fmt.Sprint(i), `{"a":1}`); replayed || version != uint64(i)+1 || err != nil {
			t.Fatalf("edit %d: %t, version %d, %v", i, replayed, version, err)
		}
	}
	for _, kept := range []struct {
		key  string
		want bool
	}{{"599", true}, {"88", true}, {"87", false}} { // the last one takes the place of 88
		if replayed, _, err := send(begin, kept.key, `{"a":1}`); replayed != kept.want || err != nil {
			t.Errorf("key %s again: %t, %v, want %t", kept.key, replayed, err, kept.want)
		}
	}
	if _, _, err := send(begin, "599", `{"a":2}`); fault.KindOf(err) != fault.Reused {
		t.Errorf("another edit with a key: %v", err)
	}
	if _, err := service.Edit(t.Context(), edit(t, "k", `{"b":1}`)); err != nil { // keeps them
		t.Fatal(err)
	}
	if replayed, _, err := send(begin.Add(once.Lifetime-1), "599", `{"a":1}`); !replayed || err != nil {
		t.Errorf("within a day: %t, %v", replayed, err)
	}
	if replayed, _, err := send(begin.Add(once.Lifetime), "599", `{"a":1}`); replayed || err != nil {
		t.Errorf("after a day: %t, %v", replayed, err)
	}
	if found, err := store.Get(t.Context(), "k"); err != nil || len(found[0].Keys) != 1 {
		t.Errorf("%d keys are left, %v, want 1", len(found[0].Keys), err)
	}
}
