package peer_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/cluster/peer"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/simnet"
)

// watchWorld has members in a simulated network.
type watchWorld struct {
	t        *testing.T
	registry *registry
	network  *simnet.Network
}

// watchedMember is one of them.
type watchedMember struct {
	*peer.Node
	host *simnet.Host
	stop func() // ends it, without leaving the membership
}

func inWatchWorld(t *testing.T, do func(w *watchWorld)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		do(&watchWorld{t, newRegistry(), simnet.New(rand.New(rand.NewPCG(1, 1)), simnet.LinkFaults{Delay: time.Millisecond})})
	})
}

func (w *watchWorld) start(ip string) *watchedMember { return w.startIn(w.registry, ip) }

func (w *watchWorld) startIn(membership peer.Membership, ip string) *watchedMember {
	w.t.Helper()
	host := w.network.Host(ip)
	listener, err := host.Listen(w.t.Context(), "tcp", ip+":82")
	if err != nil {
		w.t.Fatal(err)
	}
	n, err := peer.New(peer.Config{Registry: membership, Listener: listener, Dial: host.Dial, Advertise: ip + ":82", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := n.Join(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Errorf("run: %v", err)
		}
	})
	w.t.Cleanup(stop)
	return &watchedMember{n, host, stop}
}

// watcher is a call of Watch.
type watcher struct {
	t *testing.T

	mu       sync.Mutex
	received map[string]uint64
	said     []string // by watching
}

func (w *watchWorld) watch(m *watchedMember) *watcher {
	h := &watcher{t: w.t, received: map[string]uint64{}}
	ctx, cancel := context.WithCancel(w.t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = m.Watch(ctx, h.notify, h.watching) }) // ends with ctx only
	w.t.Cleanup(func() { cancel(); running.Wait() })
	return h
}

func (h *watcher) notify(name string, place uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.received[name] = max(h.received[name], place)
}

func (h *watcher) watching(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		h.said = append(h.said, "incomplete")
		return
	}
	h.said = append(h.said, "complete")
}

// want expects what was said, and the places that were received, since the last call.
func (h *watcher) want(after time.Duration, received map[string]uint64, said ...string) {
	h.t.Helper()
	<-time.After(after)
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !maps.Equal(h.received, received) || !slices.Equal(h.said, said) {
		h.t.Errorf("received %v and %q, want %v and %q", h.received, h.said, received, said)
	}
	clear(h.received)
	h.said = nil
}

const soon = 100 * time.Millisecond

// A member learns at once what others write, the newest of each name, and again what they wrote
// while they could not be reached.
func TestWatchMembers(t *testing.T) {
	inWatchWorld(t, func(w *watchWorld) {
		a, b := w.start("10.0.0.1"), w.start("10.0.0.2")
		h := w.watch(a)
		h.want(3*time.Second, nil, "complete")
		b.RecordWrite("poll", 1)
		h.want(soon, map[string]uint64{"poll": 1})
		for n := range uint64(100) {
			b.RecordWrite("poll", n+2)
			b.RecordWrite("other", n+1)
		}
		h.want(soon, map[string]uint64{"poll": 101, "other": 100})
		h.want(time.Minute, nil)

		w.network.SetLink(a.host, b.host, simnet.LinkFaults{Cut: true})
		w.network.SetLink(b.host, a.host, simnet.LinkFaults{Cut: true})
		h.want(3*time.Second, nil, "incomplete")
		b.RecordWrite("poll", 102)
		w.network.Heal()
		h.want(5*time.Second, map[string]uint64{"poll": 102}, "complete")
	})
}

// What a member writes before the others know it is received, too.
func TestWatchNewMember(t *testing.T) {
	inWatchWorld(t, func(w *watchWorld) {
		h := w.watch(w.start("10.0.0.1"))
		h.want(3*time.Second, nil, "complete")
		w.start("10.0.0.2").RecordWrite("poll", 1)
		h.want(3*time.Second, map[string]uint64{"poll": 1}, "incomplete", "complete")
	})
}

// A member that ends may have written what it did not report. A watcher knows that it may have
// missed that, until a while has passed.
func TestWatchMemberThatEnds(t *testing.T) {
	inWatchWorld(t, func(w *watchWorld) {
		a, b := w.start("10.0.0.1"), w.start("10.0.0.2")
		h := w.watch(a)
		h.want(3*time.Second, nil, "complete")
		b.stop()
		h.want(time.Minute, nil, "incomplete")
		h.want(time.Minute, nil, "complete")

		c := w.start("10.0.0.3")
		h.want(3*time.Second, nil, "incomplete", "complete")
		if err := c.Leave(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
		h.want(20*time.Second, nil, "incomplete")
		h.want(20*time.Second, nil, "complete")
	})
}

// More writes than a member keeps are reported as missed.
func TestWatchForgottenWrites(t *testing.T) {
	inWatchWorld(t, func(w *watchWorld) {
		a, b := w.start("10.0.0.1"), w.start("10.0.0.2")
		h := w.watch(a)
		h.want(3*time.Second, nil, "complete")
		b.RecordWrite("poll0", 1)
		synctest.Wait() // its answer is under way, so that the next one is of all that follow
		for n := range uint64(20_000) {
			b.RecordWrite(fmt.Sprint("poll", n%10), n/10+1)
		}
		<-time.After(soon)
		h.mu.Lock()
		if len(h.received) != 10 || h.received["poll9"] != 2000 || !slices.Equal(h.said, []string{"complete"}) {
			w.t.Errorf("received %v, %q", h.received, h.said)
		}
		h.mu.Unlock()
	})
}

// earlierRelease is a membership whose other members are of an earlier release.
type earlierRelease struct {
	*registry
	own string // address
}

func (r earlierRelease) Members(ctx context.Context) ([]peer.Member, error) {
	members, err := r.registry.Members(ctx)
	for i, m := range members {
		if m.Address != r.own {
			members[i].Level = stream.LevelWritten - 1
		}
	}
	return members, err
}

// A member of an earlier release is not asked, so what is received is never complete.
func TestWatchEarlierRelease(t *testing.T) {
	inWatchWorld(t, func(w *watchWorld) {
		b := w.start("10.0.0.2")
		h := w.watch(w.startIn(earlierRelease{w.registry, "10.0.0.1:82"}, "10.0.0.1"))
		b.RecordWrite("poll", 1)
		h.want(time.Minute, nil)
	})
}
