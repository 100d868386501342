package sink

import (
	"context"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// slowClock shows the time of a machine that is two seconds behind.
type slowClock struct{ stream.Clock }

func (slowClock) Now() time.Time { return time.Now().Add(-2 * time.Second) }

// The last update of a poll comes when its owner takes no vote any more, and counts the votes
// that came after the end by the clock of this process.
func TestLastUpdateComesWhenTheLogSaysSo(t *testing.T) {
	for name, registry := range map[string]string{"webhook": webhooks, "pub/sub": platform} {
		in(t, func(t *testing.T) {
			store, to := storetest.NewMemory(), &system{t: t}
			p := start(t, store, registry, to, true)
			votes := p.votes
			p.votes = voting.NewService(store, slowClock{stream.SystemClock()}, stream.Options{Exclusive: true, Applied: p.notifier.Notify})
			t.Cleanup(func() { _ = votes.Close(context.WithoutCancel(t.Context())) })
			ends := time.Now().Add(time.Minute)
			p.end("p", ends.Unix())
			pass(time.Until(ends) + time.Second)
			to.want("poll_update:p")
			p.vote("p", 1)
			pass(500 * time.Millisecond)
			p.vote("p", 2)
			pass(499 * time.Millisecond)
			to.want("vote_update:p 1")
			pass(501 * time.Millisecond)
			t.Log(name)
			to.want("poll_update:p", "vote_update:p 2")
			pass(10 * time.Minute)
			to.want()
		})
	}
}
