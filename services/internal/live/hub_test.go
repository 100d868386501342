package live_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/live"
	"github.com/acclaim-dev/acclaim/services/internal/storetest"
	"github.com/acclaim-dev/acclaim/services/message"
	"github.com/acclaim-dev/acclaim/services/state"
)

// Updates of a poll come at most once a second, the latest wins, and the last one
// says what the last vote came to.
func TestUpdatesAreCoalesced(t *testing.T) {
	in(t, func(t *testing.T) {
		p := start(t, storetest.NewMemory(), true)
		e := p.listen(subscription())
		p.vote("a", "U1")
		e.want("broadcast vote_update:a 1 votes") // the first at once
		for i := range 2500 {
			p.vote("a", fmt.Sprint("V", i))
			pass(time.Millisecond)
		}
		updates := e.heard()
		if len(updates) < 2 || len(updates) > 3 {
			t.Errorf("%d updates in 2.5 s: %q", len(updates), updates)
		}
		pass(time.Second)
		if last := e.heard(); len(last) != 1 || last[0] != "broadcast vote_update:a 2501 votes" {
			t.Errorf("in the end %q", last)
		}
		pass(time.Hour)
		e.want()
	})
}

// What a look is told of while it looks, and sees, is no reason for another.
func TestHintsOfWhatWasSeen(t *testing.T) {
	in(t, func(t *testing.T) {
		p := start(t, storetest.NewMemory(), true)
		p.hinting = true
		e := p.listen(subscription("vote_update:a"))
		for n := range 3 {
			before := p.hub.Stats().Looks
			p.vote("a", fmt.Sprint("U", n))
			e.want(fmt.Sprintf("broadcast vote_update:a %d votes", n+1))
			pass(1100 * time.Millisecond)
			if looks := p.hub.Stats().Looks - before; looks != 1 {
				t.Errorf("%d looks at one vote", looks)
			}
		}
	})
}

// A poll that ends has one more update, votes or none, whoever follows it.
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
			all, one := p.listen(subscription()), p.listen(subscription("vote_update:known"))
			writer.end("later", ends)
			writer.end("later", ends+60)
			pass(time.Until(time.Unix(ends, 0)) - time.Millisecond)
			all.want()
			pass(time.Second + time.Millisecond)
			t.Log(name)
			all.want("broadcast vote_update:known 0 votes")
			one.want("broadcast vote_update:known 0 votes")
			pass(time.Minute)
			all.want("broadcast vote_update:later 0 votes")
			writer.end("later", -1)
			pass(time.Minute)
			all.want("broadcast vote_update:later 0 votes") // it has another end now
			one.want()
		}
	})
}

