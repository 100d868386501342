package purchase_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/store/mongostore"
	"github.com/acclaim-dev/acclaim/services/internal/testing/faultproxy"
	"github.com/acclaim-dev/acclaim/services/internal/testing/mongotest"
)

// hurriedly is added to the URI of a replica set: limits for the wait for an answer
// and for a primary, less than by default, in proportion.
const hurriedly = "&timeoutMS=500&serverSelectionTimeoutMS=200"

// openStore returns the store of a process.
func openStore(t *testing.T, uri string) *mongostore.Store {
	t.Helper()
	store, err := mongostore.Open(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return store
}

// newDatabaseMarket returns a market over a database that each process reaches at a URI of
// its own.
func newDatabaseMarket(t *testing.T, seed uint64, reliable string, uris []string, kills bool) *market {
	t.Helper()
	var stores []*mongostore.Store
	for _, uri := range uris {
		stores = append(stores, openStore(t, uri))
	}
	serve := func(store *mongostore.Store) *document.Service {
		return document.NewService(store, stream.SystemClock(), document.Options{})
	}
	return newMarket(t, seed, serve(openStore(t, mongotest.WithLongTimeouts(reliable))), func(place int) (*document.Service, func()) {
		documents := serve(stores[place])
		if !kills {
			return documents, nil
		}
		return documents, func() { // what it has under way may arrive late
			ended, cancel := context.WithCancel(context.Background())
			cancel()
			_ = documents.Close(ended)
		}
	})
}

// visit has everyone come, each buyer at two windows, and leave when all is closed.
func (m *market) visit() {
	var all sync.WaitGroup
	for _, visit := range m.visits(2) {
		all.Go(visit)
	}
	all.Wait()
}

// settle lets all that arrives late be too late, closes what is open then, and checks what is
// left. The processes have no faults any more.
func (m *market) settle() {
	m.Helper()
	m.joined.Store(int32(len(m.processes)))
	for _, user := range buyers {
		// A write of an account that is still under way expects a version before this one.
		m.record(user, user+" leaves", 1, m.any)
	}
	m.play(0)
	m.check()
	m.Logf("%d transactions, %d uncertain answers, %v orders acknowledged, %v unknown", len(m.seen), m.uncertain.Load(), m.bought, m.unknown)
}

// Coins are exact over a server that has no transactions, with several processes, buyers and
// games at once. Without faults no answer is uncertain.
func TestCoinsWithoutTransactions(t *testing.T) {
	t.Parallel()
	t.Run("races", func(t *testing.T) {
		t.Parallel()
		mongotest.RunSeeds(t, func(t *testing.T, seed uint64) {
			uri := mongotest.WithLongTimeouts(mongotest.Start(t))
			m := newDatabaseMarket(t, seed, uri, []string{uri, uri, uri}, false)
			m.joined.Store(3)
			m.visit()
			m.settle()
			if n := m.uncertain.Load(); n > 0 {
				t.Errorf("%d answers are uncertain", n)
			}
		})
	})
	t.Run("lost requests and answers", func(t *testing.T) {
		t.Parallel()
		mongotest.RunSeeds(t, func(t *testing.T, seed uint64) {
			uri := mongotest.Start(t)
			lossy := &lossyNetwork{}
			var uris []string
			for range 3 {
				proxy, through := mongotest.StartProxy(t, uri)
				lossy.proxies, uris = append(lossy.proxies, proxy), append(uris, mongotest.WithLongTimeouts(through))
			}
			m := newDatabaseMarket(t, seed, uri, uris, true)
			m.joined.Store(3)
			lossy.inject(lossy.lose)
			m.visit()
			lossy.inject(nil)
			m.settle()
			if n := lossy.writes.Load(); n < 10*loseEvery {
				t.Errorf("%d writes are too few to tell", n)
			}
		})
	})
}

// lossyNetwork loses some of what processes write, before or after the server does it.
type lossyNetwork struct {
	proxies []*faultproxy.Proxy
	writes  atomic.Int32
}

func (n *lossyNetwork) inject(plan faultproxy.Plan) {
	for _, proxy := range n.proxies {
		proxy.Inject(plan)
	}
}

// loseEvery is one more than the number of writes that arrive for each that is lost.
const loseEvery = 13

func (n *lossyNetwork) lose(command string) faultproxy.Action {
	if command != "insert" && command != "delete" {
		return faultproxy.Action{}
	}
	switch n.writes.Add(1) % (3 * loseEvery) {
	case 0:
		return faultproxy.Action{Fault: faultproxy.LoseRequest}
	case loseEvery, 2 * loseEvery:
		return faultproxy.Action{Fault: faultproxy.LoseReply}
	}
	return faultproxy.Action{}
}

// Coins are exact over a replica set while its members end, stand for election and roll back
// what no majority has, and while the accounts of the version before are taken over.
func TestCoinsOverElections(t *testing.T) {
	t.Parallel()
	mongotest.RunSeeds(t, func(t *testing.T, seed uint64) {
		set := mongotest.StartReplicaSet(t, 3, mongotest.ReplicaTiming{
			Heartbeat: 50 * time.Millisecond, ElectionTimeout: 250 * time.Millisecond, OneWay: quickly, Acknowledge: quickly,
		})
		var networks []*mongotest.ReplicaClient
		var uris []string
		for range 3 {
			networks = append(networks, set.NewClient())
			uris = append(uris, networks[len(uris)].URI()+hurriedly)
		}
		m := newDatabaseMarket(t, seed, set.URI(), uris, true)
		if seed%2 == 0 {
			m.stock()
		}
		visited := make(chan struct{})
		go func() {
			m.visit()
			close(visited)
		}()
		m.disturb(set, networks, rand.New(rand.NewPCG(seed, 3)), visited)
		m.settle()
		stats := set.Stats()
		t.Logf("%d elections, %d entries rolled back, write concern errors %v", stats.Elections, stats.RolledBack, stats.ConcernErrors)
		if stats.Elections < 3 {
			t.Errorf("%d elections are too few to tell", stats.Elections)
		}
	})
}

const quickly = 2 * time.Millisecond

// disturb injects faults one after the other, and heals each, until all have left. The
// processes learn meanwhile that no earlier version is alive.
func (m *market) disturb(set *mongotest.ReplicaSet, networks []*mongotest.ReplicaClient, rng *rand.Rand, visited <-chan struct{}) {
	first := rng.IntN(5)
	for n := 0; ; n++ {
		primary, network := max(set.Primary(), 0), networks[rng.IntN(len(networks))]
		other, third := (primary+1)%3, (primary+2)%3
		switch (n + first) % 5 {
		case 0: // no answer says what members have
			set.SetAcknowledge(time.Hour)
			<-time.After(30 * time.Millisecond)
			set.StepDown()
		case 1:
			set.Kill(primary)
		case 2: // a process stays on the side of the old primary
			set.Isolate(primary, true)
			network.CutOff(other, true)
			network.CutOff(third, true)
		case 3: // there is no majority, and yet a primary
			set.StopReplication(other, true)
			set.StopReplication(third, true)
		case 4:
			network.CutOff(primary, true)
		}
		<-time.After(time.Duration(300+rng.IntN(200)) * time.Millisecond)
		set.SetAcknowledge(quickly)
		set.Heal()
		for i := range 3 {
			network.CutOff(i, false)
		}
		if n > 0 && m.joined.Load() < int32(len(m.processes)) {
			m.joined.Add(1)
		}
		select {
		case <-visited:
			if n >= 4 {
				return
			}
		case <-time.After(time.Duration(50+rng.IntN(100)) * time.Millisecond):
		}
	}
}
