package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/testing/mongotest"
)

// Several programs share a database while they are killed, replaced and paused.
// Afterwards the history is exact: it contains acknowledged commands once and refused
// commands never, no limit is exceeded, and no reader missed or repeated an entry.
func TestReplicas(t *testing.T) {
	t.Parallel()
	for database, size := range map[string]int{"server": 8, "replica set": 3, "sharded cluster": 3} {
		t.Run(fmt.Sprintf("%d over a %s", size, database), func(t *testing.T) {
			t.Parallel()
			// On a busy machine a drain takes as long as the commands that it waits for.
			w := newWorkload(startFleet(t, []string{databases[database](t)}, size, "--shutdown-timeout", "3m"))
			w.run(t, 4*size, func() { w.disturb(t, size) })
			w.check(t)
		})
	}
}

// workload runs the clients of a fleet and records the outcomes of their commands.
type workload struct {
	fleet *fleet
	done  progress    // commands
	over  atomic.Bool // the clients send no more commands
	quiet atomic.Bool // the last command has its answer

	mu     sync.Mutex
	fates  map[string]fate             // of commands, by the id in their entry
	double map[string]*[2]atomic.Int64 // of the multi-vote poll: accepted and unknown, by voter
	seen   map[string]int              // entries, by the reader of the buffer
}

func newWorkload(f *fleet) *workload {
	return &workload{fleet: f, fates: map[string]fate{}, double: map[string]*[2]atomic.Int64{}}
}

const (
	multiConfig = `{"id":"multi","config":{"totalVotesPerUser":3,"distinctOptionsPerUser":2,"votesPerOption":2}}`
	perVoter    = 3 // votes in the multi-vote poll
)

// run runs a number of clients until during returns.
func (w *workload) run(t *testing.T, number int, during func()) {
	broadcaster := sign(t, "broadcaster", "B")
	if fate, why := send(w.fleet.any(0), http.MethodPost, "/vote_config", broadcaster, multiConfig, nil); fate != stored {
		t.Fatalf("configure: %s", why)
	}
	if fate, why := send(w.fleet.any(0), http.MethodPatch, "/channel_state", broadcaster, `{"members":[]}`, nil); fate != stored {
		t.Fatalf("state: %s", why)
	}
	var clients sync.WaitGroup
	w.done.join(number)
	for c := range number {
		clients.Go(func() { w.client(t, c) })
	}
	var reader sync.WaitGroup
	reader.Go(func() { w.read(t) })
	during()
	w.over.Store(true)
	clients.Wait()
	w.quiet.Store(true)
	reader.Wait()
}

func (w *workload) disturb(t *testing.T, size int) {
	rng := rand.New(rand.NewPCG(uint64(size), 7))
	for range 3 {
		w.done.await(t, 200)
		w.fleet.kill(rng.IntN(size))
		w.done.await(t, 200)
		w.fleet.replace(rng.IntN(size))
		w.done.await(t, 200)
		w.fleet.pause(rng.IntN(size), func() { w.done.await(t, 300) })
	}
	w.done.await(t, 200)
}

func (w *workload) client(t *testing.T, number int) {
	defer w.done.leave()
	rng := rand.New(rand.NewPCG(uint64(number), 3))
	for i := 0; !w.over.Load(); i++ {
		id := fmt.Sprintf("U%d-%d", number, i)
		p := w.fleet.any(rng.IntN(1 << 20))
		header := sign(t, "viewer", id)
		switch rng.IntN(5) {
		case 0:
			w.note("vote " + id)(send(p, http.MethodPost, "/vote", header, `{"value":1}`, nil))
		case 1:
			w.stuff(t, fmt.Sprintf("U%d-%d", number/8, i/8), p, rng.IntN(3))
		case 2:
			w.note("entry " + id)(send(p, http.MethodPost, "/accumulate", header, fmt.Sprintf(`{"id":%q}`, id), nil))
		case 3:
			patch := fmt.Sprintf(`[{"op":"add","path":"/members/-","value":%q}]`, id)
			w.note("member " + id)(send(p, http.MethodPatch, "/channel_state", sign(t, "broadcaster", "B"), patch, nil))
		case 4:
			w.note("answer " + id)(send(p, http.MethodPost, "/rank", header, fmt.Sprintf(`{"key":"k%d"}`, i%5), nil))
		}
		w.done.add()
	}
}

func (w *workload) note(id string) func(fate, string) {
	return func(f fate, _ string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.fates[id] = f
	}
}

// stuff votes for an identity that other clients vote for at the same time,
// through other replicas, and more often than it may.
func (w *workload) stuff(t *testing.T, voter string, p *process, value int) {
	w.mu.Lock()
	counts := w.double[voter]
	if counts == nil {
		counts = &[2]atomic.Int64{}
		w.double[voter] = counts
	}
	w.mu.Unlock()
	f, _ := send(p, http.MethodPost, "/vote?id=multi", sign(t, "viewer", voter), fmt.Sprintf(`{"value":%d}`, value), nil)
	switch f {
	case stored:
		counts[0].Add(1)
	case unknown:
		counts[1].Add(1)
	}
}

type entriesPage struct {
	Data []struct {
		Data struct{ ID string }
	}
	Latest int64
}

