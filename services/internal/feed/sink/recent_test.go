package sink

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/ranking"
	"github.com/acclaim-dev/acclaim/services/state"
)

// accumulate appends an entry to the buffer "b", answer answers the question "q".
func (p *process) accumulate(n int) {
	p.t.Helper()
	b := accumulation.Buffer{Environment: "production", Extension: "ext", Name: "b"}
	s := accumulation.Submission{ChannelID: "1", Data: json.RawMessage(fmt.Sprint(n))}
	if err := p.buffers.Append(p.t.Context(), b, s); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) answer(key string) {
	p.t.Helper()
	q := ranking.Question{Environment: "production", Extension: "ext", Channel: "1", ID: "q"}
	if _, err := p.ranks.Submit(p.t.Context(), q, "U1", key); err != nil {
		p.t.Fatal(err)
	}
}

// A webhook receives every entry of buffers once and in order, and ranks; the pub/sub,
// which goes to viewers, neither. Both receive configurations.
func TestEntriesRanksAndConfigurations(t *testing.T) {
	for registry, staff := range map[string]bool{webhooks: true, platform: false} {
		for _, alone := range []bool{true, false} {
			in(t, func(t *testing.T) {
				to := &system{t: t}
				p := start(t, storetest.NewMemory(), registry, to, alone)
				pass(time.Minute)
				p.write(state.ChannelConfig, `{"a":1}`)
				pass(10 * time.Second)
				to.want(`channel_config_update {"a":1}`)
				p.answer("x")
				pass(10 * time.Second)
				for n := range 600 {
					p.accumulate(n)
				}
				pass(time.Minute)
				if !staff {
					to.want()
					return
				}
				to.mu.Lock()
				bodies := to.took
				to.mu.Unlock()
				var got []int
				for _, r := range bodies[1:] {
					var e struct {
						Event string
						Data  struct{ Data []struct{ Data int } }
					}
					if err := json.Unmarshal([]byte(r.body), &e); err != nil || !strings.HasSuffix(e.Event, ":accumulate:b") {
						t.Fatal(err, r.body)
					}
					for _, entry := range e.Data.Data {
						got = append(got, entry.Data)
					}
				}
				for n, entry := range got {
					if entry != n {
						t.Fatalf("entry %d came as number %d", entry, n)
					}
				}
				if len(got) != 600 || !strings.Contains(bodies[0].body, `rank_update:q","data":{"id":"q","data":[{"key":"x","score":1}]}`) {
					t.Errorf("%d entries came, after %s", len(got), bodies[0].body)
				}
			})
		}
	}
}

// A sink of an earlier release begins with what changes from then on of what that release
// did not deliver, and misses nothing of what it did.
func TestSinksOfAnEarlierRelease(t *testing.T) {
	in(t, func(t *testing.T) {
		to, store := &system{t: t}, storetest.NewMemory()
		p := start(t, store, webhooks, to, true)
		pass(time.Minute)
		p.kill()
		positions := positionStore{store, key.Name{Kind: Kind, Environment: "production", Extension: "ext", Sink: "hook", Transport: "webhook"}}
		known, err := positions.loadPositions(t.Context(), initMarker)
		if err != nil || known[0].Head != sourceGeneration {
			t.Fatalf("%+v, %v", known, err)
		}
		if err := positions.savePosition(t.Context(), initMarker, position{}, known[0].version); err != nil {
			t.Fatal(err)
		}
		// The earlier release serves, and its sink misses the last of it.
		p = start(t, store, strings.ReplaceAll(webhooks, "clientID: ext", "clientID: other"), &system{t: t}, true)
		p.accumulate(1)
		p.answer("x")
		p.write(state.ChannelConfig, `{"a":1}`)
		p.vote("p", 1)
		p.kill()
		p = start(t, store, webhooks, to, true)
		pass(time.Minute)
		to.want("vote_update:p 1")
		p.accumulate(2)
		p.answer("y")
		p.write(state.ChannelConfig, `{"a":2}`)
		pass(time.Minute)
		if got := to.received(); len(got) != 3 {
			t.Errorf("received %q", got)
		}
	})
}
