package stream_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/store/mongostore"
	"github.com/acclaim-dev/acclaim/services/internal/testing/ledger"
	"github.com/acclaim-dev/acclaim/services/internal/testing/mongotest"
)

// Limits for the wait of a store for an answer and for a primary: less than by default, in
// proportion.
const (
	operationTimeout = 500 * time.Millisecond
	selectionTimeout = 200 * time.Millisecond
)

// openReplicaSet returns an engine over a store on a replica set.
func openReplicaSet(t *testing.T, uri string) *ledger.Engine {
	t.Helper()
	store, err := mongostore.Open(t.Context(), fmt.Sprintf("%s&timeoutMS=%d&serverSelectionTimeoutMS=%d",
		uri, operationTimeout.Milliseconds(), selectionTimeout.Milliseconds()))
	if err != nil {
		t.Fatal(err)
	}
	engine := newEngine(store, stream.Options{})
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := engine.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := store.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return engine
}

// A command whose append no majority confirms, through the end of its primary and the
// begin of the next, is counted once. The second attempt meets the first one's chunk on
// the old primary and cannot wait for a majority; the third meets it on the new primary,
// which has the chunk and has not committed it.
func TestCommandIsCountedOnceOverAnElection(t *testing.T) {
	t.Parallel()
	set := mongotest.StartReplicaSet(t, 3, mongotest.ReplicaTiming{
		Heartbeat: time.Second, OneWay: 2 * time.Millisecond, Acknowledge: 2 * time.Millisecond,
	})
	engine := openReplicaSet(t, set.URI())
	if got, err := engine.Do(t.Context(), testStream, ledger.Post{ID: 1, Amount: 20}); got != 20 || err != nil {
		t.Fatalf("before: %d, %v", got, err)
	}
	set.SetAcknowledge(time.Hour) // members have all, and the primary does not know
	answered := make(chan error, 1)
	var got int64
	go func() {
		var err error
		got, err = engine.Do(t.Context(), testStream, ledger.Post{ID: 2, Amount: 5})
		answered <- err
	}()
	set.Await(func(s mongotest.ReplicaStats) bool { return s.Commands["insert"] == 3 })
	set.Resign()
	set.Await(func(s mongotest.ReplicaStats) bool { return s.ConcernErrors[189] > 0 })
	<-time.After(3 * selectionTimeout / 2) // the driver waits for a primary no longer
	if !set.Elect(1) {
		t.Fatalf("no election:\n%s", set)
	}
	set.Await(func(s mongotest.ReplicaStats) bool { return s.Commands["insert"] > 3 })
	set.SetAcknowledge(2 * time.Millisecond)
	if err := <-answered; got != 25 || err != nil {
		t.Errorf("answered %d, %v; want 25", got, err)
	}
	entries, err := engine.View(t.Context(), testStream, ledger.EntriesQuery)
	if total := sum(t, engine); total != 25 || entries != 2 || err != nil {
		t.Errorf("the sum is %d of %d entries, %v; want 25 of 2", total, entries, err)
	}
	if stats := set.Stats(); stats.DuplicatesUnconfirmed == 0 {
		t.Errorf("no answer had a duplicate key and a write concern error: %+v", stats)
	}
}

// Engines of three processes append and read over a replica set whose members are killed,
// paused, cut off, stepped down and late. The results that their callers saw are
// linearizable in the order of the log.
func TestHistoryOverElections(t *testing.T) {
	t.Parallel()
	mongotest.RunSeeds(t, testHistoryOverElections)
}

