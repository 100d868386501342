package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

func put(t *testing.T, s Store, writes ...document.Write) {
	t.Helper()
	if err := s.Put(t.Context(), writes...); err != nil {
		t.Errorf("put %s: %v", writes[0].Key, err)
	}
}

func wantConflict(t *testing.T, s Store, writes ...document.Write) {
	t.Helper()
	if err := s.Put(t.Context(), writes...); !errors.Is(err, document.ErrConflict) {
		t.Errorf("put %s expecting version %d: %v, want ErrConflict", writes[0].Key, writes[0].Expect, err)
	}
}

func wantDocuments(t *testing.T, s Store, keys []string, want ...document.Document) {
	t.Helper()
	got, err := s.Get(t.Context(), keys...)
	if err != nil {
		t.Errorf("get %s: %v", keys, err)
	}
	if diff := diff(want, got); diff != "" {
		t.Errorf("documents %s (-want +got):\n%s", keys, diff)
	}
}

// write returns one that is unlike any other, and what it makes of its document.
func write(key string, expect uint64, content string) (document.Write, document.Document) {
	id, body := document.WriteID([]byte(fmt.Sprintf("%-16.16s", content))), []byte(`{"content":"`+content+`"}`)
	return document.Write{Key: key, Expect: expect, ID: id, Body: body},
		document.Document{Version: expect + 1, ID: id, Body: body}
}

func documentBeginsAbsent(t *testing.T, s Harness) {
	wantDocuments(t, s, []string{"d"}, document.Document{})
	wantDocuments(t, s, nil)
	if found, err := s.Get(t.Context(), "d"); err != nil || found[0].Body != nil {
		t.Errorf("body of a document never written is %q, %v, want nil", found[0].Body, err)
	}
	ahead, _ := write("d", 1, "ahead")
	wantConflict(t, s, ahead)
	wantDocuments(t, s, []string{"d"}, document.Document{})
}

func documentVersions(t *testing.T, s Harness) {
	var last document.Document
	for version := range uint64(5) {
		next, made := write("d", version, fmt.Sprint("version ", version+1))
		put(t, s, next)
		wantConflict(t, s, next)
		ahead, _ := write("d", version+2, "ahead")
		wantConflict(t, s, ahead)
		wantDocuments(t, s, []string{"d"}, made)
		last = made
	}
	s.Reopen(t)
	stale, _ := write("d", 4, "stale")
	wantConflict(t, s, stale)
	wantDocuments(t, s, []string{"d"}, last)
}

// documentKeys: a version has the keys that it was written with.
func documentKeys(t *testing.T, s Harness) {
	keys := []once.Kept{{Mark: once.Mark{Owner: once.Owner{1}, Key: [8]byte{2}, Request: [8]byte{0, 255}}, At: 1767225600000}, {At: -1}}
	first, one := write("d", 0, "with keys")
	first.Keys, one.Keys = keys, keys
	put(t, s, first)
	wantDocuments(t, s, []string{"d"}, one)
	second, two := write("d", 1, "with one of them")
	second.Keys, two.Keys = keys[1:], keys[1:]
	other, three := write("e", 0, "together")
	other.Keys, three.Keys = keys, keys
	put(t, s, second, other)
	s.Reopen(t)
	wantDocuments(t, s, []string{"d", "e"}, two, three)
	last, none := write("d", 2, "without")
	put(t, s, last)
	wantDocuments(t, s, []string{"d"}, none)
}

// documentsComeInOrder of the keys asked for, whatever of them there is.
func documentsComeInOrder(t *testing.T, s Harness) {
	first, one := write("a", 0, "one")
	second, two := write("a/b", 0, "two")
	put(t, s, first)
	put(t, s, second)
	wantDocuments(t, s, []string{"a/b", "a/", "a", "a/b"}, two, document.Document{}, one, two)
	wantDocuments(t, s, nil)
}

func documentRaceLosesNothing(t *testing.T, s Harness) {
	const writers, increments = 8, 20
	concurrently(writers, func(i int) {
		for range increments {
			if err := increment(t.Context(), s, byte(i), "counter"); err != nil {
				t.Errorf("increment: %v", err)
			}
		}
	})
	found, err := s.Get(t.Context(), "counter")
	if err != nil {
		t.Fatal(err)
	}
	if n := numberIn(found[0]); n != writers*increments || found[0].Version != n {
		t.Errorf("counter is %d at version %d, want %d at that version", n, found[0].Version, writers*increments)
	}
}

