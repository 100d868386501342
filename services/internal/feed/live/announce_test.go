package live

import (
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// configure saves a configuration of the poll "p".
func (p *process) configure(change func(*voting.Config)) {
	p.t.Helper()
	config := voting.DefaultConfig()
	change(&config)
	if err := p.votes.Configure(p.t.Context(), pollOf("p"), config); err != nil {
		p.t.Fatal(err)
	}
}

// A poll is announced once for each configuration and for each transition, by the clock
// and without votes, whichever process its configuration came through.
func TestAnnouncements(t *testing.T) {
	for name, alone := range map[string]bool{"hinted": true, "by the tail": false} {
		in(t, func(t *testing.T) {
			store := storetest.NewMemory()
			writer := start(t, store, alone)
			p := writer
			if !alone {
				p = start(t, store, false)
			}
			t.Log(name)
			all, one := p.subscribe(subscription("poll_update:*")), p.subscribe(subscription("poll_update:p"))
			want := func(events ...string) {
				t.Helper()
				pass(2 * time.Second)
				all.want(events...)
				one.want(events...)
			}
			now := time.Now().Unix()
			writer.vote("p", "U1")
			want() // staff has not configured it
			writer.configure(func(c *voting.Config) { c.StartsAt, c.EndsAt = now+60, now+120 })
			want("broadcast poll_update:p pending")
			writer.configure(func(c *voting.Config) { c.StartsAt, c.EndsAt = now+60, now+120 })
			want() // the same
			pass(time.Until(time.Unix(now+60, 0)) - time.Millisecond)
			want("broadcast poll_update:p active")
			writer.vote("p", "U2")
			want()
			pass(time.Until(time.Unix(now+120, 0)) - time.Millisecond)
			want("broadcast poll_update:p expired")
			writer.configure(func(c *voting.Config) { c.StartsAt, c.EndsAt = now+60, now+1000 })
			want("broadcast poll_update:p active") // reopened; a start in the past is no transition
			writer.configure(func(c *voting.Config) { c.Prompt = "1" })
			writer.configure(func(c *voting.Config) { c.Prompt = "2" })
			pass(2 * time.Second)
			if got := all.received(); len(got) == 0 || len(got) > 2 {
				t.Errorf("two quick configurations: %q", got)
			}
			one.received()
			writer.reset("p")
			want()
			writer.configure(func(c *voting.Config) { c.Prompt = "2" })
			want("broadcast poll_update:p active")
		})
	}
}

// A client that resumes receives the value of its side, and none that it replaced: neither
// numbers that are hidden by now, nor an older value after a newer one.
func TestResumeAfterHiding(t *testing.T) {
	in(t, func(t *testing.T) {
		p := start(t, storetest.NewMemory(), true)
		p.configure(func(*voting.Config) {})
		all := subscription()
		all.Staff = true
		viewer, staff := p.subscribe(subscription()), p.subscribe(all)
		viewer.want()
		staff.want()
		before, beforeStaff := viewer.last, staff.last
		p.vote("p", "U1")
		pass(2 * time.Second)
		viewer.want("broadcast vote_update:p 1 votes")
		p.configure(func(c *voting.Config) { c.ResultsVisibility = voting.VisibleToStaff })
		pass(2 * time.Second)
		viewer.want("broadcast poll_update:p active", "broadcast vote_update:p 0 votes")
		p.vote("p", "U2")
		pass(2 * time.Second)
		again := subscription()
		again.LastEventID, all.LastEventID = before, beforeStaff
		back, staffBack := p.subscribe(again), p.subscribe(all)
		pass(2 * time.Second)
		back.want("broadcast poll_update:p active", "broadcast vote_update:p 0 votes")
		staffBack.want("broadcast poll_update:p active", "broadcast vote_update:p 2 votes")
	})
}

// Staff receives hidden results at once, viewers at the close, and not what comes between:
// neither events nor numbers in the ids of others.
func TestHiddenUpdates(t *testing.T) {
	for name, alone := range map[string]bool{"hinted": true, "by the tail": false} {
		in(t, func(t *testing.T) {
			t.Log(name)
			p := start(t, storetest.NewMemory(), alone)
			ends := time.Now().Unix() + 60
			p.configure(func(c *voting.Config) { c.ResultsVisibility, c.EndsAt = voting.VisibleAfterClose, ends })
			all := subscription()
			all.Staff = true
			viewer, staff := p.subscribe(subscription()), p.subscribe(all)
			viewer.want()
			before := viewer.last
			for _, voter := range []string{"U1", "U2", "U3"} {
				p.vote("p", voter)
				pass(2 * time.Second)
			}
			staff.want("broadcast vote_update:p 1 votes", "broadcast vote_update:p 2 votes", "broadcast vote_update:p 3 votes")
			viewer.want()
			again := subscription()
			again.LastEventID = before
			back := p.subscribe(again)
			pass(2 * time.Second)
			back.want()
			if back.last != before {
				t.Errorf("hidden votes move the id from %s to %s", before, back.last)
			}
			pass(time.Until(time.Unix(ends, 0)))
			for _, c := range []*client{viewer, back} {
				c.want("broadcast poll_update:p expired", "broadcast vote_update:p 3 votes")
			}
			staff.want("broadcast poll_update:p expired", "broadcast vote_update:p 3 votes")
			last := viewer.last
			p.configure(func(c *voting.Config) { c.ResultsVisibility = voting.VisibleAfterClose })
			pass(2 * time.Second)
			viewer.want("broadcast poll_update:p active", "broadcast vote_update:p 0 votes") // hidden again
			staff.want("broadcast poll_update:p active")
			again.LastEventID = last
			pass(2 * time.Second)
			missed := p.subscribe(again)
			pass(2 * time.Second)
			missed.want("broadcast poll_update:p active", "broadcast vote_update:p 0 votes")
			p.configure(func(c *voting.Config) {})
			pass(2 * time.Second)
			viewer.want("broadcast poll_update:p active", "broadcast vote_update:p 3 votes")
			staff.want("broadcast poll_update:p active")
		})
	}
}
