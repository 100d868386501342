package live

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/message"
	"github.com/acclaim-dev/acclaim/services/state"
)

// again returns a subscription that resumes from the client's last event.
func (c *client) again() Subscription {
	s := subscription()
	s.LastEventID = c.last
	return s
}

// A client that reconnects to the same process receives every message it missed, and
// of all other sources the current value, once.
func TestResume(t *testing.T) {
	in(t, func(t *testing.T) {
		p := start(t, storetest.NewMemory(), true)
		channel := message.Feed{Channel: "1"}
		e := p.subscribe(subscription())
		e.want()
		e.Close()
		for n := range 3 {
			p.vote("a", fmt.Sprint("U", n))
			p.vote("b", fmt.Sprint("U", n))
			p.publish(channel, "", "tick", fmt.Sprint(n))
			p.publish(channel, "U6", "hint", "0")
			p.write(state.Channel, fmt.Sprint(`{"n":`, n, `}`))
			pass(3 * time.Second)
		}
		p.reset("b")
		e = p.subscribe(e.again())
		pass(time.Second)
		got := e.received()
		slices.Sort(got[3:])
		want := []string{"broadcast tick 0", "broadcast tick 1", "broadcast tick 2", `broadcast channel_state_update {"n":2}`,
			"broadcast vote_delete:b", "broadcast vote_update:a 3 votes", "broadcast vote_update:b 0 votes"}
		if !slices.Equal(got, want) {
			t.Errorf("received %q, want %q", got, want)
		}
		e.Close()
		e = p.subscribe(e.again())
		pass(time.Second)
		e.want()
		p.publish(channel, "", "tick", "3")
		e.want("broadcast tick 3")
	})
}

// A client that reconnects, however quickly, receives no value that is outdated.
func TestResumeWithCurrentValues(t *testing.T) {
	in(t, func(t *testing.T) {
		p := start(t, storetest.NewMemory(), true)
		stays, e := p.subscribe(subscription()), p.subscribe(subscription())
		e.want()
		e.Close()
		p.write(state.Channel, `{"n":1}`)
		stays.want(`broadcast channel_state_update {"n":1}`)
		p.vote("a", "U1")
		stays.want("broadcast vote_update:a 1 votes")
		p.vote("a", "U2") // published in a second
		e = p.subscribe(e.again())
		pass(500 * time.Millisecond)
		e.want(`broadcast channel_state_update {"n":1}`)
		pass(time.Second)
		e.want("broadcast vote_update:a 2 votes")
		stays.want("broadcast vote_update:a 2 votes")
	})
}

// A client that disconnects before it received what it missed receives it the next
// time.
func TestResumeTwice(t *testing.T) {
	in(t, func(t *testing.T) {
		p := start(t, storetest.NewMemory(), true)
		stays, e := p.subscribe(subscription()), p.subscribe(subscription())
		e.want()
		e.Close()
		p.vote("a", "U1")
		stays.received()
		e = p.subscribe(e.again()) // a's turn comes in a second
		p.vote("b", "U1")
		e.want("broadcast vote_update:b 1 votes")
		e.Close()
		pass(2 * time.Second)
		e = p.subscribe(e.again())
		pass(2 * time.Second)
		got := e.received()
		slices.Sort(got)
		if want := []string{"broadcast vote_update:a 1 votes", "broadcast vote_update:b 1 votes"}; !slices.Equal(got, want) {
			t.Errorf("received %q, want %q", got, want)
		}
	})
}

// A client that reconnects to another process, or too late, receives the messages it
// missed and a resync event for the rest.
func TestResumeElsewhere(t *testing.T) {
	in(t, func(t *testing.T) {
		store := storetest.NewMemory()
		here, there := start(t, store, false), start(t, store, false)
		e := here.subscribe(subscription())
		here.publish(message.Feed{Channel: "1"}, "", "tick", "0")
		pass(time.Second)
		e.want("broadcast tick 0")
		e.Close()
		here.publish(message.Feed{Channel: "1"}, "", "tick", "1")
		here.publish(message.Feed{Global: true}, "", "tick", "2")
		here.vote("p", "U1")
		for name, p := range map[string]*process{"another": there, "the same, late": here} {
			pass(10 * time.Minute)
			t.Log(name)
			back := p.subscribe(e.again())
			back.want("broadcast resync {}", "broadcast tick 1", "global tick 2")
			here.publish(message.Feed{Channel: "3"}, "", "tick", "9")
			pass(time.Second)
			back.want()
			back.Close()
		}
	})
}

// A process that learns late of a message does not send it to a client that has it.
func TestResumeAtAProcessThatIsBehind(t *testing.T) {
	in(t, func(t *testing.T) {
		store := storetest.NewMemory()
		ahead := start(t, store, false)
		behind := start(t, store, false, func(_ *Options, t *tuning) { t.tailEvery = time.Minute })
		waiting, e := behind.subscribe(subscription()), ahead.subscribe(subscription())
		ahead.publish(message.Feed{Channel: "1"}, "", "tick", "0")
		pass(time.Second)
		e.want("broadcast tick 0")
		e.Close()
		back := behind.subscribe(e.again())
		pass(time.Minute)
		waiting.want("broadcast tick 0")
		back.want("broadcast resync {}")
	})
}

