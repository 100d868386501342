package stream_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/acclaim-dev/acclaim/services/internal/storetest"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

// TestSimulation runs several engines over one store in simulated time, with
// conflicts, lost requests and answers, stray duplicates, crashes and clocks
// that step, and checks that what the clients saw is linearizable and is what
// the log says. ACCLAIM_SIM_SEEDS sets how many histories are tried,
// ACCLAIM_SIM_SEED tries one alone.
func TestSimulation(t *testing.T) {
	var seen effects
	if seed := os.Getenv("ACCLAIM_SIM_SEED"); seed != "" {
		n, err := strconv.ParseUint(seed, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		simulate(t, n, &seen)
		return
	}
	seeds := uint64(1000)
	if s := os.Getenv("ACCLAIM_SIM_SEEDS"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seeds = n
	}
	for seed := range seeds {
		if simulate(t, seed, &seen); t.Failed() {
			t.Fatalf("failed with ACCLAIM_SIM_SEED=%d", seed)
		}
	}
	if seen.forwarded.Load() == 0 || seen.recovered.Load() == 0 || seen.redacted.Load() == 0 || seen.trimmed.Load() == 0 {
		t.Errorf("%d calls were passed on, %d groups recovered, %d chunks redacted, %d trimmed, want some of each",
			seen.forwarded.Load(), seen.recovered.Load(), seen.redacted.Load(), seen.trimmed.Load())
	}
}

// effects count, over all runs, what a simulation must not go without.
type effects struct{ forwarded, recovered, redacted, trimmed atomic.Uint64 }

func simulate(t *testing.T, seed uint64, seen *effects) {
	w := &world{seed: seed, store: &recorder{Memory: storetest.NewMemory()}, effects: seen}
	synctest.Test(t, func(t *testing.T) { w.run(t) })
	w.eraseAll(t)
	logged := w.checkLog(t)
	// What the log does not hold never happened. Telling the checker so spares
	// it a search that doubles with every command of unknown outcome.
	happened := slices.DeleteFunc(w.history, func(op porcupine.Operation) bool {
		in := op.Input.(ledgerInput)
		return op.Output.(ledgerOutput).unknown && !in.erase && logged[in.post.id] == 0
	})
	if result := porcupine.CheckOperationsTimeout(ledgerModel, happened, time.Minute); result != porcupine.Ok {
		t.Errorf("is the history linearizable? %s", result)
	}
}

const (
	simEngines = 3 // but one where the engine has the store to itself
	simClients = 5 // for each engine
	simOps     = 8
	simStreams = 2
)

// world is one simulated run.
type world struct {
	seed  uint64
	store *recorder
	now   atomic.Int64 // orders calls and returns
	late  sync.WaitGroup

	*effects

	mu      sync.Mutex
	nodes   []*node
	history []porcupine.Operation
}

// recorder remembers every chunk as it was appended.
type recorder struct {
	*storetest.Memory
	mu     sync.Mutex
	chunks []stream.Chunk
}

func (r *recorder) Append(ctx context.Context, chunk stream.Chunk) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.Memory.Append(ctx, chunk)
	if err == nil {
		r.chunks = append(r.chunks, chunk)
	}
	return err
}

// node is a process: an engine, its clock and its network.
type node struct {
	engine  *ledgerEngine
	clock   *skewedClock
	network *network
}

func (w *world) rng(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(w.seed, stream)) }

// alone reports whether this run has a single engine that owns its store. Such
// a store loses no answers, and its owner is not killed: a second one would own
// it at the same time.
func (w *world) alone() bool { return w.seed%4 == 3 }

// placed reports whether the engines of this run pass commands to one another.
func (w *world) placed() bool { return !w.alone() && w.seed/4%3 > 0 }

func (w *world) ties() bool { return w.seed%5 < 2 }

func (w *world) boot(rng *rand.Rand, clock *skewedClock) *node {
	net := &network{
		Store:  w.store,
		rng:    rand.New(rand.NewPCG(rng.Uint64(), 0)),
		faults: []float64{0, 0.05, 0.3}[w.seed%3],
		late:   &w.late,
	}
	if w.alone() {
		net.faults = 0
	}
	n := &node{clock: clock, network: net}
	options := stream.Options{
		Exclusive:    w.alone(),
		Ties:         w.ties(),
		MemoryBudget: []int64{1, 1 << 20}[rng.IntN(2)], // 1: nothing idle stays
		BatchLimit:   1 + rng.IntN(8),
		PayloadLimit: 1 + rng.IntN(16),
		SnapshotTail: 256,
		GroupMemory:  1 + rng.IntN(4),
		Random:       rand.NewPCG(rng.Uint64(), 1),
	}
	if w.placed() {
		options.Peers = &view{world: w, node: n, rng: rand.New(rand.NewPCG(rng.Uint64(), 2)), faults: net.faults}
	}
	n.engine = stream.New(ledgerRules{}, net, clock, options)
	return n
}

