package mongostore

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/faultproxy"
	"github.com/acclaim-dev/acclaim/services/internal/testing/mongotest"
)

// behindProxy returns a store whose commands go through a proxy, and one of
// another process.
func behindProxy(t *testing.T) (s, other *Store, proxy *faultproxy.Proxy) {
	t.Helper()
	uri := mongotest.Start(t)
	other = mustOpen(t, uri)
	t.Cleanup(func() { mustClose(t, other) })
	proxy, uri = mongotest.StartProxy(t, uri)
	s = mustOpen(t, uri)
	t.Cleanup(func() { mustClose(t, s) })
	return s, other, proxy
}

// atInsert calls do when the nth insert is on its way, and lets it decide what
// befalls that one.
func atInsert(n int, do func() faultproxy.Fault) faultproxy.Plan {
	var mu sync.Mutex
	return func(command string) faultproxy.Action {
		mu.Lock()
		defer mu.Unlock()
		if command != "insert" {
			return faultproxy.Action{}
		}
		n--
		if n != 0 {
			return faultproxy.Action{}
		}
		return faultproxy.Action{Fault: do()}
	}
}

func version(key string, expect uint64) document.Write {
	w := versionAfter(expect)
	w.Key = key
	return w
}

// mustPut writes the versions of a document after one and up to another.
func mustPut(t *testing.T, s *Store, key string, after, last uint64) {
	t.Helper()
	for expect := after; expect < last; expect++ {
		if err := s.Put(t.Context(), version(key, expect)); err != nil {
			t.Errorf("%s version %d: %v", key, expect+1, err)
		}
	}
}

// A writer that sleeps between its look and its insert, while others replace and
// prune the version it would write, is not told that it has written.
func TestWriterThatSleptDoesNotWin(t *testing.T) {
	t.Parallel()
	const newest = 3 * keepVersions
	for name, keys := range map[string][]string{"one": {"a"}, "several": {"a", "b"}} {
		t.Run(name, func(t *testing.T) {
			s, other, proxy := behindProxy(t)
			var late []document.Write
			for _, key := range keys {
				mustPut(t, other, key, 0, 3)
				late = append(late, document.Write{Key: key, Expect: 3, ID: document.WriteID{99}, Body: []byte(`{"late":true}`)})
			}
			proxy.Inject(atInsert(1, func() faultproxy.Fault {
				mustPut(t, other, "a", 3, newest)
				other.pruning.jobs.Wait()
				other.pruneVersions(t.Context(), "a", newest)
				return faultproxy.None
			}))
			err := s.Put(t.Context(), late...)
			if err == nil || errors.Is(err, document.ErrConflict) && !s.transactions {
				t.Errorf("the late write: %v, want an error that leaves its outcome open", err)
			}
			found, err := s.Get(t.Context(), "a")
			if err != nil || found[0].Version != newest || found[0].ID == late[0].ID {
				t.Errorf("the document is at version %d, %v", found[0].Version, err)
			}
		})
	}
}