func TestDeletionIsTold(t *testing.T) {
	in(t, func(t *testing.T) {
		p := start(t, storetest.NewMemory(), true)
		p.vote("old", "U1")
		p.reset("old")
		e := p.listen(subscription())
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

// Each hears what is addressed to it, and of that what it asked for.
func TestScopes(t *testing.T) {
	channel, everywhere := message.Feed{Channel: "1"}, message.Feed{Global: true}
	elsewhere := subscription()
	elsewhere.Channel = "2"
	neighbour := subscription()
	neighbour.OpaqueID = "U6"
	nobody := subscription()
	nobody.OpaqueID = ""
	sandbox := subscription()
	sandbox.Environment = "sandbox"
	other := subscription()
	other.Extension = "other"
	globals := []string{"global vote_update:global-g 1 votes", `global extension_state_update {"a":2}`, `global goal {}`}
	broadcasts := []string{"broadcast vote_update:p 1 votes", `broadcast channel_state_update {"a":1}`, `broadcast goal 7`}
	everything := slices.Concat(broadcasts, globals)
	for name, test := range map[string]struct {
		who  live.Subscription
		want []string
	}{
		"all of it":         {subscription(), append([]string{`whisper-U5 hint "psst"`}, everything...)},
		"a neighbour":       {neighbour, everything},
		"nobody":            {nobody, everything},
		"another channel":   {elsewhere, globals},
		"the sandbox":       {sandbox, nil},
		"another extension": {other, nil},
		"one poll":          {subscription("vote_update:p"), broadcasts[:1]},
		"polls":             {subscription("vote_update:*"), []string{broadcasts[0], globals[0]}},
		"global polls":      {subscription("vote_update:global*"), globals[:1]},
		"some polls":        {subscription("vote_update:p*", "vote_delete:p*"), broadcasts[:1]},
		"states":            {subscription("channel_state_update", "extension_*"), []string{broadcasts[1], globals[1]}},
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
					e := p.listen(test.who)
					p.vote("p", "U1")
					p.vote("global-g", "U1")
					p.write(state.Channel, `{"a":1}`)
					p.write(state.Extension, `{"a":2}`)
					p.write(state.ChannelConfig, `{"a":3}`)
					p.say(channel, "", "goal", `7`)
					p.say(channel, "U5", "hint", `"psst"`)
					p.say(everywhere, "", "goal", `{}`)
					pass(2 * time.Second)
					got := e.heard()
					slices.Sort(got)
					if want := slices.Sorted(slices.Values(test.want)); !slices.Equal(got, want) {
						t.Errorf("heard %q\nwant  %q", got, want)
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
			if _, err := p.hub.Subscribe(t.Context(), subscription(topics...)); fault.KindOf(err) != fault.Invalid {
				t.Errorf("topics %.40q: %v", topics, err)
			}
		}
	})
}

// What one process writes is heard by the listeners of another, by the tail alone.
func TestOtherProcessesAreHeard(t *testing.T) {
	in(t, func(t *testing.T) {
		store := storetest.NewMemory()
		here, there := start(t, store, false), start(t, store, false)
		e := here.listen(subscription())
		for n := range 3 {
			there.vote("p", fmt.Sprint("U", n))
			there.say(message.Feed{Channel: "1"}, "", "tick", fmt.Sprint(n))
			there.write(state.Channel, fmt.Sprintf(`{"n":%d}`, n))
			pass(3 * time.Second)
			got := e.heard()
			slices.Sort(got)
			want := []string{fmt.Sprintf(`broadcast channel_state_update {"n":%d}`, n),
				fmt.Sprintf(`broadcast tick %d`, n), fmt.Sprintf("broadcast vote_update:p %d votes", n+1)}
			if !slices.Equal(got, want) {
				t.Errorf("heard %q, want %q", got, want)
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

// What cannot be read is read later, and nothing of it is lost.
func TestOutage(t *testing.T) {
	in(t, func(t *testing.T) {
		p := start(t, storetest.NewMemory(), true)
		e := p.listen(subscription())
		p.vote("p", "U0")
		e.want("broadcast vote_update:p 1 votes")
		pass(time.Second)
		p.down.Store(true)
		p.vote("p", "U1")
		p.vote("new", "U1")
		pass(time.Minute)
		e.want()
		if _, err := p.hub.Subscribe(t.Context(), subscription("vote_update:q")); fault.KindOf(err) != fault.Unavailable {
			t.Errorf("to listen now: %v", err)
		}
		p.down.Store(false)
		pass(2 * time.Second)
		got := e.heard()
		slices.Sort(got)
		if want := []string{"broadcast vote_update:new 1 votes", "broadcast vote_update:p 2 votes"}; !slices.Equal(got, want) {
			t.Errorf("heard %q, want %q", got, want)
		}
		p.listen(subscription("vote_update:q"))
	})
}

// Who does not keep up is cut off, and nobody waits for it.
func TestSlowListenerIsCutOff(t *testing.T) {
	in(t, func(t *testing.T) {
		p := start(t, storetest.NewMemory(), true, func(o *live.Options) { o.Buffer = 4 })
		slow, quick := p.listen(subscription()), p.listen(subscription())
		for n := range 6 {
			p.say(message.Feed{Channel: "1"}, "", "tick", fmt.Sprint(n))
			pass(time.Second)
			quick.want(fmt.Sprint("broadcast tick ", n))
		}
		select {
		case <-slow.Done():
		default:
			t.Fatal("the slow listener goes on")
		}
		if !errors.Is(slow.Err(), live.ErrSlow) {
			t.Errorf("cut off: %v", slow.Err())
		}
		if s := p.hub.Stats(); s.Slow == 0 || s.Listeners != 2 {
			t.Errorf("figures: %+v", s)
		}
	})
}

// Many messages at once are no reason to cut off who keeps up.
func TestManyMessagesAtOnce(t *testing.T) {
	in(t, func(t *testing.T) {
		store := storetest.NewMemory()
		here := start(t, store, false, func(o *live.Options) { o.TailEvery = time.Minute })
		there := start(t, store, false)
		e := here.listen(subscription())
		for round, said := range []int{200, 300} { // more than are kept, the second time
			for n := range said {
				there.say(message.Feed{Channel: "1"}, "", "tick", fmt.Sprint(n))
			}
			var heard []string
			for range 90_000 {
				pass(time.Millisecond)
				heard = append(heard, e.heard()...)
			}
			want := []string{"broadcast resync {}"}[:round]
			for n := max(0, said-256); n < said; n++ {
				want = append(want, fmt.Sprint("broadcast tick ", n))
			}
			if !slices.Equal(heard, want) {
				t.Errorf("of %d messages were heard %d: %q", said, len(heard), heard)
			}
		}
	})
}

func TestDrain(t *testing.T) {
	in(t, func(t *testing.T) {
		p := start(t, storetest.NewMemory(), true)
		e := p.listen(subscription())
		p.hub.Drain()
		<-e.Done()
		if !errors.Is(e.Err(), live.ErrDraining) {
			t.Errorf("ended with %v", e.Err())
		}
		if _, err := p.hub.Subscribe(t.Context(), subscription()); fault.KindOf(err) != fault.Unavailable {
			t.Errorf("to listen now: %v", err)
		}
	})
}

func TestTooManyListeners(t *testing.T) {
	in(t, func(t *testing.T) {
		p := start(t, storetest.NewMemory(), true, func(o *live.Options) { o.MaxListeners = 2 })
		first := p.listen(subscription())
		p.listen(subscription())
		if _, err := p.hub.Subscribe(t.Context(), subscription()); fault.KindOf(err) != fault.Unavailable {
			t.Errorf("a third listener: %v", err)
		}
		first.Close()
		p.listen(subscription())
	})
}

// Who wants to hear of more polls than are followed together has to name them. Those
// that are more when somebody listens already are left out, and the rest goes on.
func TestTooManyPolls(t *testing.T) {
	for _, alone := range []bool{true, false} {
		in(t, func(t *testing.T) {
			p := start(t, storetest.NewMemory(), alone, func(o *live.Options) { o.MaxPolls = 3 })
			for _, id := range []string{"a", "b"} {
				p.vote(id, "U1")
			}
			e := p.listen(subscription())
			for _, id := range []string{"c", "d"} {
				p.vote(id, "U1")
				pass(2 * time.Second)
			}
			e.want("broadcast vote_update:c 1 votes")
			p.vote("a", "U2")
			pass(2 * time.Second)
			e.want("broadcast vote_update:a 2 votes")
			e.Close()
			pass(5 * time.Minute)
			if _, err := p.hub.Subscribe(t.Context(), subscription()); fault.KindOf(err) != fault.Invalid {
				t.Errorf("to listen to four polls: %v", err)
			}
			one := p.listen(subscription("vote_update:d"))
			p.vote("d", "U2")
			pass(2 * time.Second)
			one.want("broadcast vote_update:d 2 votes")
		})
	}
}

// What nobody listens to any more is forgotten.
func TestNothingIsFollowedInVain(t *testing.T) {
	in(t, func(t *testing.T) {
		p := start(t, storetest.NewMemory(), true)
		for n := range 20 {
			p.vote(fmt.Sprint("p", n), "U1")
		}
		e, one := p.listen(subscription()), p.listen(subscription("vote_update:p3", "vote_update:absent"))
		if s := p.hub.Stats(); s.Sources != 6+20+1 {
			t.Errorf("figures: %+v", s)
		}
		e.Close()
		pass(2 * time.Minute)
		if s := p.hub.Stats(); s.Sources != 2 || s.Listeners != 1 {
			t.Errorf("figures: %+v", s)
		}
		one.Close()
		pass(2 * time.Minute)
		synctest.Wait()
		if s := p.hub.Stats(); s.Sources != 0 || s.Listeners != 0 {
			t.Errorf("figures: %+v", s)
		}
	})
}
