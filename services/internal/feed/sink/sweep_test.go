package sink

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/message"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// Where it takes long to look for what was not hinted at, that is done less often,
// so that the store is asked for no more than a tenth of the time. The start does not wait
// for such a store.
func TestLongSweepsAreFew(t *testing.T) {
	in(t, func(t *testing.T) {
		store, clock := storetest.NewMemory(), stream.SystemClock()
		votes := voting.NewService(store, clock, stream.Options{})
		messages := message.NewService(store, clock, stream.Options{})
		var listings atomic.Int64
		sinks := New(Options{
			Store: store, Reader: event.NewReader(event.Stores{Polls: votes, Documents: store, Messages: messages}),
			Notifier: &event.Notifier{}, Keys: store.Keys,
			Streams: func(ctx context.Context, prefix string) iter.Seq2[string, error] {
				listings.Add(1)
				_ = clock.Sleep(ctx, 5*time.Second) // ends with the test
				return store.Streams(ctx, prefix)
			},
			Tail:         event.LocalTail{Streams: store, Documents: store},
			Environments: []tenant.Environment{tenant.Production},
		})
		registry, err := tenant.Parse([]byte(webhooks))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		sinks.Start(ctx, func() *tenant.Registry { return registry })
		if took := time.Since(began); took != startWithin {
			t.Errorf("the start took %v", took)
		}
		go sinks.Run(ctx)
		<-time.After(10*time.Minute + 700*time.Millisecond - startWithin) // no listing begins just now
		before := listings.Load()
		<-time.After(1000 * time.Second)
		if n := listings.Load() - before; n < 18 || n > 20 {
			t.Errorf("%d listings of 5 s each in 1000 s, want one after each 50", n)
		}
		cancel()
		for _, closer := range []func(context.Context) error{sinks.Close, votes.Close, messages.Close} {
			if err := closer(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		}
	})
}

// A hint that comes while a source is read, and that the read covers, is no reason to
// read it again.
func TestHintsThatAReadCovers(t *testing.T) {
	in(t, func(t *testing.T) {
		to := &system{t: t}
		p := start(t, storetest.NewMemory(), webhooks, to, true)
		p.hinting = true
		pass(time.Minute)
		for n := range 3 {
			before := p.reads.Load()
			p.vote("p", n)
			pass(5 * time.Second)
			to.want(fmt.Sprint("vote_update:p ", n+1))
			if reads := p.reads.Load() - before; reads != 1 {
				t.Errorf("%d reads for one vote", reads)
			}
		}
	})
}
