package live

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/message"
	"github.com/acclaim-dev/acclaim/services/state"
)

// Updates of a poll come at most once a second, the latest wins, and the last one
// includes the last vote.
func TestUpdatesAreCoalesced(t *testing.T) {
	in(t, func(t *testing.T) {
		p := start(t, storetest.NewMemory(), true)
		e := p.subscribe(subscription())
		p.vote("a", "U1")
		e.want("broadcast vote_update:a 1 votes") // the first at once
		for i := range 2500 {
			p.vote("a", fmt.Sprint("V", i))
			pass(time.Millisecond)
		}
		updates := e.received()
		if len(updates) < 2 || len(updates) > 3 {
			t.Errorf("%d updates in 2.5 s: %q", len(updates), updates)
		}
		pass(time.Second)
		if last := e.received(); len(last) != 1 || last[0] != "broadcast vote_update:a 2501 votes" {
			t.Errorf("in the end %q", last)
		}
		pass(time.Hour)
		e.want()
	})
}

// A hint that comes during a refresh, and that its read covers, is no reason for
// another refresh.
func TestHintsOfWhatWasSeen(t *testing.T) {
	in(t, func(t *testing.T) {
		p := start(t, storetest.NewMemory(), true)
		p.hinting = true
		e := p.subscribe(subscription("vote_update:a"))
		for n := range 3 {
			before := p.broker.Stats().Reads
			p.vote("a", fmt.Sprint("U", n))
			e.want(fmt.Sprintf("broadcast vote_update:a %d votes", n+1))
			pass(1100 * time.Millisecond)
			if reads := p.broker.Stats().Reads - before; reads != 1 {
				t.Errorf("%d refreshes for one vote", reads)
			}
		}
	})
}

// A poll that ends has one more update, with or without votes, for every subscriber.
func TestUpdateWhenAPollEnds(t *testing.T) {
	in(t, func(t *testing.T) {
		for name, alone := range map[string]bool{"hinted": true, "by the tail": false} {
			store := storetest.NewMemory()
			writer := start(t, store, alone)
			p := writer
			if !alone {
				p = start(t, store, false)
			}
			ends := time.Now().Unix() + 60
			writer.end("known", ends)
			writer.end("past", 1)
			writer.end("never", 1<<62)
			all, one := p.subscribe(subscription()), p.subscribe(subscription("vote_update:known"))
			writer.end("later", ends)
			pass(time.Second) // two quick changes may become one
			writer.end("later", ends+60)
			pass(time.Until(time.Unix(ends, 0)) - time.Millisecond)
			all.want("broadcast poll_update:later active", "broadcast poll_update:later active")
			pass(time.Second + time.Millisecond)
			t.Log(name)
			all.want("broadcast poll_update:known expired", "broadcast vote_update:known 0 votes")
			one.want("broadcast vote_update:known 0 votes")
			pass(time.Minute)
			all.want("broadcast poll_update:later expired", "broadcast vote_update:later 0 votes")
			writer.end("later", -1)
			pass(time.Minute)
			all.want("broadcast poll_update:later expired", "broadcast vote_update:later 0 votes") // it has another end now
			one.want()
		}
	})
}

func TestDeletionIsTold(t *testing.T) {
	in(t, func(t *testing.T) {
		p := start(t, storetest.NewMemory(), true)
		p.vote("old", "U1")
		p.reset("old")
		e := p.subscribe(subscription())
		p.reset("old") // there is nothing
		pass(time.Second)
		e.want()
		p.vote("old", "U1")
		e.want("broadcast vote_update:old 1 votes")
		pass(time.Second)
		p.reset("old")
		e.want("broadcast vote_delete:old", "broadcast vote_update:old 0 votes")
		p.vote("new", "U1")
		e.want("broadcast vote_update:new 1 votes")
		p.reset("new")
		p.vote("new", "U1")
		pass(time.Second)
		e.want("broadcast vote_delete:new", "broadcast vote_update:new 1 votes")
	})
}

// The statistics of a poll without votes do not change when it is deleted: no update
// follows. When it ended meanwhile, one does.
func TestDeletionWithoutVotes(t *testing.T) {
	in(t, func(t *testing.T) {
		p := start(t, storetest.NewMemory(), true)
		p.end("p", time.Now().Add(time.Hour).Unix())
		e := p.subscribe(subscription())
		p.reset("p")
		e.want("broadcast vote_delete:p")
		pass(time.Minute)
		e.want()
		p.reset("p") // nothing is stored
		pass(time.Minute)
		e.want()
		p.end("p", time.Now().Add(-time.Minute).Unix())
		e.want("broadcast poll_update:p expired", "broadcast vote_update:p 0 votes")
		pass(time.Minute)
		p.reset("p")
		p.end("p", time.Now().Add(-time.Hour).Unix())
		pass(time.Second)
		e.want("broadcast vote_delete:p", "broadcast poll_update:p expired", "broadcast vote_update:p 0 votes")
	})
}

