package document_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

// A document has the keys of a minute and the newest of a day, and each edit with one of them
// changes nothing. A caller has as many as there is room for others.
func TestKeysOfADocument(t *testing.T) {
	store := storetest.NewMemory()
	service := newService(store)
	begin, caller := time.UnixMilli(1767225600000), "me"
	send := func(at time.Time, key, body string) (replayed bool, version uint64, err error) {
		e := edit(t, "k", body)
		e.Once = once.NewScope([][]byte{[]byte("secret")}, at, caller).NewKey(key, []byte(body))
		d, err := service.Edit(t.Context(), e)
		return e.Once.Replayed, d.Version, err
	}
	for i := range 600 {
		if replayed, version, err := send(begin, fmt.Sprint(i), `{"a":1}`); replayed || version != uint64(i)+1 || err != nil {
			t.Fatalf("edit %d: %t, version %d, %v", i, replayed, version, err)
		}
	}
	minute := begin.Add(once.KeptAtLeast)
	for _, kept := range []struct {
		at   time.Time
		key  string
		want bool
	}{
		{begin, "599", true}, {begin, "0", true}, {minute.Add(-1), "600", false}, {minute.Add(-1), "0", true},
		{minute, "89", true}, {minute, "601", false}, {minute, "90", true}, {minute, "89", false}, // with 512 keys left
	} {
		if replayed, _, err := send(kept.at, kept.key, `{"a":1}`); replayed != kept.want || err != nil {
			t.Errorf("key %s again: %t, %v, want %t", kept.key, replayed, err, kept.want)
		}
	}
	more := 0
	for ; more < 5000; more++ {
		if _, _, err := send(minute, fmt.Sprint("more", more), `{"a":1}`); err != nil {
			if !once.IsFull(err) {
				t.Error(err)
			}
			break
		}
	}
	caller = "another"
	if _, _, err := send(minute, "599", `{"a":1}`); err != nil || more < 2000 || more > 2048 {
		t.Errorf("after %d keys of one caller another has %v", more, err)
	}
	caller = "me"
	if _, _, err := send(minute, "more9", `{"a":2}`); fault.KindOf(err) != fault.Reused {
		t.Errorf("another edit with a key: %v", err)
	}
	if _, err := service.Edit(t.Context(), edit(t, "k", `{"b":1}`)); err != nil { // keeps them
		t.Fatal(err)
	}
	if replayed, _, err := send(minute.Add(once.Lifetime-1), "more9", `{"a":1}`); !replayed || err != nil {
		t.Errorf("within a day: %t, %v", replayed, err)
	}
	if replayed, _, err := send(minute.Add(once.Lifetime), "more9", `{"a":1}`); replayed || err != nil {
		t.Errorf("after a day: %t, %v", replayed, err)
	}
	if found, err := store.Get(t.Context(), "k"); err != nil || len(found[0].Keys) != 1 {
		t.Errorf("%d keys are left, %v, want 1", len(found[0].Keys), err)
	}
}
