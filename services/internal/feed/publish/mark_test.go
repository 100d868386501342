package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/api/verifiable"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// failingMark fails to load or to store while a test says so.
type failingMark struct {
	Mark
	load, store error
}

func (m *failingMark) Load(ctx context.Context) (Marked, error) {
	if m.load != nil {
		return Marked{}, m.load
	}
	return m.Mark.Load(ctx)
}

func (m *failingMark) Replace(ctx context.Context, old Marked, text []byte) (Marked, error) {
	if m.store != nil {
		return Marked{}, m.store
	}
	return m.Mark.Replace(ctx, old, text)
}

// While the mark fails nothing is signed, and the log waits: it neither begins another time nor forgets
// what is reported meanwhile.
func TestNothingIsSignedWithoutTheMark(t *testing.T) {
	away := errors.New("the API server is away")
	for name, test := range map[string]struct {
		mark  failingMark
		begun bool
	}{
		"at the first store": {failingMark{store: away}, false},
		"at the first load":  {failingMark{load: away}, false},
		"at a later store":   {failingMark{store: away}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			mark := test.mark
			mark.Mark = w.mark
			w.configure("p", voting.Config{})
			if test.begun {
				w.round()
			}
			w.Mark = &mark
			var origins []string
			for range 3 {
				w.vote("p", "a", 1)
				_ = w.reportOnce(t.Context()) // a round fails before it reports, or when it signs
				w.clock.pass(checkpointFor)
				if s, err := w.signLog(t.Context(), 1); !errors.Is(err, away) {
					t.Fatalf("signed %+v, %v", s, err)
				}
				log, err := w.log.Read(t.Context())
				w.must(err)
				origins = append(origins, log.Origin)
			}
			if origins[0] != origins[2] || (origins[0] == "") != (mark.load != nil) {
				t.Errorf("the log begins as %q", origins)
			}
			if failed := w.Stats().Failed; failed < 3 {
				t.Errorf("%d failures are counted, want each request that waits for a signature", failed)
			}
			mark.load, mark.store = nil, nil
			w.round()
			if report, _ := w.receipt("p", "a", 1); report.Recorded.Answer == "" || w.mark.text == nil {
				t.Errorf("a receipt after the pause: %+v", report)
			}
			if origin := w.keys().Origin(); origins[0] != "" && origin != origins[0] {
				t.Errorf("the log goes on as %s, and began as %s", origin, origins[0])
			}
		})
	}
}

// busyMark has another process sign while this one loads the mark.
type busyMark struct {
	Mark
	meanwhile func()
}

func (m *busyMark) Load(ctx context.Context) (Marked, error) {
	m.meanwhile()
	return m.Mark.Load(ctx)
}

// A round asks as little of the mark as it can, and no process shows what another one's mark contradicts.
func TestRequestsForTheMark(t *testing.T) {
	w := newWorld(t)
	w.configure("p", voting.Config{})
	w.round()
	_ = w.keys()
	second := &world{t: t, store: w.store, clock: w.clock, mark: w.mark}
	move := func() {
		t.Helper()
		w.vote("p", fmt.Sprint("v", len(w.mark.requests)), 1)
		w.round()
		w.mark.requests = nil
	}
	signs := func(w *world, want ...string) {
		t.Helper()
		_ = w.keys()
		if got := w.mark.requests; !slices.Equal(got, want) {
			t.Errorf("signing asks %q of the mark, want %q", got, want)
		}
		w.mark.requests = nil
		w.clock.pass(2 * time.Second)
		if _ = w.keys(); len(w.mark.requests) > 0 {
			t.Errorf("signing the same asks %q of the mark", w.mark.requests)
		}
	}
	for range 3 {
		move()
		signs(w, "replace")
	}
	second.start()
	signs(second, "load")
	move()
	signs(w, "replace")
	signs(second, "load")
	move()
	signs(second, "load", "replace")
	signs(w, "replace", "load")
	move()
	signs(w, "load", "replace")
	w.start() // again
	move()
	signs(w, "load", "replace")
}