// A subscriber receives the events that are addressed to it and that it asked for.
func TestScopes(t *testing.T) {
	channel, everywhere := message.Feed{Channel: "1"}, message.Feed{Global: true}
	elsewhere := subscription()
	elsewhere.Channel = "2"
	neighbour := subscription()
	neighbour.OpaqueID = "U6"
	anonymous := subscription()
	anonymous.OpaqueID = ""
	sandbox := subscription()
	sandbox.Environment = "sandbox"
	other := subscription()
	other.Extension = "other"
	globals := []string{"global vote_update:global-g 1 votes", `global extension_state_update {"a":2}`, `global goal {}`, `global extension_config_update {"a":4}`}
	broadcasts := []string{"broadcast vote_update:p 1 votes", `broadcast channel_state_update {"a":1}`, `broadcast goal 7`, `broadcast channel_config_update {"a":3}`}
	everything := slices.Concat(broadcasts, globals)
	for name, test := range map[string]struct {
		of   Subscription
		want []string
	}{
		"all of it":         {subscription(), append([]string{`whisper-U5 hint "psst"`}, everything...)},
		"a neighbour":       {neighbour, everything},
		"without an id":     {anonymous, everything},
		"another channel":   {elsewhere, globals},
		"the sandbox":       {sandbox, nil},
		"another extension": {other, nil},
		"one poll":          {subscription("vote_update:p"), broadcasts[:1]},
		"polls":             {subscription("vote_update:*"), []string{broadcasts[0], globals[0]}},
		"global polls":      {subscription("vote_update:global*"), globals[:1]},
		"some polls":        {subscription("vote_update:p*", "vote_delete:p*"), broadcasts[:1]},
		"states":            {subscription("channel_state_update", "extension_state*"), []string{broadcasts[1], globals[1]}},
		"configurations":    {subscription("channel_config_update", "extension_c*"), []string{broadcasts[3], globals[3]}},
		"messages":          {subscription("goal"), []string{broadcasts[2], globals[2]}},
		"by a letter":       {subscription("h*"), []string{`whisper-U5 hint "psst"`}},
		"everything":        {subscription("*"), append([]string{`whisper-U5 hint "psst"`}, everything...)},
		"nothing there is":  {subscription("nothing"), nil},
	} {
		for _, alone := range []bool{true, false} {
			t.Run(fmt.Sprint(name, " ", alone), func(t *testing.T) {
				in(t, func(t *testing.T) {
					store := storetest.NewMemory()
					p := start(t, store, alone)
					e := p.subscribe(test.of)
					p.vote("p", "U1")
					p.vote("global-g", "U1")
					p.write(state.Channel, `{"a":1}`)
					p.write(state.Extension, `{"a":2}`)
					p.write(state.ChannelConfig, `{"a":3}`)
					p.write(state.ExtensionConfig, `{"a":4}`)
					p.publish(channel, "", "goal", `7`)
					p.publish(channel, "U5", "hint", `"psst"`)
					p.publish(everywhere, "", "goal", `{}`)
					pass(2 * time.Second)
					got := e.received()
					slices.Sort(got)
					if want := slices.Sorted(slices.Values(test.want)); !slices.Equal(got, want) {
						t.Errorf("received %q\nwant  %q", got, want)
					}
				})
			})
		}
	}
}

func TestTopicsThatMakeNoSense(t *testing.T) {
	in(t, func(t *testing.T) {
		p := start(t, storetest.NewMemory(), true)
		for _, topics := range [][]string{{""}, {"a*b"}, {"**"}, {strings.Repeat("x", 301)}, make([]string, 33)} {
			if _, err := p.broker.Subscribe(t.Context(), subscription(topics...)); fault.KindOf(err) != fault.Invalid {
				t.Errorf("topics %.40q: %v", topics, err)
			}
		}
	})
}

