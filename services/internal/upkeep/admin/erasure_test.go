package admin_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/engine/rewrite"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/admin"
)

const extension = "sample-extension"

// linkedStore is a store in which viewers have submitted something.
type linkedStore struct {
	*testing.T
	store *storetest.Memory
	d     *domains
}

func newLinkedStore(t *testing.T) *linkedStore {
	t.Helper()
	store := storetest.NewMemory()
	l := &linkedStore{t, store, newDomains(store, stream.SystemClock(), stream.Options{Exclusive: true})}
	t.Cleanup(func() {
		if err := l.d.close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return l
}

// submit has a viewer add to a buffer with a token that has these ids.
func (l *linkedStore) submit(environment, buffer, user, opaque string) {
	l.Helper()
	b := accumulation.Buffer{Environment: environment, Extension: extension, Name: buffer}
	s := accumulation.Submission{OpaqueID: opaque, UserID: user, Data: []byte("{}")}
	if err := l.d.buffers.Append(l.Context(), b, s); err != nil {
		l.Fatal(err)
	}
}

// known returns the ids that buffers name, those of the sandbox behind a /.
func (l *linkedStore) known(buffers ...string) (ids []string) {
	l.Helper()
	for _, environment := range []string{"production", "sandbox"} {
		for _, buffer := range buffers {
			b := accumulation.Buffer{Environment: environment, Extension: extension, Name: buffer}
			for entry, err := range l.d.buffers.Entries(l.Context(), b, 0, nil) {
				if err != nil {
					l.Fatal(err)
				}
				for _, id := range []string{entry.UserID, entry.OpaqueID} {
					if id != "" && !strings.HasPrefix(id, "erased-") {
						ids = append(ids, strings.TrimPrefix(environment, "production")+id)
					}
				}
			}
		}
	}
	return ids
}

func (l *linkedStore) erase(only bool, ids ...string) (*admin.ErasureReport, error) {
	target := admin.Target{Viewer: rewrite.Viewer{IDs: ids}, Only: only}
	return admin.NewErasureService(l.store, l.d.table, l.store).Erase(l.Context(), extension, target, func(int) {})
}

// Links are followed from id to id, and not from one environment to the other.
func TestLinksAreFollowedWhereTheyAre(t *testing.T) {
	l := newLinkedStore(t)
	l.submit("production", "a", "42", "Uone") // before
	l.submit("production", "b", "42", "Utwo") // and after the viewer was given another id
	l.submit("production", "b", "", "Utwo")
	l.submit("production", "b", "7", "Useven")
	l.submit("production", "a", "", "U42") // belongs to another viewer
	l.submit("sandbox", "a", "", "Utwo")   // likewise
	l.submit("sandbox", "a", "", "U42")    // is made from the user id
	r, err := l.erase(false, "Uone")
	if err != nil || !slices.Equal(r.Followed, []string{"42", "Utwo"}) || len(r.Linked) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if diff := cmp.Diff([]string{"U42", "7", "Useven", "sandboxUtwo", "sandboxU42"}, l.known("a", "b")); diff != "" {
		t.Errorf("left are (-want +got):\n%s", diff)
	}
	if r, err = l.erase(false, "42"); err != nil || len(r.Followed) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if diff := cmp.Diff([]string{"U42", "7", "Useven", "sandboxUtwo"}, l.known("a", "b")); diff != "" {
		t.Errorf("left are (-want +got):\n%s", diff)
	}
}

// Where an extension has given one opaque id to several users, an erasure needs Only.
func TestLinksThatCannotBeOneViewers(t *testing.T) {
	l := newLinkedStore(t)
	for _, user := range []string{"1", "2", "3"} {
		l.submit("production", "a", user, "Ushared")
	}
	l.submit("sandbox", "a", "1", "")
	before := l.known("a")
	for _, ids := range [][]string{{"1"}, {"Ushared"}, {"1", "Ushared"}} {
		if _, err := l.erase(false, ids...); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), `"Ushared"`) || !strings.Contains(err.Error(), `"3"`) {
			t.Errorf("%q: %v", ids, err)
		}
		if diff := cmp.Diff(before, l.known("a")); diff != "" {
			t.Errorf("%q: (-before +after):\n%s", ids, diff)
		}
	}
	r, err := l.erase(true, "1")
	if err != nil || !slices.Equal(r.Linked, []string{"Ushared"}) || len(r.Followed) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if diff := cmp.Diff([]string{"Ushared", "2", "Ushared", "3", "Ushared"}, l.known("a")); diff != "" {
		t.Errorf("left are (-want +got):\n%s", diff)
	}
	for n := range 17 {
		l.submit("production", "b", "9", "Unine"+strings.Repeat("x", n))
	}
	if _, err := l.erase(false, "9"); fault.KindOf(err) != fault.Invalid {
		t.Errorf("a viewer with 18 ids: %v", err)
	}
}

// failingAt fails to erase from one stream.
type failingAt struct {
	admin.Eraser
	name string
}

func (f *failingAt) Erase(ctx context.Context, name string, viewer rewrite.Viewer) (rewrite.Erasure, error) {
	if strings.HasSuffix(name, f.name) {
		return rewrite.Erasure{}, fault.New(fault.Unavailable, "gone")
	}
	return f.Eraser.Erase(ctx, name, viewer)
}

// An interrupted erasure is finished by one that is given any of the ids, even where
// the entries that relate them are erased already. Until then verify reports it.
func TestErasureWithLinksIsCutOff(t *testing.T) {
	for _, given := range []string{"42", "Uone"} {
		l := newLinkedStore(t)
		l.submit("production", "a", "42", "Uone")
		l.submit("production", "b", "", "Uone")
		l.submit("production", "c", "42", "")
		l.submit("production", "c", "7", "Useven")
		failing := maps.Clone(l.d.table)
		failing[accumulation.Kind] = admin.Domain{Eraser: &failingAt{l.d.buffers, "/b"}}
		target := admin.Target{Viewer: rewrite.Viewer{IDs: []string{"42"}}}
		e := admin.NewErasureService(l.store, failing, l.store)
		if _, err := e.Erase(t.Context(), extension, target, func(int) {}); fault.KindOf(err) != fault.Unavailable {
			t.Fatalf("it went on: %v", err)
		}
		if diff := cmp.Diff([]string{"Uone", "42", "7", "Useven"}, l.known("a", "b", "c")); diff != "" {
			t.Fatalf("left are (-want +got):\n%s", diff)
		}
		if r := verify(t, l.store); len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Reason, "erasing again finishes it") {
			t.Errorf("verify finds %+v", r.Problems)
		}
		if _, err := l.erase(false, "7"); err != nil { // another viewer's
			t.Fatal(err)
		}
		if _, err := l.erase(false, given); err != nil {
			t.Fatal(err)
		}
		if left := l.known("a", "b", "c"); len(left) > 0 {
			t.Errorf("left are %q", left)
		}
		if r := verify(t, l.store); len(r.Problems) > 0 {
			t.Errorf("verify finds %+v", r.Problems)
		}
	}
}
