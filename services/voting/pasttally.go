package voting

import (
	"cmp"
	"context"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// HistoryRange selects the points of a history: one each Step seconds from From to To, and
// one at To. Both are Unix seconds. 0 stands for the beginning of the log, for now, and for
// the step that makes about [contract.DefaultPoints].
type HistoryRange struct{ From, To, Step int64 }

// HistoryPoint holds the statistics as they were after all votes whose timestamp is At,
// in Unix seconds, or less.
type HistoryPoint struct {
	At int64
	// Version belongs to the configuration in force; 0 without one.
	Version int64
	*Statistics
}

// History holds the points that a poll's log gives.
type History struct {
	Points []HistoryPoint
	// Begins has the time at which a truncated log begins, in Unix seconds; 0 where nothing
	// is missing.
	Begins int64
	// Hidden reports that the caller may not see the results now; there are no points then.
	Hidden bool
}

// MemoryHold is called while a log is folded with the bytes that the folded state takes,
// which grow with the voters and not with the log. Its error ends the fold.
type MemoryHold func(bytes int64) error

// History returns the statistics as they were. A viewer sees those since the last deletion,
// if it may see the results now.
func (s *Service) History(ctx context.Context, p Poll, v Voter, viewer bool, r HistoryRange, hold MemoryHold) (History, error) {
	now := s.clock.Now().Unix()
	r.To = min(cmp.Or(r.To, now), now)
	if r.From > r.To {
		return History{}, fault.New(fault.Invalid, "from must not be after to")
	}
	if r.From > 0 && r.Step > 0 && (r.To-r.From)/r.Step > contract.MaxPoints-2 {
		return History{}, fault.Newf(fault.Invalid, "A history must have at most %d points", contract.MaxPoints)
	}
	if hidden, _, err := s.HidesPast(ctx, p, v, viewer); hidden || err != nil {
		return History{Hidden: hidden}, err
	}
	var c *pointCollector
	span, last, err := s.foldPast(ctx, p, hold, func() func(stream.Span, *State) bool {
		c = &pointCollector{wanted: r, viewer: viewer}
		return c.collect
	})
	if err != nil {
		return History{}, err
	}
	c.collectLast(span, last)
	// Looking again keeps out what was voted after a configuration that hides it.
	hidden, resets, err := s.HidesPast(ctx, p, v, viewer)
	if hidden || err != nil {
		return History{Hidden: hidden}, err
	}
	if viewer && c.resets != resets {
		c.points = nil
	}
	return History{Points: c.points, Begins: c.begins}, nil
}

// foldPast folds the log of a poll, as [stream.Engine.Fold] does, within the memory that may
// be held.
func (s *Service) foldPast(ctx context.Context, p Poll, hold MemoryHold, newShow func() func(stream.Span, *State) bool) (span stream.Span, last *State, err error) {
	var refused error
	span, last, err = s.engine.Fold(ctx, p.Stream(), func() func(stream.Span, *State) bool {
		show := newShow()
		return func(span stream.Span, s *State) bool {
			refused = hold(int64(s.memorySize()))
			return refused == nil && show(span, s)
		}
	})
	if err == nil && refused == nil {
		refused = hold(int64(last.memorySize())) // that of a checkpoint was never shown
	}
	return span, last, cmp.Or(refused, err)
}

// HidesPast reports whether the results are hidden from a viewer now, and how often the poll was
// deleted. From others nothing is hidden, and their answers do not depend on that.
func (s *Service) HidesPast(ctx context.Context, p Poll, v Voter, viewer bool) (hidden bool, resets uint64, err error) {
	if !viewer {
		return false, 0, nil
	}
	tally, err := s.Tally(ctx, p, v)
	if err != nil || tally.Hidden {
		return tally.Statistics != nil && tally.Hidden, 0, err
	}
	o, err := s.Overview(ctx, p)
	return false, o.Resets, err
}

// pointCollector collects the points of a history while a log is folded.
type pointCollector struct {
	wanted HistoryRange
	viewer bool

	started bool
	resets  uint64 // of the states that it saw last
	begins  int64
	from    int64
	step    int64
	next    int64 // the next point; after wanted.To when there is none
	points  []HistoryPoint
}

// collect adds the points of a span, and reports whether there are more.
func (c *pointCollector) collect(span stream.Span, s *State) bool {
	since, until := span.Since/1000, span.Until/1000
	switch {
	case !c.started && span.Truncated:
		c.begins = since
		c.start(since, since)
	case !c.started:
		c.start(until, 0) // nothing is before the first chunk
	case c.viewer && s.resets != c.resets:
		c.points = nil
		c.start(since, since)
	}
	c.resets = s.resets
	for c.next <= c.wanted.To && c.next < until {
		c.add(s)
	}
	return c.next <= c.wanted.To
}

// collectLast adds the points after the last chunk.
func (c *pointCollector) collectLast(span stream.Span, s *State) {
	if span.Until == 0 {
		span.Until = (c.wanted.To + 1) * 1000
		c.collect(span, s)
	}
}

// start sets the points, the first of them where a poll begins unless another was asked for,
// but none before what is known.
func (c *pointCollector) start(begin, known int64) {
	to := c.wanted.To
	c.started, c.from, c.step = true, c.wanted.From, c.wanted.Step
	if c.from == 0 {
		c.from = min(begin, to)
		if c.step > 0 {
			c.from = max(c.from, to-(contract.MaxPoints-2)*c.step)
		}
	}
	if c.step == 0 {
		c.step = max(1, (to-c.from+contract.DefaultPoints-1)/contract.DefaultPoints)
	}
	c.next = c.from
	if missing := known - c.next; missing > 0 {
		c.next += (missing + c.step - 1) / c.step * c.step
	}
	if c.next > to && known <= to {
		c.next = to
	}
}

func (c *pointCollector) add(s *State) {
	c.points = append(c.points, HistoryPoint{At: c.next, Version: s.currentConfig().Version, Statistics: s.Statistics()})
	if before := c.next; before < c.wanted.To {
		c.next = min(before+c.step, c.wanted.To)
	} else {
		c.next++
	}
}

// TallyAt returns what Tally returned at a time in Unix seconds, after all votes with that
// timestamp. A viewer that may not see the results now gets what Tally returns now; one
// that asks for the time before the last deletion gets the tally of an unused poll. The error is
// fault.NotFound for a time before a truncated log.
func (s *Service) TallyAt(ctx context.Context, p Poll, v Voter, viewer bool, at int64, hold MemoryHold) (Tally, error) {
	now, err := s.Tally(ctx, p, v)
	if err != nil || viewer && now.Hidden || at >= s.clock.Now().Unix() {
		return now, err
	}
	span, past, err := s.foldPast(ctx, p, hold, func() func(stream.Span, *State) bool {
		return func(span stream.Span, _ *State) bool { return span.Until/1000 <= at }
	})
	if err != nil {
		return Tally{}, err
	}
	if span.Truncated && at < span.Since/1000 {
		return Tally{}, fault.Newf(fault.NotFound, "The log begins at %d", span.Since/1000)
	}
	hidden, resets, err := s.HidesPast(ctx, p, v, viewer)
	switch {
	case err != nil:
		return Tally{}, err
	case hidden:
		return s.Tally(ctx, p, v)
	case viewer && past.resets != resets:
		past = &State{}
	}
	return Tally{Statistics: past.Statistics(), Vote: past.latestVote(v)}, nil
}