func documentsAllOrNone(t *testing.T, s Harness) {
	keys := []string{"a", "b", "c"}
	var writes []document.Write
	var made []document.Document
	for _, key := range keys {
		w, d := write(key, 0, "first "+key)
		writes, made = append(writes, w), append(made, d)
	}
	put(t, s, writes[1])
	wantConflict(t, s, writes...)
	wantDocuments(t, s, keys, document.Document{}, made[1], document.Document{})
	put(t, s, writes[0], writes[2])
	wantDocuments(t, s, keys, made...)
	next, _ := write("a", 1, "next")
	wantConflict(t, s, next, writes[2])
	wantDocuments(t, s, keys, made...)
}

// documentsRaceAllOrNone changes pairs of three documents together.
func documentsRaceAllOrNone(t *testing.T, s Harness) {
	const increments = 15
	pairs := [][]string{{"a", "b"}, {"b", "c"}, {"c", "a"}, {"b", "a"}}
	concurrently(len(pairs), func(i int) {
		for range increments {
			if err := increment(t.Context(), s, byte(i), pairs[i]...); err != nil {
				t.Errorf("increment: %v", err)
			}
		}
	})
	s.Reopen(t)
	found, err := s.Get(t.Context(), "a", "b", "c")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []uint64{3 * increments, 3 * increments, 2 * increments} {
		if n := numberIn(found[i]); n != want || found[i].Version != want {
			t.Errorf("document %d is %d at version %d, want %d", i, n, found[i].Version, want)
		}
	}
}

// documentsSurviveReopen writes many at once, and large ones.
func documentsSurviveReopen(t *testing.T, s Harness) {
	const documents, size = 1000, 2 << 10
	keys := make([]string, documents)
	writes := make([]document.Write, documents)
	want := make([]document.Document, documents)
	for i := range documents {
		keys[i] = fmt.Sprintf("viewer/%d", i)
		writes[i], want[i] = write(keys[i], 0, fmt.Sprint("document ", i))
		writes[i].Body = bytes.Repeat(writes[i].Body, 1+size/len(writes[i].Body))
		want[i].Body = writes[i].Body
	}
	put(t, s, writes...)
	s.Reopen(t)
	wantDocuments(t, s, keys, want...)
	writes[7], want[7] = write(keys[7], 1, "changed")
	put(t, s, writes[7])
	s.Reopen(t)
	wantDocuments(t, s, keys, want...)
}

func remove(t *testing.T, s Store, key string) {
	t.Helper()
	if err := s.Delete(t.Context(), key); err != nil {
		t.Errorf("delete %s: %v", key, err)
	}
}

// documentIsDeleted and begins again, wherever the store had put parts of it.
func documentIsDeleted(t *testing.T, s Harness) {
	remove(t, s, "d")
	for reopen := range 4 {
		var last document.Document
		for version := range uint64(40) { // more than any store keeps
			next, made := write("d", version, fmt.Sprint("version ", version+1))
			put(t, s, next)
			last = made
			if version == 20 && reopen&1 != 0 {
				s.Reopen(t)
			}
		}
		kept, other := write("d/other", uint64(reopen), "kept")
		put(t, s, kept)
		remove(t, s, "d")
		if reopen&2 != 0 {
			s.Reopen(t)
		}
		wantDocuments(t, s, []string{"d", "d/other"}, document.Document{}, other)
		stale, _ := write("d", last.Version, "stale")
		wantConflict(t, s, stale)
		remove(t, s, "d")
	}
	first, made := write("d", 0, "first again")
	put(t, s, first)
	s.Reopen(t)
	wantDocuments(t, s, []string{"d"}, made)
}

// documentDeleteRace: a write on top of a version that is gone is refused.
// Of a write that is deleted at once its writer need not learn what became of it.
func documentDeleteRace(t *testing.T, s Harness) {
	const writers, increments = 3, 20
	concurrently(writers+1, func(i int) {
		for range increments {
			if i == writers {
				remove(t, s, "counter")
				continue
			}
			if err := increment(t.Context(), s, byte(i), "counter"); fault.KindOf(err) == fault.Storage {
				t.Errorf("increment: %v", err)
			}
		}
	})
	found, err := s.Get(t.Context(), "counter")
	if err != nil {
		t.Fatal(err)
	}
	if n := numberIn(found[0]); found[0].Version != n {
		t.Errorf("counter is %d at version %d", n, found[0].Version)
	}
	remove(t, s, "counter")
	wantDocuments(t, s, []string{"counter"}, document.Document{})
}
