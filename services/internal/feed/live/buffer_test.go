package live

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/ranking"
)

// accumulate appends an entry to the buffer "b".
func (p *process) accumulate(channel string, n int) {
	p.t.Helper()
	b := accumulation.Buffer{Environment: "production", Extension: "ext", Name: "b"}
	s := accumulation.Submission{ChannelID: channel, OpaqueID: "U1", Data: json.RawMessage(fmt.Sprint(`{"n":`, n, `}`))}
	if err := p.buffers.Append(p.t.Context(), b, s); err != nil {
		p.t.Fatal(err)
	}
}

// entries returns the entries that were received, each as its channel and number, and
// "resync".
func (c *client) entries() (all []string) {
	c.t.Helper()
	for _, text := range c.received() {
		_, data, ok := strings.Cut(text, "accumulate:b ")
		if !ok {
			all = append(all, text)
			continue
		}
		var update struct {
			Data []struct {
				Channel string `json:"channel_id"`
				Data    struct{ N int }
			}
		}
		if err := json.Unmarshal([]byte(data), &update); err != nil {
			c.t.Fatal(err)
		}
		for _, entry := range update.Data {
			all = append(all, fmt.Sprint(entry.Channel, ":", entry.Data.N))
		}
	}
	return all
}

func (c *client) wantEntries(want ...string) {
	c.t.Helper()
	if got := c.entries(); !slices.Equal(got, want) {
		c.t.Errorf("received %q, want %q", got, want)
	}
}

// staffSubscription returns the subscription of a broadcaster or, with all channels, of a
// backend.
func staffSubscription(allChannels bool, topics ...string) Subscription {
	s := subscription(topics...)
	s.Staff, s.AllChannels = true, allChannels
	return s
}

// Staff receives the entries of a buffer that it names in order and once: a broadcaster
// those of its channel. A client that reconnects, to any process, misses none.
func TestEntries(t *testing.T) {
	for name, alone := range map[string]bool{"hinted": true, "by the tail": false} {
		in(t, func(t *testing.T) {
			t.Log(name)
			store := storetest.NewMemory()
			p := start(t, store, alone)
			next := p
			if !alone {
				next = start(t, store, false)
			}
			p.accumulate("1", 0) // before the subscriptions
			backend, channel := p.subscribe(staffSubscription(true, "accumulate:b")), p.subscribe(staffSubscription(false, "accumulate:b", "rank_update:b"))
			unnamed := p.subscribe(staffSubscription(true))
			for n := range 3 {
				p.accumulate(fmt.Sprint(1+n%2), n)
				pass(time.Second)
			}
			backend.wantEntries("1:0", "2:1", "1:2")
			channel.wantEntries("1:0", "1:2")
			unnamed.want()
			p.accumulate("1", 3)
			backend.Close()
			channel.Close()
			for n := 4; n < 900; n++ {
				p.accumulate(fmt.Sprint(1+n%2), n)
			}
			resumed := staffSubscription(true, "accumulate:b")
			resumed.LastEventID = backend.last
			ofChannel := staffSubscription(false, "accumulate:b", "rank_update:b")
			ofChannel.LastEventID = channel.last
			backend, channel = next.subscribe(resumed), next.subscribe(ofChannel)
			pass(time.Second)
			next.accumulate("1", 900)
			pass(time.Second)
			all, own := []string{"1:3"}, []string{"1:3"}
			for n := 4; n <= 900; n++ {
				all = append(all, fmt.Sprint(1+n%2, ":", n))
				if n%2 == 0 {
					own = append(own, fmt.Sprint("1:", n))
				}
			}
			if next != p { // what else is missed, another process does not know
				all, own = append([]string{"broadcast resync {}"}, all...), append([]string{"broadcast resync {}"}, own...)
			}
			backend.wantEntries(all...)
			channel.wantEntries(own...)
		})
	}
}

// A client that missed too much of a buffer reads it again, from then on without a gap.
func TestTooManyEntriesMissed(t *testing.T) {
	in(t, func(t *testing.T) {
		p := start(t, storetest.NewMemory(), true)
		e := p.subscribe(staffSubscription(true, "accumulate:b"))
		e.wantEntries()
		again := staffSubscription(true, "accumulate:b")
		again.LastEventID = e.last
		e.Close()
		for n := range 256*missedPages + 1 {
			p.accumulate("1", n)
		}
		pass(time.Second)
		e = p.subscribe(again)
		p.accumulate("1", -1)
		pass(time.Second)
		e.wantEntries("broadcast resync {}", "1:-1")
	})
}