// A process sends messages that it does not know yet once it does, and not before:
// otherwise it would send them twice.
func TestResumeBeforeTheTailIsPolled(t *testing.T) {
	in(t, func(t *testing.T) {
		store := storetest.NewMemory()
		writer := start(t, store, false)
		p := start(t, store, false, func(_ *Options, t *tuning) { t.tailEvery = time.Minute })
		stays, e := p.subscribe(subscription()), p.subscribe(subscription())
		e.want()
		e.Close()
		writer.publish(message.Feed{Channel: "1"}, "", "tick", "0")
		pass(2*time.Minute + time.Second) // not when the tail is polled
		writer.publish(message.Feed{Channel: "1"}, "", "tick", "1")
		e = p.subscribe(e.again())
		e.want("broadcast tick 0")
		pass(2 * time.Minute)
		e.want("broadcast tick 1")
		stays.want("broadcast tick 0", "broadcast tick 1")
	})
}

// A client that subscribes while many messages are published receives the later ones.
func TestSubscribeBetweenMessages(t *testing.T) {
	in(t, func(t *testing.T) {
		store := storetest.NewMemory()
		writer := start(t, store, false)
		p := start(t, store, false, func(_ *Options, t *tuning) { t.tailEvery = time.Minute })
		first := p.subscribe(subscription())
		for n := range 100 {
			writer.publish(message.Feed{Channel: "1"}, "", "tick", fmt.Sprint(n))
		}
		var before []string
		for len(before) == 0 {
			pass(time.Millisecond)
			before = first.received()
		}
		second := p.subscribe(subscription())
		var rest, late []string
		for range 100 {
			pass(time.Millisecond)
			rest, late = append(rest, first.received()...), append(late, second.received()...)
		}
		if len(before)+len(rest) != 100 || len(rest) == 0 || !slices.Equal(rest, late) {
			t.Errorf("%d and then %d messages were received, and by the other %q", len(before), len(rest), late)
		}
	})
}

// Whether the log still has the missed messages or is truncated makes no difference.
func TestTooMuchWasMissed(t *testing.T) {
	for _, trimmed := range []bool{false, true} {
		in(t, func(t *testing.T) { tooMuchWasMissed(t, trimmed) })
	}
}

func tooMuchWasMissed(t *testing.T, trimmed bool) {
	p := start(t, storetest.NewMemory(), true)
	stays, e := p.subscribe(subscription()), p.subscribe(subscription())
	e.want()
	e.Close()
	for n := range 300 {
		p.publish(message.Feed{Channel: "1"}, "", "tick", fmt.Sprint(n))
		pass(time.Second)
		stays.want(fmt.Sprint("broadcast tick ", n))
	}
	if trimmed {
		feed := message.Feed{Environment: "production", Extension: "ext", Channel: "1"}
		report, err := p.messages.Truncate(t.Context(), feed.Stream(), time.Now().Add(-10*time.Second))
		if err != nil || report.Chunks < 250 {
			t.Errorf("trimmed %+v, %v", report, err)
		}
		pass(time.Second)
		stays.want()
	}
	got := p.subscribe(e.again()).received()
	if len(got) != 257 || got[0] != "broadcast resync {}" || got[1] != "broadcast tick 44" || got[256] != "broadcast tick 299" {
		t.Errorf("received %d events: %q", len(got), got)
	}
}

func TestUnknownEventIDs(t *testing.T) {
	in(t, func(t *testing.T) {
		p := start(t, storetest.NewMemory(), true)
		for _, id := range []string{"7", "a.b.c.d", "x.1.y.2", "x.1.2.y", "x.99999999999999999999999.1.1", "....", "\x00"} {
			s := subscription()
			s.LastEventID = id
			p.subscribe(s).want("broadcast resync {}")
		}
	})
}

// Whispers of other viewers flush neither the broadcaster's messages nor, by themselves, the
// place from which a client resumes in them.
func TestResumeAfterManyWhispers(t *testing.T) {
	in(t, func(t *testing.T) {
		p := start(t, storetest.NewMemory(), true)
		e := p.subscribe(subscription("*"))
		p.publish(message.Feed{Channel: "1"}, "", "tick", "0")
		pass(time.Second)
		e.want("broadcast tick 0")
		e.Close()
		p.publish(message.Feed{Channel: "1"}, "", "important", "1")
		data := `"` + strings.Repeat("y", 5_000) + `"`
		for range 249 {
			p.publish(message.Feed{Channel: "1"}, "U9", "x", data)
		}
		pass(time.Second)
		again := subscription("*")
		again.LastEventID = e.last
		got := p.subscribe(again).received()
		if !slices.Contains(got, "broadcast important 1") {
			t.Errorf("received %q", got)
		}
	})
}

// The resync event with which a process answers a client that knows more than it does has an id
// that is not older than the client's: from there no message and no entry comes again.
func TestResyncIsNotOlderThanTheClient(t *testing.T) {
	in(t, func(t *testing.T) {
		store := storetest.NewMemory()
		ahead := start(t, store, false)
		behind := start(t, store, false, func(_ *Options, t *tuning) { t.tailEvery = time.Minute })
		topics := staffSubscription(true, "*", "accumulate:b")
		waiting, e := behind.subscribe(topics), ahead.subscribe(topics) // so that behind follows all, as it is now
		ahead.publish(message.Feed{Channel: "1"}, "", "tick", "0")
		ahead.accumulate("1", 0)
		pass(time.Second)
		got := e.entries() // two streams have no order between them
		slices.Sort(got)
		if want := []string{"1:0", "broadcast tick 0"}; !slices.Equal(got, want) {
			t.Fatalf("received %q, want %q", got, want)
		}
		e.Close()
		again := topics
		again.LastEventID = e.last
		resync := behind.subscribe(again).queued[0]
		if resync.Event == nil || resync.Event.Name != "resync" {
			t.Fatalf("the first event is %+v", resync.Event)
		}
		again.LastEventID = resync.ID.String() // the connection breaks just after it
		back := ahead.subscribe(again)
		pass(time.Second)
		back.wantEntries("broadcast resync {}")
		waiting.received()
	})
}
