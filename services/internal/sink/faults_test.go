package sink_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/sink"
	"github.com/acclaim-dev/acclaim/services/internal/sinktest"
	"github.com/acclaim-dev/acclaim/services/internal/storetest"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
	"github.com/acclaim-dev/acclaim/services/state"
)

const bothSinks = `
extensions:
- clientID: ext
  ownerUserID: "1000"
  secrets: [{value: b25l}]
  sinks:
  - {name: hook, webhook: {url: %q, secrets: [{value: aG9vaw==}]}}
  - {name: viewers, pubsub: {url: %q}}
`

// hasty are options with which faults do not last.
func hasty(alone bool) sink.Options {
	return sink.Options{
		Alone: alone, ClaimFor: 3 * time.Second, Every: time.Millisecond, SweepEvery: 50 * time.Millisecond, RetryAfter: 5 * time.Millisecond, Timeout: 2 * time.Second,
	}
}

// begin starts a process whose sinks lead to a real server, and waits until they are
// in force.
func begin(t *testing.T, store *storetest.Memory, to *sinktest.Server, life string, options sink.Options) *process {
	t.Helper()
	p := boot(t, store, fmt.Sprintf(bothSinks, to.Hook(life), to.PubSub(life)), stream.SystemClock(), options)
	for voter := 0; ; voter++ {
		p.vote("first", voter)
		tried := map[string]bool{}
		for _, r := range to.Tried() {
			tried[r.Path] = tried[r.Path] || r.Life == life
		}
		if tried["/hook"] && tried["/pubsub"] {
			return p
		}
	}
}

func ofServer(mood func(sinktest.Request) sinktest.Mood) sinktest.Options {
	return sinktest.Options{Prefix: "production:ext:", Secret: "hook", Key: "one", Mood: mood}
}

var anyMood = []sinktest.Mood{
	sinktest.Errs, sinktest.Busy, sinktest.Limits, sinktest.LimitsByDate, sinktest.Hangs, sinktest.ResetsUnread,
	sinktest.ResetsRead, sinktest.DripsHeader, sinktest.DripsBody, sinktest.Babbles, sinktest.Well, sinktest.Well,
}

// Over real connections, whatever the other system does to them and whoever is
// killed meanwhile: every request is signed and within the budget, nothing older
// follows what is newer, every message is heard, and what is heard last of a poll or
// a document is what a read returns.
func TestFaultsOfARealServer(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var calm atomic.Bool
			random := rand.New(rand.NewPCG(seed, 3))
			felt := map[sinktest.Mood]bool{}
			to := sinktest.Start(t, ofServer(func(sinktest.Request) sinktest.Mood {
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
				p := begin(t, store, to, fmt.Sprint(life), hasty(seed > 0))
				before := len(to.Tried())
				for range 30 {
					w.write(p)
				}
				// It is killed in the middle, by an amount of progress.
				to.Await(func(_ map[string][]sinktest.Event, tried []sinktest.Request) bool { return len(tried) >= before+20 })
				p.kill()
			}
			calm.Store(true)
			p := begin(t, store, to, "last", hasty(seed > 0))
			w.write(p)
			w.await(p, to)
			if len(felt) < 8 {
				t.Errorf("moods %v only", felt)
			}
		})
	}
}

// written is what was written.
type written struct{ ticks, votes int }

func (w *written) write(p *process) {
	w.votes++
	p.vote(fmt.Sprint("p", w.votes%5), w.votes)
	p.say("", "tick", fmt.Sprint(w.ticks))
	w.ticks++
	p.write(state.Channel, fmt.Sprintf(`{"n":%d}`, w.votes))
}

// await waits until both sinks know everything, and checks that they were told of
// every message in order.
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
		want[fmt.Sprint("vote_update:p", n)] = fmt.Sprintf(`{"id":"p%d","stats":%s}`, n, now.AppendJSON(nil, nil))
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
			if heard := inTurn(events, "tick"); heard != w.ticks {
				p.t.Errorf("%s: message %d does not come in its order, or not at all", path, heard)
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

// An event that is tried for too long is dead, is counted and makes way; what the
// other system does not want is so at once.
func TestDeadOnARealServer(t *testing.T) {
	t.Parallel()
	for name, mood := range map[string]sinktest.Mood{
		"tried in vain": sinktest.Errs, "hangs": sinktest.Hangs, "reset": sinktest.ResetsRead, "gone": sinktest.Refuses,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := sinktest.Start(t, ofServer(func(r sinktest.Request) sinktest.Mood {
				if slices.ContainsFunc(r.Events, func(e sinktest.Event) bool { return e.Name == "bad" }) {
					return mood
				}
				return sinktest.Well
			}))
			options := hasty(true)
			options.DeadAfter = 200 * time.Millisecond
			p := begin(t, storetest.NewMemory(), to, "", options)
			p.say("U1", "bad", "0")
			p.say("", "good", "1")
			to.Await(func(taken map[string][]sinktest.Event, _ []sinktest.Request) bool {
				return has(taken["/hook"], "good") && has(taken["/pubsub"], "good")
			})
			if got := p.sinks.Stats(); got.Dead != 2 {
				t.Errorf("%d events are dead, want 2", got.Dead)
			}
		})
	}
}

func has(events []sinktest.Event, name string) bool {
	return slices.ContainsFunc(events, func(e sinktest.Event) bool { return e.Name == name })
}