// Staff receives the ranks of a question that it names, the latest at most once a second;
// viewers may not ask for them.
func TestRankUpdates(t *testing.T) {
	for name, alone := range map[string]bool{"hinted": true, "by the tail": false} {
		in(t, func(t *testing.T) {
			t.Log(name)
			p := start(t, storetest.NewMemory(), alone)
			e, unnamed := p.subscribe(staffSubscription(false, "rank_update:q")), p.subscribe(staffSubscription(false))
			q := ranking.Question{Environment: "production", Extension: "ext", Channel: "1", ID: "q"}
			answer := func(who, key string) {
				t.Helper()
				if _, err := p.ranks.Submit(t.Context(), q, who, key); err != nil {
					t.Fatal(err)
				}
			}
			answer("U1", "a")
			pass(2 * time.Second)
			e.want(`broadcast rank_update:q {"id":"q","data":[{"key":"a","score":1}]}`)
			answer("U1", "a")
			pass(2 * time.Second)
			e.want()
			answer("U2", "b")
			answer("U3", "b")
			pass(2 * time.Second)
			last := e.received()
			if want := `broadcast rank_update:q {"id":"q","data":[{"key":"b","score":2},{"key":"a","score":1}]}`; len(last) == 0 || last[len(last)-1] != want {
				t.Errorf("received %q, in the end not %s", last, want)
			}
			moderate := func(action ranking.Action, key string) {
				t.Helper()
				if err := p.ranks.Moderate(t.Context(), q, ranking.Moderation{Action: action, Key: key}); err != nil {
					t.Fatal(err)
				}
			}
			// An answer comes and goes between two events: staff may have read it.
			answer("U4", "d")
			synctest.Wait() // the event with d is out, and the next one has to wait
			answer("U5", "c")
			moderate(ranking.Hide, "c")
			pass(2 * time.Second)
			with := `broadcast rank_update:q {"id":"q","data":[{"key":"b","score":2},{"key":"a","score":1},{"key":"d","score":1}]}`
			if all := e.received(); len(all) == 0 || all[len(all)-1] != with || alone && !slices.Equal(all, []string{with, with}) {
				t.Errorf("received %q, in the end not %s", all, with)
			}
			if err := p.ranks.Clear(t.Context(), q); err != nil {
				t.Fatal(err)
			}
			pass(2 * time.Second)
			e.want(`broadcast rank_update:q {"id":"q","data":[]}`)
			config := ranking.DefaultConfig()
			config.HoldAnswers, config.StartsAt, config.EndsAt = true, 7, 4_000_000_000
			if err := p.ranks.Configure(t.Context(), q, config); err != nil {
				t.Fatal(err)
			}
			pass(2 * time.Second)
			e.want(`broadcast rank_update:q {"id":"q","data":[],"startsAt":7,"endsAt":4000000000}`)
			config.StartsAt, config.EndsAt = 0, 0
			if err := p.ranks.Configure(t.Context(), q, config); err != nil {
				t.Fatal(err)
			}
			pass(2 * time.Second)
			e.want(`broadcast rank_update:q {"id":"q","data":[]}`)
			answer("U1", "a")
			pass(2 * time.Second)
			e.want(`broadcast rank_update:q {"id":"q","data":[],"held":1}`)
			moderate(ranking.Show, "a")
			pass(2 * time.Second)
			e.want(`broadcast rank_update:q {"id":"q","data":[{"key":"a","score":1}]}`)
			unnamed.want()
			for _, topics := range []string{"rank_update:q", "accumulate:q"} {
				if _, err := p.broker.Subscribe(t.Context(), subscription(topics)); fault.KindOf(err) != fault.Forbidden {
					t.Errorf("a viewer that names %s: %v", topics, err)
				}
			}
			if _, err := p.broker.Subscribe(t.Context(), staffSubscription(true, "accumulate:*")); fault.KindOf(err) != fault.Invalid {
				t.Errorf("all buffers: %v", err)
			}
		})
	}
}