// Subscribers of one process receive what another one writes, by the tail alone.
func TestOtherProcessesAreHeard(t *testing.T) {
	in(t, func(t *testing.T) {
		store := storetest.NewMemory()
		here, there := start(t, store, false), start(t, store, false)
		e := here.subscribe(subscription())
		for n := range 3 {
			there.vote("p", fmt.Sprint("U", n))
			there.publish(message.Feed{Channel: "1"}, "", "tick", fmt.Sprint(n))
			there.write(state.Channel, fmt.Sprintf(`{"n":%d}`, n))
			pass(3 * time.Second)
			got := e.received()
			slices.Sort(got)
			want := []string{fmt.Sprintf(`broadcast channel_state_update {"n":%d}`, n),
				fmt.Sprintf(`broadcast tick %d`, n), fmt.Sprintf("broadcast vote_update:p %d votes", n+1)}
			if !slices.Equal(got, want) {
				t.Errorf("received %q, want %q", got, want)
			}
		}
		there.reset("p")
		pass(2 * time.Second)
		e.want("broadcast vote_delete:p", "broadcast vote_update:p 0 votes")
		pass(10 * time.Minute)
		e.want()
		there.vote("p", "U1")
		pass(time.Second + time.Millisecond)
		e.want("broadcast vote_update:p 1 votes")
	})
}

// A source that cannot be read is read later, and no change is lost.
func TestOutage(t *testing.T) {
	in(t, func(t *testing.T) {
		p := start(t, storetest.NewMemory(), true)
		e := p.subscribe(subscription())
		p.vote("p", "U0")
		e.want("broadcast vote_update:p 1 votes")
		pass(time.Second)
		p.down.Store(true)
		p.vote("p", "U1")
		p.vote("new", "U1")
		pass(time.Minute)
		e.want()
		if _, err := p.broker.Subscribe(t.Context(), subscription("vote_update:q")); fault.KindOf(err) != fault.Unavailable {
			t.Errorf("to subscribe now: %v", err)
		}
		p.down.Store(false)
		pass(2 * time.Second)
		got := e.received()
		slices.Sort(got)
		if want := []string{"broadcast vote_update:new 1 votes", "broadcast vote_update:p 2 votes"}; !slices.Equal(got, want) {
			t.Errorf("received %q, want %q", got, want)
		}
		p.subscribe(subscription("vote_update:q"))
	})
}

// A subscriber that does not keep up is disconnected, and others do not wait for it.
func TestSlowSubscriberIsDisconnected(t *testing.T) {
	in(t, func(t *testing.T) {
		p := start(t, storetest.NewMemory(), true, func(_ *Options, t *tuning) { t.buffer = 4 })
		slow, quick := p.subscribe(subscription()), p.subscribe(subscription())
		for n := range 6 {
			p.publish(message.Feed{Channel: "1"}, "", "tick", fmt.Sprint(n))
			pass(time.Second)
			quick.want(fmt.Sprint("broadcast tick ", n))
		}
		select {
		case <-slow.Done():
		default:
			t.Fatal("the slow listener goes on")
		}
		if !errors.Is(slow.Err(), ErrSlow) {
			t.Errorf("cut off: %v", slow.Err())
		}
		if s := p.broker.Stats(); s.Slow == 0 || s.Subscribers != 2 {
			t.Errorf("figures: %+v", s)
		}
	})
}

// Many messages at once do not disconnect a subscriber that keeps up.
func TestManyMessagesAtOnce(t *testing.T) {
	in(t, func(t *testing.T) {
		store := storetest.NewMemory()
		here := start(t, store, false, func(_ *Options, t *tuning) { t.tailEvery = time.Minute })
		there := start(t, store, false)
		e := here.subscribe(subscription())
		for round, said := range []int{200, 300} { // more than are kept, the second time
			for n := range said {
				there.publish(message.Feed{Channel: "1"}, "", "tick", fmt.Sprint(n))
			}
			var got []string
			for range 90_000 {
				pass(time.Millisecond)
				got = append(got, e.received()...)
			}
			want := []string{"broadcast resync {}"}[:round]
			for n := max(0, said-256); n < said; n++ {
				want = append(want, fmt.Sprint("broadcast tick ", n))
			}
			if !slices.Equal(got, want) {
				t.Errorf("of %d messages %d were received: %q", said, len(got), got)
			}
		}
	})
}

