package sink

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/testing/sinktest"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/message"
	"github.com/acclaim-dev/acclaim/services/state"
)

const bothSinks = `
extensions:
- clientID: ext
  ownerUserID: "1000"
  secrets: [{value: b25lLWtleS1vZi1tb3JlLXRoYW4tMzItYnl0ZXMtMDEyMzQ1Ng==}]
  sinks:
  - {name: hook, webhook: {url: %q, secrets: [{value: aG9vay1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}}
  - {name: viewers, pubsub: {url: %q}}
`

// hasty is a tuning with which faults do not last.
func hasty() tuning {
	t := defaultTuning(true)
	t.leaseFor, t.every, t.sweepEvery = 3*time.Second, time.Millisecond, 50*time.Millisecond
	t.retryAfter, t.timeout = 5*time.Millisecond, 2*time.Second
	return t
}

// begin starts a process whose sinks lead to a real server, and waits until they are
// initialized.
func begin(t *testing.T, store *storetest.Memory, to *sinktest.Server, life string, alone bool, tuned tuning) *process {
	t.Helper()
	p := boot(t, store, fmt.Sprintf(bothSinks, to.HookURL(life), to.PubSubURL(life)), alone, tuned)
	for voter := 0; ; voter++ {
		p.vote("first", voter)
		tried := map[string]bool{}
		for _, r := range to.TriedRequests() {
			tried[r.Path] = tried[r.Path] || r.Life == life
		}
		if tried["/hook"] && tried["/pubsub"] {
			return p
		}
	}
}

func ofServer(mood func(sinktest.Request) sinktest.ServerMood) sinktest.Options {
	return sinktest.Options{Prefix: "production:ext:", Secret: "hook-key-of-more-than-32-bytes-0123456", Key: "one-key-of-more-than-32-bytes-0123456", Mood: mood}
}

var anyMood = []sinktest.ServerMood{
	sinktest.Errs, sinktest.Busy, sinktest.Limits, sinktest.LimitsByDate, sinktest.Hangs, sinktest.ResetsUnread,
	sinktest.ResetsRead, sinktest.DripsHeader, sinktest.DripsBody, sinktest.Babbles, sinktest.Well, sinktest.Well,
}

// Over real connections, whatever the other system does to them and whichever
// processes are killed meanwhile: every request is signed and within the rate limit,
// no older value follows a newer one, every message is received, and the last event
// of a poll or a document has the value that a read returns.
func TestFaultsOfARealServer(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var calm atomic.Bool
			random := rand.New(rand.NewPCG(seed, 3))
			felt := map[sinktest.ServerMood]bool{}
			to := sinktest.Start(t, ofServer(func(sinktest.Request) sinktest.ServerMood {
				if calm.Load() {
					return sinktest.Well
				}
				mu.Lock()
				defer mu.Unlock()
				m := anyMood[random.IntN(len(anyMood))]
				felt[m] = true
				return m
			}))
			store := storetest.NewMemory()
			w := &written{}
			for life := range 4 {
				p := begin(t, store, to, fmt.Sprint(life), seed > 0, hasty())
				before := len(to.TriedRequests())
				for range 30 {
					w.write(p)
				}
				// It is killed in the middle, by an amount of progress.
				to.Await(func(_ map[string][]sinktest.Event, tried []sinktest.Request) bool { return len(tried) >= before+20 })
				p.kill()
			}
			calm.Store(true)
			p := begin(t, store, to, "last", seed > 0, hasty())
			w.write(p)
			w.await(p, to)
			if len(felt) < 8 {
				t.Errorf("moods %v only", felt)
			}
		})
	}
}

// written counts writes.
type written struct{ ticks, votes int }

func (w *written) write(p *process) {
	w.votes++
	p.vote(fmt.Sprint("p", w.votes%5), w.votes)
	p.publish("", "tick", fmt.Sprint(w.ticks))
	w.ticks++
	p.write(state.Channel, fmt.Sprintf(`{"n":%d}`, w.votes))
}

// await waits until both sinks know everything, and checks that they received every
// message in order.
func (w *written) await(p *process, to *sinktest.Server) {
	p.t.Helper()
	want := map[string]string{
		"channel_state_update": fmt.Sprintf(`{"n":%d}`, w.votes),
		"tick":                 fmt.Sprint(w.ticks - 1),
	}
	for n := range 5 {
		now, err := p.votes.Overview(p.t.Context(), pollOf(fmt.Sprint("p", n)))
		if err != nil {
			p.t.Fatal(err)
		}
		want[fmt.Sprint("vote_update:p", n)] = fmt.Sprintf(`{"id":"p%d","stats":%s,"status":"active"}`, n, now.AppendJSON(nil, nil))
	}
	knows := func(events []sinktest.Event) bool {
		last := sinktest.Last(events)
		for name, value := range want {
			if last[name] != value {
				return false
			}
		}
		return true
	}
	to.Await(func(taken map[string][]sinktest.Event, _ []sinktest.Request) bool {
		if !knows(taken["/hook"]) || !knows(taken["/pubsub"]) {
			return false
		}
		for path, events := range taken {
			if next := inTurn(events, "tick"); next != w.ticks {
				p.t.Errorf("%s: message %d does not come in its order, or not at all", path, next)
			}
		}
		return true
	})
}

// inTurn returns how many messages of a name came, each for the first time after the
// one before it.
func inTurn(events []sinktest.Event, name string) (next int) {
	for _, e := range events {
		if e.Name == name && string(e.Data) == fmt.Sprint(next) {
			next++
		}
	}
	return next
}

// An event that fails for too long is dropped and counted, and the next one follows;
// one that the other system refuses is dropped at once.
func TestDropOnARealServer(t *testing.T) {
	t.Parallel()
	for name, mood := range map[string]sinktest.ServerMood{
		"tried in vain": sinktest.Errs, "hangs": sinktest.Hangs, "reset": sinktest.ResetsRead, "gone": sinktest.Refuses,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := sinktest.Start(t, ofServer(func(r sinktest.Request) sinktest.ServerMood {
				if slices.ContainsFunc(r.Events, func(e sinktest.Event) bool { return e.Name == "bad" }) {
					return mood
				}
				return sinktest.Well
			}))
			tuned := hasty()
			tuned.dropAfter = 200 * time.Millisecond
			p := begin(t, storetest.NewMemory(), to, "", true, tuned)
			// As older versions did: a message to one viewer among those of the channel.
			bad := message.Message{To: "U1", Name: "bad", Data: []byte("0")}
			if err := p.messages.Publish(t.Context(), message.Feed{Environment: "production", Extension: "ext", Channel: "1"}, bad); err != nil {
				t.Fatal(err)
			}
			p.publish("", "good", "1")
			to.Await(func(taken map[string][]sinktest.Event, _ []sinktest.Request) bool {
				return has(taken["/hook"], "good") && has(taken["/pubsub"], "good")
			})
			if got := p.sinks.Stats(); got.Dropped != 2 {
				t.Errorf("%d events were dropped, want 2", got.Dropped)
			}
		})
	}
}

func has(events []sinktest.Event, name string) bool {
	return slices.ContainsFunc(events, func(e sinktest.Event) bool { return e.Name == name })
}
