package voting

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

// unlimited lets a fold take any memory.
func unlimited(int64) error { return nil }

// pastPoll is a poll with random commands, and what was read of it at the end of each second.
type pastPoll struct {
	t      *testing.T
	s      *Service
	random *rand.Rand
	began  int64
	tally  map[int64]string // by the second
	reset  int64            // the second of the last deletion
}

// pass runs commands for some seconds, and records what is read just before the next one.
func (p *pastPoll) pass(seconds int) {
	p.t.Helper()
	for range seconds {
		for range p.random.IntN(4) {
			<-time.After(time.Duration(p.random.IntN(240)) * time.Millisecond)
			p.run()
		}
		now := time.Now()
		<-time.After(now.Truncate(time.Second).Add(time.Second - time.Millisecond).Sub(now))
		tally, err := p.s.Tally(p.t.Context(), local, ann)
		if err != nil {
			p.t.Fatal(err)
		}
		p.tally[now.Unix()] = string(tally.AppendJSON(nil))
		<-time.After(time.Millisecond)
	}
}

func (p *pastPoll) run() {
	ctx, voter := p.t.Context(), []Voter{ann, bob, {OpaqueID: "Ueve"}}[p.random.IntN(3)]
	var err error
	switch p.random.IntN(30) {
	case 0:
		before, _ := p.s.Overview(ctx, local) // Reset meets the error, too
		err = p.s.Reset(ctx, local)
		if after, _ := p.s.Overview(ctx, local); after.Resets != before.Resets {
			p.reset = time.Now().Unix()
		}
	case 1, 2:
		err = p.s.Modify(ctx, local, voter.OpaqueID, p.random.Int64N(3))
	case 3:
		err = p.s.Configure(ctx, local, Config{DistinctOptionsPerUser: 9, VotesPerOption: 99, TotalVotesPerUser: 1 + p.random.Int64N(2)*99})
	default:
		_, err = p.s.Vote(ctx, local, voter, p.random.Int64N(40)-4, 1)
	}
	if err != nil && fault.KindOf(err) != fault.Invalid {
		p.t.Fatal(err)
	}
}

func (p *pastPoll) history(viewer bool, r HistoryRange) History {
	p.t.Helper()
	h, err := p.s.History(p.t.Context(), local, ann, viewer, r, unlimited)
	if err != nil {
		p.t.Fatal(err)
	}
	return h
}

// check compares histories with what was read at the time.
func (p *pastPoll) check(begins int64) {
	p.t.Helper()
	now := time.Now().Unix()
	for _, viewer := range []bool{false, true} {
		h := p.history(viewer, HistoryRange{From: p.began, Step: 1, To: now - 1})
		want, first := map[int64]string{}, max(p.began, begins)
		if viewer {
			first = max(first, p.reset)
		}
		for at, tally := range p.tally {
			if at >= first {
				want[at] = tally
			}
		}
		got := map[int64]string{}
		for _, point := range h.Points {
			tally, err := p.s.TallyAt(p.t.Context(), local, ann, viewer, point.At, unlimited)
			if err != nil {
				p.t.Fatal(err)
			}
			got[point.At] = string(tally.AppendJSON(nil))
			if statistics := string(point.AppendJSON(nil, tally.Vote)); statistics != got[point.At] {
				p.t.Errorf("at %d the history has %s, the tally %s", point.At, statistics, got[point.At])
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || h.Begins != begins {
			p.t.Errorf("viewer %v: it begins at %d, want %d (-as it was +history):\n%s", viewer, h.Begins, begins, diff)
		}
	}
}

// Histories repeat what was read at the time: to staff all of it, to viewers since the last
// deletion, and of a truncated log the rest.
func TestHistoryIsAsItWas(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			p := &pastPoll{
				t: t, s: open(t, storetest.NewMemory(), stream.Options{}),
				random: rand.New(rand.NewPCG(seed, 0)), began: time.Now().Unix(), tally: map[int64]string{},
			}
			p.pass(60)
			p.check(0)
			truncated := time.Now()
			p.pass(20)
			if _, err := p.s.Truncate(t.Context(), local.Stream(), truncated); err != nil {
				t.Fatal(err)
			}
			h := p.history(false, HistoryRange{})
			if h.Begins == 0 || h.Begins > truncated.Unix() {
				t.Fatalf("the truncated log begins at %d", h.Begins)
			}
			p.check(h.Begins)
			if _, err := p.s.TallyAt(t.Context(), local, ann, false, h.Begins-1, unlimited); fault.KindOf(err) != fault.NotFound {
				t.Errorf("before the log: %v", err)
			}
		})
		if t.Failed() {
			t.Fatalf("with seed %d", seed)
		}
	}
}