func TestDrain(t *testing.T) {
	in(t, func(t *testing.T) {
		p := start(t, storetest.NewMemory(), true)
		e := p.subscribe(subscription())
		p.broker.Drain()
		<-e.Done()
		if !errors.Is(e.Err(), ErrDraining) {
			t.Errorf("ended with %v", e.Err())
		}
		if _, err := p.broker.Subscribe(t.Context(), subscription()); fault.KindOf(err) != fault.Unavailable {
			t.Errorf("to subscribe now: %v", err)
		}
	})
}

// Of more polls than are followed together, the configured ones are followed and those
// that changed last. Nothing is refused.
func TestTooManyPolls(t *testing.T) {
	for _, alone := range []bool{true, false} {
		in(t, func(t *testing.T) {
			p := start(t, storetest.NewMemory(), alone, func(_ *Options, t *tuning) { t.maxPolls = 3 })
			for _, id := range []string{"a", "b"} {
				p.vote(id, "U1")
			}
			ends := time.Now().Add(time.Hour).Unix()
			p.end("z", ends)
			e := p.subscribe(subscription())
			for _, id := range []string{"c", "d", "e", "f"} {
				p.vote(id, "U1")
				pass(2 * time.Second)
				e.want("broadcast vote_update:" + id + " 1 votes")
			}
			p.vote("z", "U1") // is configured, and has waited for longest
			pass(2 * time.Second)
			e.want("broadcast vote_update:z 1 votes")
			if alone { // else only a change stream reports it
				p.vote("a", "U2")
				pass(2 * time.Second)
				e.want("broadcast vote_update:a 2 votes")
			}
			e.Close()
			pass(5 * time.Minute)

			later := p.subscribe(subscription())
			pass(time.Until(time.Unix(ends, 0)) + 2*time.Second)
			later.want("broadcast poll_update:z expired", "broadcast vote_update:z 1 votes") // the last one by name, and not among the first three
			p.vote("new", "U1")
			pass(2 * time.Second)
			later.want("broadcast vote_update:new 1 votes")
			one := p.subscribe(subscription("vote_update:d"))
			p.vote("d", "U2")
			pass(2 * time.Second)
			one.want("broadcast vote_update:d 2 votes")
			if s := p.broker.Stats(); s.Sources > 14 {
				t.Errorf("%d sources", s.Sources)
			}
		})
	}
}

// Thousands of polls that viewers made up share a rate of events, which a configured poll
// and messages do not wait for.
func TestPollsOfViewersShareARate(t *testing.T) {
	in(t, func(t *testing.T) {
		p := start(t, storetest.NewMemory(), true, func(_ *Options, t *tuning) { t.buffer = 10_000 })
		p.end("configured", 1<<40)
		for i := range 500 {
			p.vote(fmt.Sprint("p", i), "U1")
		}
		e := p.subscribe(subscription())
		madeUp, configured := 0, 0
		for second := range 20 {
			for i := range 500 {
				p.vote(fmt.Sprint("p", i), fmt.Sprint("V", second))
			}
			p.vote("configured", fmt.Sprint("V", second))
			pass(time.Second)
			for _, got := range e.received() {
				if strings.Contains(got, "configured") {
					configured++
				} else {
					madeUp++
				}
			}
		}
		if configured < 19 {
			t.Errorf("%d updates of the configured poll in 20 s", configured)
		}
		if madeUp < 1_000 || madeUp > 4_000 {
			t.Errorf("%d updates of 500 other polls in 20 s, want some 100 a second", madeUp)
		}
		pass(time.Minute)
		for _, got := range e.received() {
			if !strings.HasSuffix(got, " 21 votes") && !strings.HasSuffix(got, " 20 votes") {
				t.Errorf("in the end %s", got)
			}
		}
	})
}

// A source without subscribers is removed.
func TestUnusedSourcesAreRemoved(t *testing.T) {
	in(t, func(t *testing.T) {
		p := start(t, storetest.NewMemory(), true)
		for n := range 20 {
			p.vote(fmt.Sprint("p", n), "U1")
		}
		e, one := p.subscribe(subscription()), p.subscribe(subscription("vote_update:p3", "vote_update:absent"))
		if s := p.broker.Stats(); s.Sources != 9+20+1 {
			t.Errorf("figures: %+v", s)
		}
		e.Close()
		pass(2 * time.Minute)
		if s := p.broker.Stats(); s.Sources != 2 || s.Subscribers != 1 {
			t.Errorf("figures: %+v", s)
		}
		one.Close()
		pass(2 * time.Minute)
		synctest.Wait()
		if s := p.broker.Stats(); s.Sources != 0 || s.Subscribers != 0 {
			t.Errorf("figures: %+v", s)
		}
	})
}
