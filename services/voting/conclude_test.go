package voting_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// shifted shows the time of a machine whose clock is off.
type shifted time.Duration

func (s shifted) Now() time.Time { return time.Now().Add(time.Duration(s)) }

func (shifted) Sleep(ctx context.Context, d time.Duration) error {
	return stream.SystemClock().Sleep(ctx, d)
}

// concluding is a poll that several processes serve.
type concluding struct {
	*testing.T
	store stream.Store
	votes int
}

// serve returns a process whose clock is off.
func (c *concluding) serve(off time.Duration, options stream.Options) *voting.Service {
	s := voting.NewService(c.store, shifted(off), options)
	c.Cleanup(func() { _ = s.Close(context.WithoutCancel(c.Context())) })
	return s
}

func (c *concluding) vote(s *voting.Service) error {
	c.votes++
	_, err := s.Vote(c.Context(), forwardedPoll, voting.Voter{OpaqueID: fmt.Sprint("U", c.votes)}, 1, 1)
	return err
}

func (c *concluding) configure(s *voting.Service, ends time.Time) {
	c.Helper()
	config := voting.DefaultConfig()
	config.EndsAt = ends.Unix()
	if err := s.Configure(c.Context(), forwardedPoll, config); err != nil {
		c.Fatal(err)
	}
}

func (c *concluding) conclude(s *voting.Service) voting.Overview {
	c.Helper()
	o, err := s.Conclude(c.Context(), forwardedPoll, time.Now())
	if err != nil {
		c.Fatal(err)
	}
	return o
}

// untilClosed concludes as often as the poll asks for it.
func (c *concluding) untilClosed(s *voting.Service) voting.Overview {
	c.Helper()
	for range 100 {
		o := c.conclude(s)
		if o.Closed {
			return o
		}
		if o.Wait <= 0 || o.Wait > 500*time.Millisecond || o.Status(time.Now()) != contract.Active {
			c.Fatalf("not closed: wait %v, %s", o.Wait, o.Status(time.Now()))
		}
		<-time.After(o.Wait)
	}
	c.Fatal("the poll does not close")
	return voting.Overview{}
}

func countOf(o voting.Overview) int {
	var figures struct{ Count int }
	_ = json.Unmarshal(o.AppendJSON(nil, nil), &figures) // it is JSON
	return figures.Count
}

func nextEnd() time.Time { return time.Now().Truncate(time.Second).Add(10 * time.Second) }

// A poll closes when the owner's clock says so, however early another process asks, and then for
// every process. One chunk without entries proves that, which shows nowhere but in the length of
// the log.
func TestConclude(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &concluding{T: t, store: storetest.NewMemory()}
		slow := c.serve(-2*time.Second, stream.Options{})
		s := c.serve(0, stream.Options{Peers: &owner{service: slow}})
		for round := range 2 { // the second time it is opened again
			ends := nextEnd()
			c.configure(s, ends)
			<-time.After(time.Until(ends) + time.Second)
			before := c.conclude(s)
			if err := c.vote(s); err != nil || before.Closed {
				t.Fatalf("a vote that the owner takes: %v, closed before it: %v", err, before.Closed)
			}
			head := c.conclude(s).Head
			closed := c.untilClosed(s)
			if late := time.Since(ends); countOf(closed) != c.votes || closed.Head != head+1 || late != 2*time.Second {
				t.Errorf("closed %v after the end with %d of %d votes at %d, after %d", late, countOf(closed), c.votes, closed.Head, head)
			}
			behind := c.serve(-5*time.Minute, stream.Options{})
			for name, other := range map[string]*voting.Service{"slow": slow, "forwarding": s, "behind": behind} {
				if o := c.conclude(other); !o.Closed || o.Head != closed.Head || o.Wait != 0 {
					t.Errorf("%s: closed %v at %d, wait %v", name, o.Closed, o.Head, o.Wait)
				}
				if o, err := other.Overview(t.Context(), forwardedPoll); err != nil || !o.Closed || o.Status(ends.Add(-time.Hour)) != contract.Expired {
					t.Errorf("%s: read as closed: %v, %v", name, o.Closed, err)
				}
				if _, err := other.Vote(t.Context(), forwardedPoll, voting.Voter{OpaqueID: "late"}, 1, 1); err == nil || err.Error() != "poll is closed" {
					t.Errorf("%s: a vote after the end: %v", name, err)
				}
			}
			c.checkLog(s, round+1)
		}
	})
}

// checkLog checks that the log shows votes and so many configurations alone, and verifies it.
func (c *concluding) checkLog(s *voting.Service, configs int) {
	c.Helper()
	records := 0
	for _, err := range s.LogWithConfigs(c.Context(), forwardedPoll, voting.Cursor{}) {
		if err != nil {
			c.Fatal(err)
		}
		records++
	}
	if records != c.votes+configs {
		c.Errorf("the log has %d records of %d votes and %d configurations", records, c.votes, configs)
	}
	if report, err := s.Verify(c.Context(), forwardedPoll.Stream()); err != nil || report.Entries != uint64(records) {
		c.Errorf("verify: %+v, %v", report, err)
	}
}

