package live

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// slowClock shows the time of a machine that is two seconds behind.
type slowClock struct{ stream.Clock }

func (slowClock) Now() time.Time { return time.Now().Add(-2 * time.Second) }

// ownSlowly has a process own its polls with a clock that is behind.
func (p *process) ownSlowly(store stream.Store) {
	votes := p.votes
	p.votes = voting.NewService(store, slowClock{stream.SystemClock()}, stream.Options{Exclusive: true, Applied: p.notifier.Notify})
	p.t.Cleanup(func() { _ = votes.Close(context.WithoutCancel(p.t.Context())) })
}

// The last update of a poll comes when its owner takes no vote any more, and counts the votes
// that came after the end by the clock of this process. Until then the poll is active, and votes
// just before the end put it off by nothing.
func TestLastUpdateComesWhenTheLogSaysSo(t *testing.T) {
	in(t, func(t *testing.T) {
		store := storetest.NewMemory()
		p := start(t, store, true)
		p.ownSlowly(store)
		e := p.subscribe(subscription())
		ends := time.Now().Add(time.Minute)
		p.end("p", ends.Unix())
		pass(time.Until(ends))
		e.want("broadcast poll_update:p active")
		pass(990 * time.Millisecond)
		p.vote("p", "U1") // before the moment of the next refresh, which else may or may not have it
		pass(10 * time.Millisecond)
		e.want("broadcast vote_update:p 1 votes")
		pass(900 * time.Millisecond)
		p.vote("p", "U2")
		e.want()
		pass(99 * time.Millisecond)
		late := p.subscribe(subscription()) // after the end, and yet before the last vote
		pass(time.Millisecond)
		for name, c := range map[string]*client{"from the beginning": e, "late": late} {
			if got, want := c.received(), []string{"broadcast poll_update:p expired", "broadcast vote_update:p 2 votes"}; !slices.Equal(got, want) {
				t.Errorf("%s: received %q, want %q", name, got, want)
			}
		}
		pass(time.Minute)
		e.want()
		p.subscribe(subscription()).want()
	})
}