func (w *world) run(t *testing.T) {
	rng := w.rng(0)
	engines := simEngines
	if w.alone() {
		engines = 1
	}
	for range engines {
		w.nodes = append(w.nodes, w.boot(rng, &skewedClock{offset: time.Duration(rng.IntN(200)) * time.Millisecond}))
	}
	var clients sync.WaitGroup
	for id := range uint64(engines * simClients) {
		clients.Go(func() { w.client(id) })
	}
	stop := make(chan struct{})
	var chaos sync.WaitGroup
	chaos.Go(func() { w.disturb(stop) })
	clients.Wait()
	close(stop)
	chaos.Wait()
	for _, n := range w.nodes {
		n.network.heal()
		if err := n.engine.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	w.late.Wait()
	if w.placed() {
		for _, n := range w.nodes {
			w.forwarded.Add(n.engine.Stats().Forwarded)
			w.recovered.Add(n.engine.Stats().Recovered)
		}
	}
}

// disturb kills processes and steps clocks until stop is closed.
func (w *world) disturb(stop <-chan struct{}) {
	rng := w.rng(1)
	for {
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(1+rng.IntN(15)) * time.Millisecond):
		}
		i := rng.IntN(len(w.nodes))
		w.mu.Lock()
		old := w.nodes[i]
		if w.alone() || rng.IntN(3) > 0 {
			old.clock.step(time.Duration(rng.IntN(200)-100) * time.Millisecond)
			w.mu.Unlock()
			continue
		}
		w.nodes[i] = w.boot(rng, old.clock)
		w.mu.Unlock()
		old.network.kill()
		killed, cancel := context.WithCancel(context.Background())
		cancel()
		_ = old.engine.Close(killed) // its error is the point
	}
}

func (w *world) client(id uint64) {
	rng := w.rng(2 + id)
	for n := range uint64(simOps) {
		time.Sleep(time.Duration(1 + rng.Int64N(int64(4*time.Millisecond))))
		w.mu.Lock()
		node := w.nodes[rng.IntN(len(w.nodes))]
		w.mu.Unlock()
		in := ledgerInput{
			stream: fmt.Sprintf("ledger/%d", rng.IntN(simStreams)),
			post:   post{id: id*simOps + n, amount: []int64{0, 1, 2, 3, 7}[rng.IntN(5)], who: viewers[rng.IntN(len(viewers))]},
			read:   rng.IntN(3) == 0,
			erase:  rng.IntN(8) == 0,
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(5+rng.IntN(1000))*time.Millisecond)
		if rng.IntN(10) == 0 { // which nobody must notice
			_, _ = node.engine.Trim(ctx, in.stream, time.Now().Add(-time.Duration(rng.IntN(30))*time.Millisecond))
		}
		call := w.now.Add(1)
		out := in.do(ctx, node.engine)
		op := porcupine.Operation{ClientId: int(id), Input: in, Call: call, Output: out, Return: w.now.Add(1)}
		if out.unknown {
			op.Return = 1 << 60 // it may take effect at any later time
		}
		cancel()
		w.mu.Lock()
		w.history = append(w.history, op)
		w.mu.Unlock()
	}
}

// eraseAll erases every viewer, and so finishes what was cut off. Afterwards nothing
// that is stored names one, and all of it is sound.
func (w *world) eraseAll(t *testing.T) {
	engine := stream.New(ledgerRules{}, w.store, stream.SystemClock(), stream.Options{Ties: w.ties()})
	for i := range simStreams {
		name := fmt.Sprintf("ledger/%d", i)
		if _, err := engine.Erase(t.Context(), name, stream.Viewer{IDs: viewers[1:]}); err != nil {
			t.Fatal(err)
		}
		report, err := engine.Verify(t.Context(), name)
		if err != nil {
			t.Errorf("verify: %v", err)
		}
		w.redacted.Add(report.Redacted)
		w.trimmed.Add(report.Trimmed)
		wantErased(t, w.store, name, viewers[1:]...)
	}
}

// wantErased makes sure that nothing stored of a stream holds one of the ids.
func wantErased(t *testing.T, store stream.Store, name string, ids ...string) {
	t.Helper()
	snapshot, _, err := store.LoadSnapshot(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	places := map[string][]byte{"the snapshot": snapshot.State}
	for chunk, err := range store.Chunks(t.Context(), name, 0) {
		if err != nil {
			t.Fatal(err)
		}
		places[fmt.Sprintf("chunk %d", chunk.Seq)] = chunk.Payload
	}
	for place, content := range places {
		for _, id := range ids {
			if bytes.Contains(content, []byte(id)) {
				t.Errorf("%s holds %s still: %q", place, id, content)
			}
		}
	}
}

// checkLog compares what clients were told with what is in the log, and returns
// how often each command is in it.
func (w *world) checkLog(t *testing.T) (times map[uint64]int) {
	times = map[uint64]int{}
	engine := stream.New(ledgerRules{}, w.store, stream.SystemClock(), stream.Options{Ties: w.ties()})
	for i := range simStreams {
		name := fmt.Sprintf("ledger/%d", i)
		fold := ledgerRules{}.New()
		for _, chunk := range w.store.chunks {
			if chunk.Stream != name {
				continue
			}
			for entry, err := range engine.Entries(&chunk) {
				if err != nil {
					t.Fatal(err)
				}
				times[entry.id]++
				ledgerRules{}.Apply(fold, chunk.At, entry)
			}
		}
		// Loading checks sequence, chain and times; a snapshot may shorten it.
		for query, want := range map[post]int64{sumQuery: fold.sum, entriesQuery: fold.entries} {
			if got, err := engine.View(t.Context(), name, query); got != want || err != nil {
				t.Errorf("%s: state is %d, %v, the fold of its log %d", name, got, err, want)
			}
		}
	}
	for _, op := range w.history {
		in, out := op.Input.(ledgerInput), op.Output.(ledgerOutput)
		n := times[in.post.id]
		switch {
		case in.erase:
		case in.read || out.refused || out.failed:
			if n != 0 {
				t.Errorf("command %d answered %+v is in the log %d times", in.post.id, out, n)
			}
		case out.unknown && n > 1, !out.unknown && n != 1:
			t.Errorf("command %d answered %+v is in the log %d times", in.post.id, out, n)
		}
	}
	return times
}
