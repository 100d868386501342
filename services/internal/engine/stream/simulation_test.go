package stream_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/rewrite"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/ledger"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

// TestSimulation runs several engines over one store in simulated time, with
// conflicts, lost requests and answers, stray duplicates, reads that lag behind writes,
// writes that are rolled back, crashes and clocks that step, and checks that the results that the clients saw are linearizable in the order
// of the log. ACCLAIM_SIM_SEEDS sets how many histories are tried, ACCLAIM_SIM_SEED
// tries one alone.
func TestSimulation(t *testing.T) {
	t.Parallel()
	var seen effects
	if seed := os.Getenv("ACCLAIM_SIM_SEED"); seed != "" {
		n, err := strconv.ParseUint(seed, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		simulate(t, n, &seen)
		return
	}
	seeds := uint64(200)
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
	if seen.forwarded.Load() == 0 || seen.recovered.Load() == 0 || seen.redacted.Load() == 0 || seen.truncated.Load() == 0 || seen.lagged.Load() == 0 || seen.repeated.Load() == 0 {
		t.Errorf("%d calls were forwarded, %d groups recovered, %d chunks redacted, %d truncated, %d late to be read, %d repeated, want some of each",
			seen.forwarded.Load(), seen.recovered.Load(), seen.redacted.Load(), seen.truncated.Load(), seen.lagged.Load(), seen.repeated.Load())
	}
}

// effects count, over all runs, what a simulation must not go without.
type effects struct{ forwarded, recovered, redacted, truncated, lagged, repeated atomic.Uint64 }

func simulate(t *testing.T, seed uint64, seen *effects) {
	w := &world{seed: seed, log: &recorder{Memory: storetest.NewMemory()}, effects: seen}
	w.store = storetest.NewLagging(w.log, w.lag(w.rng(1<<32)))
	synctest.Test(t, func(t *testing.T) { w.run(t) })
	w.eraseAll(t)
	w.checkLog(t)
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
	log   *recorder
	store *storetest.Lagging
	ended atomic.Bool  // the store lags no more
	now   atomic.Int64 // orders calls and returns
	late  sync.WaitGroup

	*effects

	mu      sync.Mutex
	nodes   []*node
	history []operation
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
	engine  *ledger.Engine
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

// faults returns how probable a fault is in each call of the store.
func (w *world) faults() float64 {
	if w.alone() {
		return 0
	}
	return []float64{0, 0.05, 0.3}[w.seed%3]
}

func (w *world) ties() bool { return w.seed%5 < 2 }

// lag returns how long the store takes to commit a chunk: where answers are lost, one of
// eight takes longer than an append or never gets there.
func (w *world) lag(rng *rand.Rand) func(stream.Chunk) storetest.Lag {
	return func(stream.Chunk) (lag storetest.Lag) {
		if w.faults() > 0 && !w.ended.Load() && rng.IntN(8) == 0 {
			longest := []time.Duration{10 * time.Millisecond, 100 * time.Millisecond, 3 * time.Second}[rng.IntN(3)]
			lag = storetest.Lag{For: time.Duration(rng.Int64N(int64(longest))), RolledBack: rng.IntN(4) == 0, AnswerLost: rng.IntN(2) == 0}
			w.lagged.Add(1)
		}
		return lag
	}
}

func (w *world) boot(rng *rand.Rand, clock *skewedClock) *node {
	net := &network{
		Store:  w.store,
		rng:    rand.New(rand.NewPCG(rng.Uint64(), 0)),
		faults: w.faults(),
		late:   &w.late,
	}
	n := &node{clock: clock, network: net}
	options := stream.Options{
		Exclusive:            w.alone(),
		AllowEqualTimestamps: w.ties(),
		SnapshotTail:         256,
	}.Tuned(stream.Tuning{
		MemoryBudget: []int64{1, 1 << 20}[rng.IntN(2)], // 1: nothing idle stays
		BatchLimit:   1 + rng.IntN(8),
		PayloadLimit: 1 + rng.IntN(16),
		GroupMemory:  1 + rng.IntN(4),
		Random:       rand.NewPCG(rng.Uint64(), 1),
	})
	if w.placed() {
		options.Peers = &view{world: w, node: n, rng: rand.New(rand.NewPCG(rng.Uint64(), 2)), faults: net.faults}
	}
	n.engine = ledger.Open(net, clock, options)
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
	w.ended.Store(true)
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
			w.recovered.Add(n.engine.Stats().Settled)
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
			post:   ledger.Post{ID: id*simOps + n, Amount: []int64{0, 1, 2, 3, 7}[rng.IntN(5)], Who: ledger.Viewers[rng.IntN(len(ledger.Viewers))]},
			read:   rng.IntN(3) == 0,
			erase:  rng.IntN(8) == 0,
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(5+rng.IntN(1000))*time.Millisecond)
		in.keyed = w.keyed() && !in.read && !in.erase && in.post.Who == ""
		if !w.keyed() && rng.IntN(10) == 0 { // which must change no result
			_, _ = node.engine.Truncate(ctx, in.stream, time.Now().Add(-time.Duration(rng.IntN(30))*time.Millisecond))
		}
		w.record(ctx, in, node.engine, rng)
		cancel()
	}
}