// Concluding a poll stores nothing where no vote is kept out by it.
func TestConcludeWithoutNeed(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(c *concluding, s *voting.Service)
		closed  bool
	}{
		"never used":      {func(*concluding, *voting.Service) {}, false},
		"only voted in":   {func(c *concluding, s *voting.Service) { _ = c.vote(s) }, false},
		"without an end":  {func(c *concluding, s *voting.Service) { c.configure(s, time.Unix(0, 0)) }, false},
		"not ended":       {func(c *concluding, s *voting.Service) { c.configure(s, time.Now().Add(time.Hour)) }, false},
		"ended at once":   {func(c *concluding, s *voting.Service) { c.configure(s, time.Now().Add(-time.Minute)) }, true},
		"ended long ago":  {func(c *concluding, s *voting.Service) { c.configure(s, nextEnd()); <-time.After(2 * time.Hour) }, true},
		"written to then": {func(c *concluding, s *voting.Service) { c.configure(s, nextEnd()); c.modify(s, time.Minute) }, true},
		"deleted": {func(c *concluding, s *voting.Service) {
			c.configure(s, nextEnd())
			<-time.After(time.Minute)
			_ = s.Reset(c.Context(), forwardedPoll)
		}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := &concluding{T: t, store: storetest.NewMemory()}
			s := c.serve(0, stream.Options{})
			test.prepare(c, s)
			before, err := s.Overview(t.Context(), forwardedPoll)
			if err != nil {
				t.Fatal(err)
			}
			if o := c.conclude(s); o.Head != before.Head || o.Closed != test.closed || o.Wait != 0 {
				t.Errorf("%s: closed %v at %d, was %d, wait %v", name, o.Closed, o.Head, before.Head, o.Wait)
			}
		})
	}
}

func (c *concluding) modify(s *voting.Service, after time.Duration) {
	<-time.After(after)
	_ = s.Modify(c.Context(), forwardedPoll, "U1", 1)
}

// While no chunk can be stored the poll is not closed, and what is read of it is answered.
func TestConcludeWhileTheStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := &failing{Store: storetest.NewMemory()}
		c := &concluding{T: t, store: away}
		s := c.serve(0, stream.Options{})
		c.configure(s, nextEnd())
		if err := c.vote(s); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		away.fails.Store(true)
		if o := c.conclude(s); o.Closed || countOf(o) != 1 || o.Wait != 500*time.Millisecond {
			t.Errorf("closed %v with %d votes, wait %v", o.Closed, countOf(o), o.Wait)
		}
		away.fails.Store(false)
		if o := c.conclude(s); !o.Closed || countOf(o) != 1 {
			t.Errorf("closed %v with %d votes", o.Closed, countOf(o))
		}
	})
}

// failing is a store that takes no chunk while fails is set.
type failing struct {
	stream.Store
	fails atomic.Bool
}

func (f *failing) Append(ctx context.Context, chunk stream.Chunk) error {
	if f.fails.Load() {
		return fault.Wrap(fault.Unavailable, errors.New("no primary"), "no primary")
	}
	return f.Store.Append(ctx, chunk)
}

// earlier is an owner of an earlier release, which does not tell the time of its last chunk.
type earlier struct{ *owner }

func (e earlier) Owner(string) stream.Peer { return e }

func (e earlier) Send(ctx context.Context, request []byte, receive func(part []byte)) error {
	return e.owner.Send(ctx, request, func(part []byte) {
		r := wire.NewReader(part)
		group, frame := r.Uvarint(), r.Bytes()
		frame = frame[:len(frame)-len(binary.AppendVarint(nil, time.Now().UnixMilli()))] // the time is last
		receive(wire.AppendBytes(binary.AppendUvarint(nil, group), frame))
	})
}

// While a process of an earlier release is alive, this one closes the poll itself, and the owner
// accepts no vote either.
func TestConcludeBesideEarlierReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &concluding{T: t, store: storetest.NewMemory()}
		old := earlier{&owner{service: c.serve(-2*time.Second, stream.Options{})}}
		s := c.serve(0, stream.Options{Peers: old, PeersRead: func(level stream.Level) bool { return level < stream.LevelConclusions }})
		ends := nextEnd()
		c.configure(s, ends)
		<-time.After(time.Until(ends))
		if o := c.conclude(s); !o.Closed {
			t.Error("the poll is not closed")
		}
		if err := c.vote(s); err == nil || err.Error() != "poll is closed" {
			t.Errorf("a vote after the end: %v", err)
		}
		if o, err := s.Overview(t.Context(), forwardedPoll); err != nil || o.Closed {
			t.Errorf("read from the earlier release: closed %v, %v", o.Closed, err)
		}
		if o := c.conclude(s); !o.Closed || o.Head != 2 {
			t.Errorf("again: closed %v at %d", o.Closed, o.Head)
		}
	})
}