func testHistoryOverElections(t *testing.T, seed uint64) {
	const processes, clients, faults = 3, 3, 50
	began := time.Now()
	set := mongotest.StartReplicaSet(t, 3, mongotest.ReplicaTiming{
		Heartbeat: 50 * time.Millisecond, ElectionTimeout: 250 * time.Millisecond, OneWay: 4 * time.Millisecond, Acknowledge: 4 * time.Millisecond,
	})
	w := &world{seed: seed}
	var networks []*mongotest.ReplicaClient
	var engines []*ledger.Engine
	for range processes {
		networks = append(networks, set.NewClient())
		engines = append(engines, openReplicaSet(t, networks[len(networks)-1].URI()))
	}
	done := make(chan struct{})
	var callers sync.WaitGroup
	for id := range uint64(processes * clients) {
		callers.Go(func() {
			rng := w.rng(id)
			for n := uint64(0); ; n++ {
				select {
				case <-done:
					return
				case <-time.After(time.Duration(rng.Int64N(int64(10 * time.Millisecond)))):
				}
				in := ledgerInput{
					stream: fmt.Sprintf("ledger/%d", rng.IntN(simStreams)), read: rng.IntN(3) == 0,
					post: ledger.Post{ID: id<<32 | n, Amount: rng.Int64N(4), Who: ledger.Viewers[rng.IntN(len(ledger.Viewers))]},
				}
				w.record(t.Context(), in, engines[id%processes], rng)
			}
		})
	}
	disturbReplicaSet(set, networks, w.rng(1<<32), faults)
	close(done)
	callers.Wait()

	order := map[string]*linearization{}
	for i := range simStreams {
		name := fmt.Sprintf("ledger/%d", i)
		order[name] = newLinearization()
		for chunk, err := range engines[0].Chunks(t.Context(), name, 0) {
			if err != nil {
				t.Fatal(err)
			}
			for entry, err := range engines[0].Entries(&chunk) {
				if err != nil {
					t.Fatal(err)
				}
				order[name].add(logEntry{post: entry})
			}
		}
	}
	stored, unknown := 0, 0
	for name, l := range order {
		l.wantLinearizable(t, slices.DeleteFunc(slices.Clone(w.history), func(op operation) bool { return op.in.stream != name }))
		if len(l.places) != len(l.entries)-1 {
			t.Errorf("%d commands are %d entries of %s", len(l.places), len(l.entries)-1, name)
		}
		stored += len(l.places)
	}
	for _, op := range w.history {
		_, there := order[op.in.stream].places[op.in.post.ID]
		switch {
		case op.out.unknown:
			unknown++
		case there != (!op.in.read && !op.out.refused && !op.out.failed):
			t.Errorf("%+v answered %+v is in the log: %t", op.in, op.out, there)
		}
	}
	stats := set.Stats()
	t.Logf("3 members, %d processes, %d faults in %.0f s: %d operations, %d entries, %d unknown; %+v",
		processes, faults, time.Since(began).Seconds(), len(w.history), stored, unknown, stats)
	if stats.Elections < faults/3 || stored < 100 {
		t.Errorf("%d elections and %d entries are too few to tell", stats.Elections, stored)
	}
}

// disturbReplicaSet injects faults one after the other, and heals each.
func disturbReplicaSet(set *mongotest.ReplicaSet, networks []*mongotest.ReplicaClient, rng *rand.Rand, faults int) {
	last := set.Timing.ElectionTimeout
	for range faults {
		primary := max(set.Primary(), 0)
		network := networks[rng.IntN(len(networks))]
		switch rng.IntN(8) {
		case 0:
			set.Kill(primary)
		case 1:
			set.Pause(primary, true)
		case 2:
			set.Isolate(primary, true)
		case 3: // one process stays on the side of the old primary
			set.Isolate(primary, true)
			network.CutOff((primary+1)%3, true)
			network.CutOff((primary+2)%3, true)
		case 4:
			set.StepDown()
		case 5: // no majority, and yet a primary
			set.StopReplication((primary+1)%3, true)
			set.StopReplication((primary+2)%3, true)
		case 6: // nor does the next primary know for a while what is committed
			set.SetAcknowledge(time.Hour)
			<-time.After(operationTimeout + selectionTimeout)
			set.Resign()
			<-time.After(3 * selectionTimeout / 2)
			set.Elect((primary + 1) % 3)
		case 7: // the next primary waits for the member that lags
			set.StopReplication((primary+2)%3, true)
			<-time.After(last)
			set.Kill(primary)
			set.Elect((primary + 1) % 3)
		}
		<-time.After(last + time.Duration(rng.Int64N(int64(2*last))))
		set.SetAcknowledge(4 * time.Millisecond)
		set.Heal()
		for i := range 3 {
			network.CutOff(i, false)
		}
		<-time.After(time.Duration(rng.Int64N(int64(last))))
	}
}
