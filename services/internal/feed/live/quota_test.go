package live

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

func subscriptionOf(extension, identity string, topics ...string) Subscription {
	s := subscription(topics...)
	s.Extension, s.Identity = extension, identity
	return s
}

func (p *process) heldSubscribers() int64 { return p.broker.quotas.subscribers.Stats().Used }
func (p *process) heldSources() int64     { return p.broker.quotas.sources.Stats().Used }

// A viewer has 8 subscribers, an extension three quarters of all, the sandbox an eighth.
func TestTooManySubscribers(t *testing.T) {
	in(t, func(t *testing.T) {
		p := start(t, storetest.NewMemory(), true, func(o *Options, _ *tuning) { o.Quotas = Quotas{Subscribers: 16, Minor: "sandbox"} })
		refuse := func(s Subscription, want fault.Kind) {
			t.Helper()
			if _, err := p.broker.Subscribe(t.Context(), s); fault.KindOf(err) != want || err == nil {
				t.Errorf("a subscriber of %s in %s: %v", s.Identity, s.Extension, err)
			}
		}
		first := p.subscribe(subscriptionOf("a", "U1"))
		for range contract.MaxViewerSubscribers - 1 {
			p.subscribe(subscriptionOf("a", "U1"))
		}
		refuse(subscriptionOf("a", "U1"), fault.RateLimited)
		for i := range 12 - contract.MaxViewerSubscribers {
			p.subscribe(subscriptionOf("a", fmt.Sprint("V", i)))
		}
		refuse(subscriptionOf("a", "W"), fault.RateLimited)
		refuse(subscriptionOf("a", ""), fault.RateLimited)
		boxed := subscriptionOf("a", "U1")
		boxed.Environment = "sandbox"
		p.subscribe(boxed)
		p.subscribe(boxed)
		refuse(boxed, fault.RateLimited)
		p.subscribe(subscriptionOf("b", ""))
		p.subscribe(subscriptionOf("b", ""))
		refuse(subscriptionOf("b", ""), fault.Unavailable)
		first.Close()
		p.subscribe(subscriptionOf("a", "U1"))
		if got := p.broker.Stats(); p.heldSubscribers() != 16 || got.Subscribers != 16 {
			t.Errorf("%+v", got)
		}
	})
}

// Subscribers with a connection of their own are fewer than all: an extension has three quarters of
// them, the sandbox an eighth. Those on shared connections do not count.
func TestTooManyConnectionsOfSubscribers(t *testing.T) {
	in(t, func(t *testing.T) {
		p := start(t, storetest.NewMemory(), true, func(o *Options, _ *tuning) {
			o.Quotas = Quotas{Subscribers: 800, Connections: 8, Minor: "sandbox"}
		})
		alone := func(environment, extension string) Subscription {
			s := subscriptionOf(extension, "")
			s.Environment, s.OwnConnection = environment, true
			return s
		}
		refuse := func(s Subscription, want fault.Kind) {
			t.Helper()
			if _, err := p.broker.Subscribe(t.Context(), s); fault.KindOf(err) != want || err == nil {
				t.Errorf("a subscriber of %s in %s: %v", s.Extension, s.Environment, err)
			}
		}
		first := p.subscribe(alone("production", "a"))
		for range 5 {
			p.subscribe(alone("production", "a"))
		}
		refuse(alone("production", "a"), fault.RateLimited)
		p.subscribe(alone("sandbox", "a"))
		refuse(alone("sandbox", "b"), fault.RateLimited)
		p.subscribe(alone("production", "b"))
		refuse(alone("production", "b"), fault.Unavailable)
		for range 100 {
			p.subscribe(subscriptionOf("a", ""))
		}
		first.Close()
		p.subscribe(alone("production", "a"))
		if held := p.broker.quotas.connections.Stats().Used; held != 8 || p.heldSubscribers() != 108 {
			t.Errorf("%d connections and %d subscribers are held", held, p.heldSubscribers())
		}
	})
}