// A history has at most 1,000 points, the last of them at the end that was asked for.
func TestPointsOfAHistory(t *testing.T) {
	serve(t, func(t *testing.T, s *Service) {
		<-time.After(100 * time.Hour)
		first := time.Now().Unix()
		mustVote(t, s, local, ann, 1, 1)
		<-time.After(25 * time.Hour)
		now := time.Now().Unix()
		for name, test := range map[string]struct {
			r                  HistoryRange
			points             int
			from, second, last int64
		}{
			"all":          {HistoryRange{}, 101, first, first + 900, now},
			"a step":       {HistoryRange{Step: 1}, 999, now - 998, now - 997, now},
			"a long step":  {HistoryRange{Step: 80_000}, 3, first, first + 80_000, now},
			"a part":       {HistoryRange{From: first + 5, To: first + 8, Step: 2}, 3, first + 5, first + 7, first + 8},
			"the most":     {HistoryRange{From: now - 998, Step: 1}, 999, now - 998, now - 997, now},
			"one":          {HistoryRange{From: now - 9, To: now - 9}, 1, now - 9, 0, now - 9},
			"before it":    {HistoryRange{From: first - 100, To: first - 1, Step: 99}, 2, first - 100, first - 1, first - 1},
			"the future":   {HistoryRange{From: now - 1, To: now + 500}, 2, now - 1, now, now},
			"until a past": {HistoryRange{To: first + 1}, 2, first, first + 1, first + 1},
		} {
			h, err := s.History(t.Context(), local, ann, true, test.r, unlimited)
			if err != nil || len(h.Points) != test.points {
				t.Errorf("%s: %d points, %v", name, len(h.Points), err)
				continue
			}
			at := []int64{h.Points[0].At, 0, h.Points[len(h.Points)-1].At}
			if len(h.Points) > 1 {
				at[1] = h.Points[1].At
			}
			if diff := cmp.Diff([]int64{test.from, test.second, test.last}, at); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
		for _, r := range []HistoryRange{{From: now - 1000, Step: 1}, {From: now + 1}, {From: 9, To: 8}} {
			if _, err := s.History(t.Context(), local, ann, true, r, unlimited); fault.KindOf(err) != fault.Invalid {
				t.Errorf("%+v: %v", r, err)
			}
		}
	})
}

// A viewer sees the past where it sees the present, and of a deleted poll nothing.
func TestHistoryIsHiddenToo(t *testing.T) {
	serve(t, func(t *testing.T, s *Service) {
		var seen []string
		look := func() string {
			t.Helper()
			<-time.After(3 * time.Second)
			h, err := s.History(t.Context(), local, bob, true, HistoryRange{}, unlimited)
			if err != nil {
				t.Fatal(err)
			}
			past, err := s.TallyAt(t.Context(), local, bob, true, time.Now().Unix()-2, unlimited)
			if err != nil {
				t.Fatal(err)
			}
			if h.Hidden != past.Hidden || h.Hidden && (len(h.Points) > 0 || h.Begins > 0) {
				t.Errorf("the history is %+v, the tally %+v", h, past)
			}
			if h.Hidden {
				return "hidden"
			}
			return fmt.Sprint(string(past.tally.count.append(nil)), " ", string(h.Points[len(h.Points)-1].tally.count.append(nil)))
		}
		configure := func(v Visibility, ends int64) {
			t.Helper()
			config := DefaultConfig()
			config.ResultsVisibility, config.EndsAt = v, ends
			if err := s.Configure(t.Context(), local, config); err != nil {
				t.Fatal(err)
			}
		}
		configure(VisibleAfterVote, 0)
		mustVote(t, s, local, ann, 1, 1)
		seen = append(seen, look())
		mustVote(t, s, local, bob, 1, 1)
		seen = append(seen, look())
		configure(VisibleAfterClose, 0)
		seen = append(seen, look())
		configure(VisibleAfterClose, -1)
		seen = append(seen, look())
		configure(VisibleToStaff, 0)
		seen = append(seen, look())
		if err := s.Reset(t.Context(), local); err != nil {
			t.Fatal(err)
		}
		seen = append(seen, look())
		mustVote(t, s, local, bob, 1, 1)
		seen = append(seen, look())
		want := []string{"hidden", "2 2", "hidden", "2 2", "hidden", "0 0", "1 1"}
		if diff := cmp.Diff(want, seen); diff != "" {
			t.Errorf("a viewer sees (-want +got):\n%s", diff)
		}
	})
}

// A fold keeps the state and nothing of the log: of a log ten times as long it takes the same
// memory.
func TestFoldKeepsNothingOfTheLog(t *testing.T) {
	s := open(t, storetest.NewMemory(), stream.Options{})
	const voters = contract.MaxVotes
	longest := 0
	grow := func(chunks int) {
		t.Helper()
		for longest += chunks; chunks > 0; chunks-- {
			votes := make([]Submission, voters)
			for i := range votes {
				votes[i] = Submission{Voter: Voter{OpaqueID: fmt.Sprint("U", i)}, Value: int64(chunks % 32), Count: 1}
			}
			if _, err := s.VoteAll(t.Context(), local, votes, false, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	fold := func() (live, held int64) {
		t.Helper()
		before, calls := liveHeap(), 0
		_, err := s.History(t.Context(), local, ann, false, HistoryRange{}, func(bytes int64) error {
			if calls++; calls == longest { // before the last chunk
				live = liveHeap() - before
			}
			held = max(held, bytes)
			return nil
		})
		if err != nil || calls <= longest {
			t.Fatalf("%d calls for %d chunks, %v", calls, longest, err)
		}
		return live, held
	}
	grow(20)
	shortLive, shortHeld := fold()
	grow(180)
	longLive, longHeld := fold()
	const tolerance = 1 << 20 // the entries of the log take 10 MB
	if longHeld != shortHeld || longLive > shortLive+tolerance || longLive > longHeld+tolerance {
		t.Errorf("20 chunks hold %d bytes and take %d, 200 hold %d and take %d", shortHeld, shortLive, longHeld, longLive)
	}
	t.Logf("20 chunks hold %d bytes and take %d, 200 hold %d and take %d", shortHeld, shortLive, longHeld, longLive)
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC() // what pools hold goes with the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A fold whose state takes more than it may ends, that of a checkpoint alone too, and so does
// one whose caller goes.
func TestFoldEnds(t *testing.T) {
	serve(t, func(t *testing.T, s *Service) {
		for i := range 5 {
			mustVote(t, s, local, Voter{OpaqueID: fmt.Sprint("U", i)}, 1, 1)
			<-time.After(time.Second)
		}
		full := fault.New(fault.RateLimited, "full")
		check := func(name string, ctx context.Context, hold MemoryHold, want error) {
			t.Helper()
			_, history := s.History(ctx, local, ann, false, HistoryRange{}, hold)
			_, tally := s.TallyAt(ctx, local, ann, false, time.Now().Unix()-1, hold)
			if !errors.Is(history, want) || !errors.Is(tally, want) {
				t.Errorf("%s: %v, %v, want %v", name, history, tally, want)
			}
		}
		check("too large", t.Context(), func(int64) error { return full }, full)
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		check("gone", ctx, func(int64) error {
			if calls++; calls > 3 {
				t.Error("the fold goes on")
			}
			cancel()
			return nil
		}, context.Canceled)
		if _, err := s.Truncate(t.Context(), local.Stream(), time.Now()); err != nil {
			t.Fatal(err)
		}
		check("a checkpoint that is too large", t.Context(), func(int64) error { return full }, full)
	})
}
