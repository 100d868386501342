package live_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/live"
	"github.com/acclaim-dev/acclaim/services/internal/storetest"
	"github.com/acclaim-dev/acclaim/services/message"
	"github.com/acclaim-dev/acclaim/services/state"
)

// again returns a subscription that goes on where an ear has stopped.
func (e *ear) again() live.Subscription {
	s := subscription()
	s.LastEventID = e.last
	return s
}

// Who comes back to the same process hears every message it missed, and of all
// else what there is now, once.
func TestComingBack(t *testing.T) {
	in(t, func(t *testing.T) {
		p := start(t, storetest.NewMemory(), true)
		channel := message.Feed{Channel: "1"}
		e := p.listen(subscription())
		e.want()
		e.Close()
		for n := range 3 {
			p.vote("a", fmt.Sprint("U", n))
			p.vote("b", fmt.Sprint("U", n))
			p.say(channel, "", "tick", fmt.Sprint(n))
			p.say(channel, "U6", "hint", "0")
			p.write(state.Channel, fmt.Sprint(`{"n":`, n, `}`))
			pass(3 * time.Second)
		}
		p.reset("b")
		e = p.listen(e.again())
		pass(time.Second)
		got := e.heard()
		slices.Sort(got[3:])
		want := []string{"broadcast tick 0", "broadcast tick 1", "broadcast tick 2", `broadcast channel_state_update {"n":2}`,
			"broadcast vote_delete:b", "broadcast vote_update:a 3 votes", "broadcast vote_update:b 0 votes"}
		if !slices.Equal(got, want) {
			t.Errorf("heard %q, want %q", got, want)
		}
		e.Close()
		e = p.listen(e.again())
		pass(time.Second)
		e.want()
		p.say(channel, "", "tick", "3")
		e.want("broadcast tick 3")
	})
}

// Nobody who comes back is told a figure that is past, however quickly it comes.
func TestComingBackIsToldWhatIsNow(t *testing.T) {
	in(t, func(t *testing.T) {
		p := start(t, storetest.NewMemory(), true)
		stays, e := p.listen(subscription()), p.listen(subscription())
		e.want()
		e.Close()
		p.write(state.Channel, `{"n":1}`)
		stays.want(`broadcast channel_state_update {"n":1}`)
		p.vote("a", "U1")
		stays.want("broadcast vote_update:a 1 votes")
		p.vote("a", "U2") // told of in a second
		e = p.listen(e.again())
		pass(500 * time.Millisecond)
		e.want(`broadcast channel_state_update {"n":1}`)
		pass(time.Second)
		e.want("broadcast vote_update:a 2 votes")
		stays.want("broadcast vote_update:a 2 votes")
	})
}

// Who goes away again before it was told what it missed is told the next time.
func TestComingBackTwice(t *testing.T) {
	in(t, func(t *testing.T) {
		p := start(t, storetest.NewMemory(), true)
		stays, e := p.listen(subscription()), p.listen(subscription())
		e.want()
		e.Close()
		p.vote("a", "U1")
		stays.heard()
		e = p.listen(e.again()) // a's turn comes in a second
		p.vote("b", "U1")
		e.want("broadcast vote_update:b 1 votes")
		e.Close()
		pass(2 * time.Second)
		e = p.listen(e.again())
		pass(2 * time.Second)
		got := e.heard()
		slices.Sort(got)
		if want := []string{"broadcast vote_update:a 1 votes", "broadcast vote_update:b 1 votes"}; !slices.Equal(got, want) {
			t.Errorf("heard %q, want %q", got, want)
		}
	})
}

// Who comes back to another process, or too late, hears the messages it missed
// and is told to read the rest.
func TestComingBackElsewhere(t *testing.T) {
	in(t, func(t *testing.T) {
		store := storetest.NewMemory()
		here, there := start(t, store, false), start(t, store, false)
		e := here.listen(subscription())
		here.say(message.Feed{Channel: "1"}, "", "tick", "0")
		pass(time.Second)
		e.want("broadcast tick 0")
		e.Close()
		here.say(message.Feed{Channel: "1"}, "", "tick", "1")
		here.say(message.Feed{Global: true}, "", "tick", "2")
		here.vote("p", "U1")
		for name, p := range map[string]*process{"another": there, "the same, late": here} {
			pass(10 * time.Minute)
			t.Log(name)
			back := p.listen(e.again())
			back.want("broadcast resync {}", "broadcast tick 1", "global tick 2")
			here.say(message.Feed{Channel: "3"}, "", "tick", "9")
			pass(time.Second)
			back.want()
			back.Close()
		}
	})
}