// A server that applies a repeated insert twice refuses the second; that is not
// a conflict.
func TestRepeatedInsertIsNoConflict(t *testing.T) {
	t.Parallel()
	s, _, proxy := behindProxy(t)
	proxy.Inject(func(command string) faultproxy.Action {
		if command == "insert" && !s.transactions {
			return faultproxy.Action{Fault: faultproxy.Repeat}
		}
		return faultproxy.Action{}
	})
	if err := s.SaveSnapshot(t.Context(), "s", stream.Snapshot{State: []byte("state")}); err != nil {
		t.Errorf("snapshot: %v", err)
	}
	for name, writes := range map[string][]document.Write{
		"one":     {version("d", 0)},
		"several": {version("a", 0), version("b", 0), version("c", 0)},
	} {
		if err := s.Put(t.Context(), writes...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := s.Put(t.Context(), writes[0]); !errors.Is(err, document.ErrConflict) {
			t.Errorf("%s: a later write of the same version: %v, want a conflict", name, err)
		}
	}
}

// A repeat completes a write that stored only some of its documents, unless another
// process wrote one of them: then no answer claims all or none.
func TestIncompleteWrite(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault  faultproxy.Fault
		insert int // that it befalls
		taken  string
		first  error // nil for one that does not matter
		second error
	}{
		"second request lost":                     {faultproxy.LoseRequest, 2, "", document.ErrIncomplete, nil},
		"second answer lost":                      {faultproxy.LoseReply, 2, "", document.ErrIncomplete, nil},
		"first answer lost":                       {faultproxy.LoseReply, 1, "", document.ErrIncomplete, nil},
		"another takes the second":                {faultproxy.None, 2, "b", document.ErrIncomplete, document.ErrPartial},
		"another takes the third, second is lost": {faultproxy.LoseRequest, 2, "c", document.ErrIncomplete, document.ErrPartial},
		"another takes the first":                 {faultproxy.None, 1, "a", document.ErrConflict, document.ErrConflict},
	} {
		t.Run(name, func(t *testing.T) {
			s, other, proxy := behindProxy(t)
			if s.transactions {
				return // there, nothing is ever incomplete; see TestSeveralAllOrNone
			}
			writes := []document.Write{version("a", 0), version("b", 0), version("c", 0)}
			proxy.Inject(atInsert(test.insert, func() faultproxy.Fault {
				if test.taken != "" {
					w := version(test.taken, 0)
					w.ID = document.WriteID{77}
					if err := other.Put(t.Context(), w); err != nil {
						t.Error(err)
					}
				}
				return test.fault
			}))
			if err := s.Put(t.Context(), writes...); !errors.Is(err, test.first) {
				t.Errorf("first: %v, want %v", err, test.first)
			}
			if err := s.Put(t.Context(), writes...); !errors.Is(err, test.second) {
				t.Errorf("repeated: %v, want %v", err, test.second)
			}
		})
	}
}

// The answer to an edit of several documents is true whatever happens between the
// first write and the last: done, not done or not known, and the last only where it
// cannot be known or where there are no transactions.
func TestEditAllIsAnsweredTruthfully(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault  faultproxy.Fault
		insert int
		taken  string
		kind   fault.Kind // without transactions; 0 for success
	}{
		"nothing happens":          {faultproxy.None, 0, "", 0},
		"another takes the first":  {faultproxy.None, 1, "a", 0},
		"another takes the second": {faultproxy.None, 2, "b", fault.Uncertain},
		"first request lost":       {faultproxy.LoseRequest, 1, "", 0},
		"first answer lost":        {faultproxy.LoseReply, 1, "", 0},
		"second request lost":      {faultproxy.LoseRequest, 2, "", 0},
		"second answer lost":       {faultproxy.LoseReply, 2, "", 0},
		"lost and taken":           {faultproxy.LoseRequest, 1, "a", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, other, proxy := behindProxy(t)
			proxy.Inject(atInsert(test.insert, func() faultproxy.Fault {
				if test.taken != "" {
					mustPut(t, other, test.taken, 0, 1)
				}
				return test.fault
			}))
			service := document.NewService(s, stream.SystemClock(), document.Options{})
			err := service.EditAll(t.Context(), []document.Edit{{Key: "a", Change: mine(t)}, {Key: "b", Change: mine(t)}})
			want := test.kind
			if s.transactions {
				want = 0
			}
			if kind := fault.KindOf(err); kind != want || err != nil && want == 0 {
				t.Errorf("got %v", err)
			}
			found, failure := other.Get(t.Context(), "a", "b")
			if failure != nil {
				t.Fatal(failure)
			}
			for i, key := range []string{"a", "b"} {
				made := uint64(1)
				if key == test.taken {
					made++
				}
				if got := found[i]; err == nil && (got.Version != made || !strings.Contains(string(got.Body), "mine")) {
					t.Errorf("%s is %s at version %d", key, got.Body, got.Version)
				}
			}
		})
	}
}

func mine(t *testing.T) document.Change {
	t.Helper()
	change, err := document.ParseChange([]byte(`{"mine":true}`))
	if err != nil {
		t.Fatal(err)
	}
	return change
}