// record runs an operation and adds it to the history.
func (w *world) record(ctx context.Context, in ledgerInput, engine *ledger.Engine, rng *rand.Rand) {
	call := w.now.Add(1)
	out := in.do(ctx, engine)
	for attempt := 0; in.keyed && (out.unknown || out.failed) && !out.repeated && attempt < 6; attempt++ {
		out = w.repeat(in, out, rng)
	}
	op := operation{in: in, out: out, call: call, finish: w.now.Add(1)}
	if out.unknown {
		op.finish = math.MaxInt64 // it may take effect at any later time
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.history = append(w.history, op)
}

// keyed reports whether commands of this run are repeated with keys. It truncates nothing:
// with a chunk go its keys.
func (w *world) keyed() bool { return w.seed%2 == 0 }

// repeat sends a command again, to any engine, and returns what is known of it then.
func (w *world) repeat(in ledgerInput, before ledgerOutput, rng *rand.Rand) ledgerOutput {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(5+rng.IntN(1000))*time.Millisecond)
	defer cancel()
	w.mu.Lock()
	node := w.nodes[rng.IntN(len(w.nodes))]
	w.mu.Unlock()
	out := in.do(ctx, node.engine)
	if out.repeated {
		w.repeated.Add(1)
	}
	if before.unknown && (out.refused || out.failed) {
		return ledgerOutput{unknown: true} // the attempt before may take effect still
	}
	return out
}

// eraseAll erases every viewer, and so finishes what was cut off. Afterwards nothing
// that is stored names one, and all of it is sound.
func (w *world) eraseAll(t *testing.T) {
	engine := ledger.Open(w.store, stream.SystemClock(), stream.Options{AllowEqualTimestamps: w.ties()})
	for i := range simStreams {
		name := fmt.Sprintf("ledger/%d", i)
		if _, err := engine.Erase(t.Context(), name, rewrite.Viewer{IDs: ledger.Viewers[1:]}); err != nil {
			t.Fatal(err)
		}
		report, err := engine.Verify(t.Context(), name)
		if err != nil {
			t.Errorf("verify: %v", err)
		}
		w.redacted.Add(report.Redacted)
		w.truncated.Add(report.Truncated)
		ledger.WantErased(t, w.store, name, ledger.Viewers[1:]...)
	}
}

// checkLog compares the results that clients got with the log.
func (w *world) checkLog(t *testing.T) {
	times := map[uint64]int{} // each command is in the log
	engine := ledger.Open(w.store, stream.SystemClock(), stream.Options{AllowEqualTimestamps: w.ties()})
	for i := range simStreams {
		name := fmt.Sprintf("ledger/%d", i)
		fold, order := ledger.Rules().New(), newLinearization()
		for _, chunk := range w.log.chunks {
			if chunk.Stream != name {
				continue
			}
			if ids := stream.ErasedIDs(&chunk); len(ids) > 0 {
				order.add(logEntry{erased: ids})
			}
			for entry, err := range engine.Entries(&chunk) {
				if err != nil {
					t.Fatal(err)
				}
				times[entry.ID]++
				ledger.Rules().Apply(fold, chunk.At, entry)
				order.add(logEntry{post: entry})
			}
		}
		// Loading checks sequence, chain and times; a snapshot may shorten it.
		for _, query := range []ledger.Post{ledger.SumQuery, ledger.EntriesQuery} {
			want := ledger.Rules().Answer(fold, query, 0)
			if got, err := engine.View(t.Context(), name, query); got != want || err != nil {
				t.Errorf("%s: state is %d, %v, the fold of its log %d", name, got, err, want)
			}
		}
		order.wantLinearizable(t, slices.DeleteFunc(slices.Clone(w.history), func(op operation) bool { return op.in.stream != name }))
	}
	for _, op := range w.history {
		n := times[op.in.post.ID]
		switch out := op.out; {
		case op.in.erase:
		case op.in.read || out.refused || out.failed:
			if n != 0 {
				t.Errorf("command %d answered %+v is in the log %d times", op.in.post.ID, out, n)
			}
		case out.unknown && n > 1, out.repeated && n != 1, !out.unknown && n != 1:
			t.Errorf("command %d answered %+v is in the log %d times", op.in.post.ID, out, n)
		}
	}
}