// A process that has not heard of a message yet tells nobody of it who has.
func TestComingBackToOneThatIsBehind(t *testing.T) {
	in(t, func(t *testing.T) {
		store := storetest.NewMemory()
		ahead := start(t, store, false)
		behind := start(t, store, false, func(o *live.Options) { o.TailEvery = time.Minute })
		waiting, e := behind.listen(subscription()), ahead.listen(subscription())
		ahead.say(message.Feed{Channel: "1"}, "", "tick", "0")
		pass(time.Second)
		e.want("broadcast tick 0")
		e.Close()
		back := behind.listen(e.again())
		pass(time.Minute)
		waiting.want("broadcast tick 0")
		back.want("broadcast resync {}")
	})
}

// Messages that a process does not know of yet are told when it does, and not
// before, lest they be told twice.
func TestComingBackWhileMessagesAreUnderWay(t *testing.T) {
	in(t, func(t *testing.T) {
		store := storetest.NewMemory()
		writer := start(t, store, false)
		p := start(t, store, false, func(o *live.Options) { o.TailEvery = time.Minute })
		stays, e := p.listen(subscription()), p.listen(subscription())
		e.want()
		e.Close()
		writer.say(message.Feed{Channel: "1"}, "", "tick", "0")
		pass(2 * time.Minute)
		writer.say(message.Feed{Channel: "1"}, "", "tick", "1")
		e = p.listen(e.again())
		e.want("broadcast tick 0")
		pass(2 * time.Minute)
		e.want("broadcast tick 1")
		stays.want("broadcast tick 0", "broadcast tick 1")
	})
}

// Who begins to listen while many messages are told hears those that come after.
func TestComingInTheMiddle(t *testing.T) {
	in(t, func(t *testing.T) {
		store := storetest.NewMemory()
		writer := start(t, store, false)
		p := start(t, store, false, func(o *live.Options) { o.TailEvery = time.Minute })
		first := p.listen(subscription())
		for n := range 100 {
			writer.say(message.Feed{Channel: "1"}, "", "tick", fmt.Sprint(n))
		}
		var before []string
		for len(before) == 0 {
			pass(time.Millisecond)
			before = first.heard()
		}
		second := p.listen(subscription())
		var rest, late []string
		for range 100 {
			pass(time.Millisecond)
			rest, late = append(rest, first.heard()...), append(late, second.heard()...)
		}
		if len(before)+len(rest) != 100 || len(rest) == 0 || !slices.Equal(rest, late) {
			t.Errorf("%d and then %d messages were heard, and by the other %q", len(before), len(rest), late)
		}
	})
}

// Whether the log still has what was missed or has been trimmed makes no difference.
func TestTooMuchWasMissed(t *testing.T) {
	for _, trimmed := range []bool{false, true} {
		in(t, func(t *testing.T) { tooMuchWasMissed(t, trimmed) })
	}
}

func tooMuchWasMissed(t *testing.T, trimmed bool) {
	p := start(t, storetest.NewMemory(), true)
	stays, e := p.listen(subscription()), p.listen(subscription())
	e.want()
	e.Close()
	for n := range 300 {
		p.say(message.Feed{Channel: "1"}, "", "tick", fmt.Sprint(n))
		pass(time.Second)
		stays.want(fmt.Sprint("broadcast tick ", n))
	}
	if trimmed {
		feed := message.Feed{Environment: "production", Extension: "ext", Channel: "1"}
		report, err := p.messages.Trim(t.Context(), feed.Stream(), time.Now().Add(-10*time.Second))
		if err != nil || report.Chunks < 250 {
			t.Errorf("trimmed %+v, %v", report, err)
		}
		pass(time.Second)
		stays.want()
	}
	got := p.listen(e.again()).heard()
	if len(got) != 257 || got[0] != "broadcast resync {}" || got[1] != "broadcast tick 44" || got[256] != "broadcast tick 299" {
		t.Errorf("heard %d events: %q", len(got), got)
	}
}

func TestIDsThatAreNobodys(t *testing.T) {
	in(t, func(t *testing.T) {
		p := start(t, storetest.NewMemory(), true)
		for _, id := range []string{"7", "a.b.c.d", "x.1.y.2", "x.1.2.y", "x.99999999999999999999999.1.1", "....", "\x00"} {
			s := subscription()
			s.LastEventID = id
			p.listen(s).want("broadcast resync {}")
		}
	})
}