// read follows the buffer through changing replicas until the workload is quiet and
// no further page has entries.
func (w *workload) read(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	w.seen = map[string]int{}
	backend := sign(t, "backend", "")
	for start, last := int64(0), false; !t.Failed(); {
		var p entriesPage
		f, _ := send(w.fleet.any(rng.IntN(1<<20)), http.MethodGet, fmt.Sprintf("/accumulate?start=%d", start), backend, "", &p)
		if f != stored {
			continue // the replica is being killed
		}
		for _, entry := range p.Data {
			w.seen[entry.Data.ID]++
		}
		if p.Latest > 0 {
			start = p.Latest
		} else if last {
			return
		}
		last = w.quiet.Load() && p.Latest == 0
	}
}

// check compares the outcomes that the clients know with the stored state, as two
// replicas return it.
func (w *workload) check(t *testing.T) {
	if t.Failed() {
		return // read has stopped early, and what it did not see may be stored
	}
	came := map[fate]int{}
	for _, f := range w.fates {
		came[f]++
	}
	t.Logf("%d commands were stored, %d refused, %d of unknown fate", came[stored], came[refused], came[unknown])
	for _, p := range []*process{w.fleet.any(0), w.fleet.any(1)} {
		known := &votes{acknowledged: map[string]bool{}, sent: map[string]bool{}}
		var state struct{ Members []string }
		if f, why := send(p, http.MethodGet, "/channel_state", sign(t, "broadcaster", "B"), "", &state); f != stored {
			t.Fatal(why)
		}
		for id, f := range w.fates {
			var kind, name string
			_, _ = fmt.Sscan(id, &kind, &name)
			times := -1
			switch kind {
			case "vote":
				known.sent[name] = f != refused
				known.acknowledged[name] = f == stored
			case "entry":
				times = w.seen[name]
			case "member":
				times = count(state.Members, name)
			}
			if times >= 0 && (f == stored && times != 1 || f == refused && times != 0 || times > 1) {
				t.Errorf("%s, fate %d, is there %d times", id, f, times)
			}
		}
		for name, ok := range known.acknowledged {
			if !ok {
				delete(known.acknowledged, name)
			}
		}
		known.check(t, p)
		w.checkRank(t, p)
		w.checkMulti(t, p)
	}
}

func count(in []string, what string) (times int) {
	for _, s := range in {
		if s == what {
			times++
		}
	}
	return times
}

func (w *workload) checkRank(t *testing.T, p *process) {
	var rank struct{ Data []struct{ Score int64 } }
	if f, why := send(p, http.MethodGet, "/rank", sign(t, "backend", ""), "", &rank); f != stored {
		t.Fatal(why)
	}
	var sum, least, most int64
	for _, answer := range rank.Data {
		sum += answer.Score
	}
	for id, f := range w.fates {
		if id[0] == 'a' && f != refused {
			most++
			if f == stored {
				least++
			}
		}
	}
	if sum < least || sum > most {
		t.Errorf("%d answers are ranked, %d to %d were given", sum, least, most)
	}
}

func (w *workload) checkMulti(t *testing.T, p *process) {
	var logged logAnswer
	if f, why := send(p, http.MethodGet, "/vote_logs?id=multi", sign(t, "backend", ""), "", &logged); f != stored {
		t.Fatal(why)
	}
	times, options := map[string]int64{}, map[string]map[int64]int{}
	for _, record := range logged.Result {
		times[record.Opaque]++
		if options[record.Opaque] == nil {
			options[record.Opaque] = map[int64]int{}
		}
		options[record.Opaque][record.Value]++
	}
	for voter, counts := range w.double {
		n, accepted, open := times[voter], counts[0].Load(), counts[1].Load()
		if n < accepted || n > accepted+open || n > perVoter || len(options[voter]) > 2 {
			t.Errorf("%s has %d votes for %v; %d were accepted and %d are unknown", voter, n, options[voter], accepted, open)
		}
		for value, n := range options[voter] {
			if n > 2 {
				t.Errorf("%s has %d votes for %d", voter, n, value)
			}
		}
	}
}

// While every replica is replaced, one after the other, no request fails for clients
// that use ready replicas only.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	const size = 3
	f := startFleet(t, []string{mongotest.WithLongTimeouts(mongotest.Start(t))}, size, "--drain-delay", "500ms")
	var clients sync.WaitGroup
	var done progress
	var over atomic.Bool
	done.join(16)
	for c := range 16 {
		clients.Go(func() {
			defer done.leave()
			for i := c; !over.Load(); i++ {
				header := sign(t, "viewer", fmt.Sprintf("U%d-%d", c, i))
				if fate, why := send(f.any(i), http.MethodPost, fmt.Sprintf("/vote?id=p%d", i%20), header, `{"value":1}`, nil); fate != stored {
					t.Errorf("a vote failed: %s", why)
				}
				if fate, why := send(f.any(i+1), http.MethodGet, "/vote", header, "", nil); fate != stored {
					t.Errorf("a read failed: %s", why)
				}
				done.add()
			}
		})
	}
	for i := range size {
		done.await(t, 200)
		f.replace(i)
	}
	over.Store(true)
	clients.Wait()
}
