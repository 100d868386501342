package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/boltstore"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/mongotest"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
	"github.com/acclaim-dev/acclaim/services/ranking"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// One id of a viewer is enough, from either store: nothing is left of the others.
func TestEraseFollowsLinks(t *testing.T) {
	for name, flags := range map[string]func() []string{
		"embedded": func() []string { return []string{"--data-dir", t.TempDir()} },
		"database": func() []string { return []string{"--mongodb-uri", mongotest.Patient(mongotest.Start(t))} },
	} {
		for given, found := range map[string]string{"--user=" + leavingUser: leavingOpaque, "--opaque=" + leavingOpaque: leavingUser} {
			t.Run(name+" "+given, func(t *testing.T) {
				store := flags()
				p := startProgram(t, t.TempDir(), "serve", store...)
				populate(t, p)
				before := answers(t, p)
				p.end(t)
				out, status := runErase(t, append(store, given)...)
				if status != 0 || !strings.Contains(out, `by other ids, too, which are erased as well: ["`+found+`"]`) {
					t.Errorf("status %d, want that %s is named\n%s", status, found, out)
				}
				for _, id := range []string{leavingOpaque, leavingUser} {
					if store[0] == "--data-dir" && holds(t, store[1], id) ||
						store[0] == "--mongodb-uri" && len(collectionsWith(t, strings.Split(store[1], "?")[0], id)) > 0 {
						t.Errorf("%s is stored still", id)
					}
				}
				if out, status := runVerify(t, store...); status != 0 {
					t.Errorf("verify: status %d\n%s", status, out)
				}
				wantGone(t, startProgram(t, t.TempDir(), "serve", store...), before)
			})
		}
	}
}

// linkedStore is a store in which viewers have submitted something.
type linkedStore struct {
	*testing.T
	dir   string
	store *boltstore.Store
	d     *domains
}

func newLinkedStore(t *testing.T) *linkedStore {
	t.Helper()
	dir := t.TempDir()
	store, err := boltstore.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	clock, options := stream.SystemClock(), stream.Options{Exclusive: true}
	l := &linkedStore{t, dir, store, &domains{
		voting:       voting.NewService(store, clock, options, voting.HalfLife),
		accumulation: accumulation.NewService(store, clock, options),
		ranking:      ranking.NewService(store, clock, options),
	}}
	t.Cleanup(l.close)
	return l
}

func (l *linkedStore) close() {
	l.Helper()
	if err := errors.Join(l.d.close(context.WithoutCancel(l.Context())), l.store.Close()); err != nil {
		l.Error(err)
	}
}

// submit has a viewer add to a buffer with a token that has these ids.
func (l *linkedStore) submit(environment, buffer, user, opaque string) {
	l.Helper()
	b := accumulation.Buffer{Environment: environment, Extension: sampleExtension, Name: buffer}
	s := accumulation.Submission{OpaqueID: opaque, UserID: user, Data: []byte("{}")}
	if err := l.d.accumulation.Append(l.Context(), b, s); err != nil {
		l.Fatal(err)
	}
}

// known returns the ids that buffers name, those of the sandbox behind a /.
func (l *linkedStore) known(buffers ...string) (ids []string) {
	l.Helper()
	for _, environment := range []string{"production", "sandbox"} {
		for _, buffer := range buffers {
			b := accumulation.Buffer{Environment: environment, Extension: sampleExtension, Name: buffer}
			for entry, err := range l.d.accumulation.Entries(l.Context(), b, 0, nil) {
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

func (l *linkedStore) erase(only bool, ids ...string) (*erasure, error) {
	viewer := whom{stream.Viewer{IDs: ids}, only}
	return newEraser(l.store, l.d, voting.HalfLife).erase(l.Context(), sampleExtension, viewer, func(int) {})
}

// Links are followed from id to id, and not from one environment to the other.
func TestLinksAreFollowedWhereTheyAre(t *testing.T) {
	l := newLinkedStore(t)
	l.submit("production", "a", "42", "Uone") // before
	l.submit("production", "b", "42", "Utwo") // and after the viewer was given another id
	l.submit("production", "b", "", "Utwo")
	l.submit("production", "b", "7", "Useven")
	l.submit("production", "a", "", "U42") // is somebody else
	l.submit("sandbox", "a", "", "Utwo")   // as well
	l.submit("sandbox", "a", "", "U42")    // is made of the user id there
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

// Where an extension has given one opaque id to several users nobody is erased, but
// who is named alone.
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
	for n := range mostIDs + 1 {
		l.submit("production", "b", "9", "Unine"+strings.Repeat("x", n))
	}
	if _, err := l.erase(false, "9"); fault.KindOf(err) != fault.Invalid {
		t.Errorf("a viewer with %d ids: %v", mostIDs+2, err)
	}
}

// failingAt erases from streams until it has come to one.
type failingAt struct {
	eraserOf
	name string
}

func (f *failingAt) Erase(ctx context.Context, name string, viewer stream.Viewer) (stream.Erased, error) {
	if strings.HasSuffix(name, f.name) {
		return stream.Erased{}, fault.New(fault.Unavailable, "gone")
	}
	return f.eraserOf.Erase(ctx, name, viewer)
}

// An erasure that was cut off is completed by one that is given any of the ids, also
// where what linked them is erased already; until then verify tells of it.
func TestErasureWithLinksIsCutOff(t *testing.T) {
	for _, given := range []string{"42", "Uone"} {
		l := newLinkedStore(t)
		l.submit("production", "a", "42", "Uone")
		l.submit("production", "b", "", "Uone")
		l.submit("production", "c", "42", "")
		l.submit("production", "c", "7", "Useven")
		e := newEraser(l.store, l.d, voting.HalfLife)
		e.streams[accumulation.Kind] = &failingAt{e.streams[accumulation.Kind], "/b"}
		viewer := whom{Viewer: stream.Viewer{IDs: []string{"42"}}}
		if _, err := e.erase(t.Context(), sampleExtension, viewer, func(int) {}); fault.KindOf(err) != fault.Unavailable {
			t.Fatalf("it went on: %v", err)
		}
		if diff := cmp.Diff([]string{"Uone", "42", "7", "Useven"}, l.known("a", "b", "c")); diff != "" {
			t.Fatalf("left are (-want +got):\n%s", diff)
		}
		if r := l.verified(); len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Reason, "erasing again finishes it") {
			t.Errorf("verify finds %+v", r.Problems)
		}
		if _, err := l.erase(false, "7"); err != nil { // which is somebody else's
			t.Fatal(err)
		}
		if _, err := l.erase(false, given); err != nil {
			t.Fatal(err)
		}
		if left := l.known("a", "b", "c"); len(left) > 0 {
			t.Errorf("left are %q", left)
		}
		if r := l.verified(); len(r.Problems) > 0 {
			t.Errorf("verify finds %+v", r.Problems)
		}
	}
}

func (l *linkedStore) verified() *verification {
	l.Helper()
	r, err := replayAll(l.Context(), l.store, voting.HalfLife, io.Discard, "")
	if err != nil {
		l.Fatal(err)
	}
	return r
}