// The games of a channel have an eighth of the subscribers and a rate of new sources, whatever
// their number.
func TestSubscriptionsOfGames(t *testing.T) {
	in(t, func(t *testing.T) {
		p := start(t, storetest.NewMemory(), true, func(o *Options, _ *tuning) { o.Quotas = Quotas{Subscribers: 1600} })
		var all []*Subscriber
		defer func() {
			for _, s := range all {
				s.Close()
			}
		}()
		game := func(channel, topic string) error {
			s := subscriptionOf("a", "", topic)
			s.Channel, s.Games, s.ChannelShare = channel, true, true
			subscriber, err := p.broker.Subscribe(t.Context(), s)
			if err == nil {
				all = append(all, subscriber)
			}
			return err
		}
		for range 200 {
			if err := game("1", "vote_update:p"); err != nil {
				t.Fatal(err)
			}
		}
		if err := game("1", "vote_update:p"); fault.KindOf(err) != fault.RateLimited {
			t.Errorf("subscriber 201 of the games of a channel: %v", err)
		}
		if err := game("2", "vote_update:p"); err != nil {
			t.Errorf("a game of another channel: %v", err)
		}
		p.subscribe(subscriptionOf("a", "U1"))
	})
}

// A client that names other topics each time it connects leaves a bounded number of
// sources, and none in the end. Others are not affected.
func TestSourcesOfOneIdentity(t *testing.T) {
	in(t, func(t *testing.T) {
		p := start(t, storetest.NewMemory(), true)
		most, refused := 0, 0
		for round := range 300 {
			var topics []string
			for i := range contract.MaxTopics {
				topics = append(topics, fmt.Sprintf("vote_update:x%d-%d", round, i))
			}
			if s, err := p.broker.Subscribe(t.Context(), subscriptionOf("a", "U1", topics...)); err == nil {
				s.Close()
			} else if refused++; fault.KindOf(err) != fault.RateLimited {
				t.Fatal(err)
			}
			most = max(most, p.broker.Stats().Sources)
			pass(100 * time.Millisecond)
		}
		if refused == 0 || most > identitySources+30*identitySourcesPerSecond {
			t.Errorf("at most %d sources, %d refused", most, refused)
		}
		p.subscribe(subscriptionOf("a", "U2")).Close()
		pass(time.Minute)
		if got := p.broker.Stats(); got.Sources != 0 || p.heldSources() != 0 || p.heldSubscribers() != 0 {
			t.Errorf("a minute later: %+v", got)
		}
	})
}

func TestSourcesOfOneExtension(t *testing.T) {
	in(t, func(t *testing.T) {
		p := start(t, storetest.NewMemory(), true, func(o *Options, _ *tuning) { o.Quotas = Quotas{Sources: 4} })
		p.subscribe(subscriptionOf("a", "", "vote_update:1", "vote_update:2", "vote_update:3"))
		p.subscribe(subscriptionOf("a", "", "vote_update:1", "vote_update:2")) // they exist
		if _, err := p.broker.Subscribe(t.Context(), subscriptionOf("a", "", "vote_update:4")); fault.KindOf(err) != fault.RateLimited {
			t.Errorf("a fourth source: %v", err)
		}
		p.subscribe(subscriptionOf("b", "", "vote_update:1"))
		if _, err := p.broker.Subscribe(t.Context(), subscriptionOf("b", "", "vote_update:2")); fault.KindOf(err) != fault.Unavailable {
			t.Errorf("a fifth source: %v", err)
		}
	})
}

// However subscriptions end, nothing of the quotas stays in use.
func TestSubscriptionsReturnTheirQuota(t *testing.T) {
	in(t, func(t *testing.T) {
		p := start(t, storetest.NewMemory(), true, func(o *Options, _ *tuning) { o.Quotas = Quotas{Subscribers: 10, Sources: 20} })
		var all sync.WaitGroup
		for worker := range 8 {
			all.Go(func() {
				random := rand.New(rand.NewPCG(uint64(worker), 1))
				var held []*Subscriber
				for range 200 {
					topics := []string{fmt.Sprint("vote_update:", random.IntN(30)), []string{"*", "goal", "a*b"}[random.IntN(3)]}
					s, err := p.broker.Subscribe(t.Context(), subscriptionOf([]string{"a", "b"}[random.IntN(2)], []string{"", "U1", "U2"}[random.IntN(3)], topics...))
					if err == nil {
						held = append(held, s)
					}
					if len(held) > 0 && random.IntN(2) == 0 {
						held[0].Close()
						held = held[1:]
					}
					if p.heldSubscribers() > 10 || p.heldSources() > 20 {
						t.Errorf("%d subscribers, %d sources", p.heldSubscribers(), p.heldSources())
					}
				}
				for _, s := range held {
					s.Close()
				}
			})
		}
		all.Wait()
		pass(time.Minute)
		synctest.Wait()
		if got := p.broker.Stats(); p.heldSubscribers() != 0 || p.heldSources() != 0 || got.Sources != 0 {
			t.Errorf("%+v", got)
		}
	})
}