// A database that is restored under running processes contradicts nothing that any of them signed: also
// one that signed less than another, and one that finds more leaves than were signed, begins a new log.
func TestRestoreUnderRunningProcesses(t *testing.T) {
	for name, more := range map[string]int{"fewer leaves": 1, "as many leaves": 2, "more leaves": 4, "more tiles": 300} {
		for _, unmarked := range []bool{false, true} {
			t.Run(fmt.Sprint(name, unmarked), func(t *testing.T) {
				w := newWorld(t)
				if unmarked { // what this process itself signed counts, too
					w.Mark, w.mark = nil, nil
				}
				w.configure("p", voting.Config{})
				w.round()
				old := w.keys().Origin()
				before, longer := w.copyStore(), w
				if !unmarked {
					longer = &world{t: t, store: w.store, clock: w.clock, mark: w.mark}
					longer.start()
				}
				for i := range 2 {
					longer.vote("p", fmt.Sprint("lost", i), 1)
					longer.round()
				}
				signed, err := longer.signLog(t.Context(), 0)
				w.must(err)

				// Others go on with the restored log before this process looks at it.
				restored := &world{t: t, store: before, clock: w.clock, mark: &memoryMark{}}
				restored.start()
				restored.signed = &signedLog{origin: old} // so that it appends
				for i := range more {
					restored.vote("p", fmt.Sprint("other", i), 1)
					restored.round()
				}
				w.Log = restored.log
				s, err := w.signLog(t.Context(), 0)
				w.must(err)
				if s.origin == old {
					t.Errorf("signs %d leaves, after %d of another history", s.tree.N, signed.tree.N)
				}
			})
		}
	}
}

// Of processes whose database is restored, one begins a new log, and the others go on with that.
func TestRestoreUnderTwoProcesses(t *testing.T) {
	w := newWorld(t)
	w.configure("p", voting.Config{})
	w.round()
	before := w.copyStore()
	second := &world{t: t, store: w.store, clock: w.clock, mark: w.mark}
	second.start()
	old := ""
	for i, process := range []*world{w, second} { // each of them has marked something
		process.configure(fmt.Sprint("lost", i), voting.Config{})
		process.round()
		old = process.keys().Origin()
	}
	restored := &world{t: t, store: before, clock: w.clock, mark: &memoryMark{}}
	restored.start()
	w.Log, second.Log, w.Polls, second.Polls = restored.log, restored.log, restored.polls, restored.polls
	origins := map[string]bool{}
	for i := range 4 {
		restored.vote("p", fmt.Sprint("new", i), 1)
		for _, process := range []*world{w, second} {
			process.queue.add(pollNamed("p"))
			process.round()
			w.clock.pass(2 * time.Second)
			origins[process.keys().Origin()] = true
		}
	}
	if len(origins) != 1 || origins[old] {
		t.Errorf("after %s, the processes sign %v", old, origins)
	}
}

// After a restore, a process that runs on shows none of the entries that it had read before.
func TestFilesAfterRestore(t *testing.T) {
	w := newWorld(t)
	w.configure("p", voting.Config{})
	w.round()
	before := w.copyStore()
	w.vote("p", "lost", 1)
	w.round()
	w.receipt("p", "lost", 1) // the process keeps the tiles of its proof

	restored := &world{t: t, store: before, clock: w.clock, mark: &memoryMark{}}
	restored.start()
	w.Log, w.Polls, w.polls = restored.log, restored.polls, restored.polls
	w.vote("p", "other", 1)
	w.queue.add(pollNamed("p"))
	w.round()
	if report, text := w.receipt("p", "other", 1); report.Recorded.Answer != verifiable.Yes {
		t.Errorf("the receipt of a vote after the restore: %+v\n%s", report.Recorded, text)
	}
}

// A process that starts while another one signs goes on with the log.
func TestStartBesideASigner(t *testing.T) {
	w := newWorld(t)
	w.configure("p", voting.Config{})
	w.round()
	second := &world{t: t, store: w.store, clock: w.clock, mark: w.mark}
	second.start()
	second.Mark = &busyMark{w.mark, func() {
		w.vote("p", "a", 1)
		w.round()
		_ = w.keys() // signs
	}}
	if origin, want := second.keys().Origin(), w.keys().Origin(); origin != want {
		t.Errorf("the second process signs as %s, the first as %s", origin, want)
	}
}
