package admin_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/admin"
	"github.com/acclaim-dev/acclaim/services/message"
	"github.com/acclaim-dev/acclaim/services/ranking"
	"github.com/acclaim-dev/acclaim/services/roster"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// domains are the services over a store, and the same as administration sees them.
type domains struct {
	polls     *voting.Service
	buffers   *accumulation.Service
	questions *ranking.Service
	feeds     *message.Service
	viewers   *roster.Service
	table     admin.Domains
}

func newDomains(store stream.Store, clock stream.Clock, options stream.Options) *domains {
	d := &domains{
		polls:     voting.NewService(store, clock, options),
		buffers:   accumulation.NewService(store, clock, options),
		questions: ranking.NewService(store, clock, options),
		feeds:     message.NewService(store, clock, options),
		viewers:   roster.NewService(store, clock, options),
	}
	d.table = admin.Domains{
		voting.Kind:       admin.NewDomain(d.polls.Rewriting(), func(r tenant.Retention) time.Duration { return r.Logs }),
		accumulation.Kind: admin.NewDomain(d.buffers.Rewriting(), func(r tenant.Retention) time.Duration { return r.Buffers }),
		ranking.Kind:      admin.NewDomain(d.questions.Rewriting(), func(r tenant.Retention) time.Duration { return r.Rankings }),
		message.Kind:      admin.NewDomain(d.feeds.Rewriting(), func(tenant.Retention) time.Duration { return 24 * time.Hour }),
		roster.Kind:       admin.NewDomain(d.viewers.Rewriting(), func(r tenant.Retention) time.Duration { return r.Logs }),
	}
	return d
}

func (d *domains) close(ctx context.Context) error {
	var errs []error
	for _, service := range []stream.Runner{d.polls, d.buffers, d.questions, d.feeds, d.viewers} {
		errs = append(errs, service.Close(ctx))
	}
	return errors.Join(errs...)
}

// wholeStore is a store that engines use, too.
type wholeStore interface {
	stream.Store
	admin.Store
}

// verify verifies a whole store with engines that know nothing of it yet.
func verify(t *testing.T, store wholeStore) *admin.Verification {
	t.Helper()
	steps, last := 0, 0
	fresh := newDomains(store, stream.SystemClock(), stream.Options{})
	v, err := admin.Verify(t.Context(), store, fresh.table, func(of int) { steps, last = steps+1, of }, "")
	if err != nil {
		t.Fatal(err)
	}
	if steps != last {
		t.Errorf("%d steps of %d were reported", steps, last)
	}
	if err := fresh.close(t.Context()); err != nil {
		t.Error(err)
	}
	return v
}
