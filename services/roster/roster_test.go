package roster_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/roster"
)

var viewers = roster.Roster{Environment: "production", Extension: "ext"}

// book is a service with its test.
type book struct {
	testing.TB
	*roster.Service
}

func newBook(t testing.TB, store stream.Store) book {
	t.Helper()
	s := roster.NewService(store, stream.SystemClock(), stream.Options{})
	t.Cleanup(func() {
		if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return book{t, s}
}

func (b book) note(id string, shared bool) {
	b.Helper()
	if err := b.Note(b.Context(), viewers, id, shared); err != nil {
		b.Fatal(err)
	}
}

func (b book) page(from uint64) roster.Page {
	b.Helper()
	page, err := b.List(b.Context(), viewers, from)
	if err != nil {
		b.Fatal(err)
	}
	return page
}

func TestNote(t *testing.T) {
	for name, test := range map[string]struct{ notes, want []string }{
		"none":             {},
		"in order":         {notes: []string{"+7", "+5", "+6"}, want: []string{"7", "5", "6"}},
		"again":            {notes: []string{"+7", "+5", "+7"}, want: []string{"7", "5"}},
		"gone":             {notes: []string{"+7", "+5", "-7"}, want: []string{"5"}},
		"gone and back":    {notes: []string{"+7", "+5", "-7", "+7"}, want: []string{"5", "7"}},
		"gone before":      {notes: []string{"-7", "+5"}, want: []string{"5"}},
		"no user's id":     {notes: []string{"+U7", "+", "+5 ", "+5"}, want: []string{"5"}},
		"another one gone": {notes: []string{"+7", "-70"}, want: []string{"7"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBook(t, storetest.NewMemory())
			for _, note := range test.notes {
				b.note(note[1:], note[0] == '+')
			}
			if diff := cmp.Diff(roster.Page{UserIDs: test.want}, b.page(0)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			other := roster.Roster{Environment: "sandbox", Extension: "ext"}
			if page, err := b.List(t.Context(), other, 0); err != nil || len(page.UserIDs) > 0 {
				t.Errorf("the other environment has %v, %v", page, err)
			}
		})
	}
}

// A viewer that stays is on one page exactly, although others come and go between two pages.
func TestPages(t *testing.T) {
	b := newBook(t, storetest.NewMemory())
	var want []string
	for i := range 2*contract.UsersPage + 1 {
		want = append(want, fmt.Sprint(i))
		b.note(want[i], true)
	}
	var got []string
	for from := uint64(0); ; {
		page := b.page(from)
		got = append(got, page.UserIDs...)
		if from = page.Next; from == 0 {
			break
		}
		for _, gone := range []string{"1", fmt.Sprint(2*contract.UsersPage - 1)} { // of a page before and one to come
			b.note(gone, false)
		}
	}
	want = slices.Delete(want, 2*contract.UsersPage-1, 2*contract.UsersPage)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := b.page(1 << 62); len(got.UserIDs) > 0 || got.Next != 0 {
		t.Errorf("behind the end: %v", got)
	}
}

// FuzzNotes compares a roster, as it is and as another process replays it, with a plain list.
func FuzzNotes(f *testing.F) {
	f.Add([]byte{1, 2, 3, 0x81, 1, 0x82, 0x83})
	f.Fuzz(func(t *testing.T, notes []byte) {
		store := storetest.NewMemory()
		b := newBook(t, store)
		var want []string
		for _, note := range notes[:min(len(notes), 64)] {
			id, gone := fmt.Sprint(note&0x7f), note >= 0x80
			switch at := slices.Index(want, id); {
			case gone && at >= 0:
				want = slices.Delete(want, at, at+1)
			case !gone && at < 0:
				want = append(want, id)
			}
			b.note(id, !gone)
		}
		for _, reader := range []book{b, newBook(t, store)} {
			if got := reader.page(0).UserIDs; !slices.Equal(want, got) {
				t.Errorf("%x: %v, want %v", notes, got, want)
			}
		}
	})
}
