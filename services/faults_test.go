package main

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/testing/faultproxy"
	"github.com/acclaim-dev/acclaim/services/internal/testing/mongotest"
)

// Programs stay exact while their connections to the database lose requests and
// answers, and deliver them twice, late and in fragments.
func TestFaultyNetwork(t *testing.T) {
	t.Parallel()
	const size = 2
	uri := mongotest.WithLongTimeouts(mongotest.Start(t))
	var uris []string
	var networks []*network
	for i := range size {
		proxy, through := mongotest.StartProxy(t, uri)
		n := &network{proxy: proxy, rng: rand.New(rand.NewPCG(uint64(i), 11)), seen: map[faultproxy.Fault]int{}}
		uris, networks = append(uris, through), append(networks, n)
	}
	w := newWorkload(startFleet(t, uris, size))
	w.run(t, 12, func() {
		for _, n := range networks {
			n.proxy.Inject(n.plan)
		}
		w.done.await(t, 1500)
		for _, n := range networks {
			n.proxy.Inject(nil)
		}
		w.done.await(t, 100)
	})
	w.check(t)
	for i, n := range networks {
		t.Logf("program %d: commands by fault: %v", i, n.seen)
		for _, fault := range []faultproxy.Fault{faultproxy.LoseRequest, faultproxy.LoseReply, faultproxy.Repeat, faultproxy.Drip} {
			if n.seen[fault] == 0 {
				t.Errorf("program %d: no command met fault %d", i, fault)
			}
		}
	}
}

// network is an unreliable connection to a database.
type network struct {
	proxy *faultproxy.Proxy

	mu   sync.Mutex
	rng  *rand.Rand
	seen map[faultproxy.Fault]int
}

// plan draws a fault. Broken connections are rarer than the rest, because the driver
// pauses after one. Only inserts are sent twice: a driver retries no other command
// that a server would execute twice.
func (n *network) plan(command string) faultproxy.Action {
	n.mu.Lock()
	defer n.mu.Unlock()
	action := faultproxy.Action{Delay: time.Duration(n.rng.Int64N(int64(4 * time.Millisecond)))}
	switch draw := n.rng.IntN(1000); {
	case command == "" || command == "hello" || command == "isMaster":
	case draw < 6:
		action.Fault = faultproxy.LoseRequest
	case draw < 12:
		action.Fault = faultproxy.LoseReply
	case draw < 100 && command == "insert":
		action.Fault = faultproxy.Repeat
	case draw < 130:
		action.Fault = faultproxy.Drip
	}
	n.seen[action.Fault]++
	return action
}
