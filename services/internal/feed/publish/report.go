package publish

import (
	"context"
	"errors"
	"time"

	"golang.org/x/mod/sumdb/tlog"
	"golang.org/x/sync/errgroup"

	"github.com/acclaim-dev/acclaim/api/verifiable"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/resultlog"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// reportOnce closes polls whose end has passed, and reports the lists that have changed.
func (p *Publisher) reportOnce(ctx context.Context) error {
	p.rounds.Lock()
	defer p.rounds.Unlock()
	now := p.Clock.Now()
	for poll, end := range p.ends {
		if !now.Before(end) {
			delete(p.ends, poll)
			p.queue.add(poll)
		}
	}
	if p.again.Swap(false) || now.Sub(p.looked) >= lookEvery {
		if err := p.lookAtAll(ctx); err != nil {
			return err
		}
		p.looked = now
	}
	polls := p.queue.take(reportsPerRound)
	if len(polls) == 0 {
		return nil
	}
	return p.report(ctx, polls)
}

// lookAtAll queues every poll whose list may get further leaves.
func (p *Publisher) lookAtAll(ctx context.Context) error {
	if log, err := p.Log.Read(ctx); err != nil || log.Origin == "" {
		return err // a log begins with the first poll that has a list
	}
	if err := p.openLog(ctx); err != nil {
		return err
	}
	for after := ""; p.queue.len() < maxQueued; {
		names, err := p.Log.Unfinished(ctx, after)
		if err != nil || len(names) == 0 {
			return err
		}
		for _, name := range names {
			if poll, err := voting.ParseStream(name); err == nil {
				p.queue.add(poll)
			}
			after = name
		}
	}
	return nil
}

// report reports polls. Those whose report fails, but for contradictions, wait again.
func (p *Publisher) report(ctx context.Context, polls []voting.Poll) error {
	// First, as a store that was restored meanwhile needs a new log: no proof leads from the former one.
	begun := p.hasSigned()
	if begun {
		if err := p.openLog(ctx); err != nil {
			p.queueAgain(polls)
			return err
		}
	}
	heads, reports, errs := p.newReports(ctx, polls)
	var sent []resultlog.Report
	var of []int // places in polls
	for i, r := range reports {
		if h := heads[i]; h != nil && h.Status == verifiable.TreeOpen && h.EndsAt > 0 {
			p.ends[polls[i]] = time.Unix(h.EndsAt, 0)
		}
		if errs[i] != nil {
			p.queue.add(polls[i])
		} else if r != nil {
			sent, of = append(sent, *r), append(of, i)
		}
	}
	if len(sent) == 0 {
		return errors.Join(errs...)
	}
	refusals, err := p.append(ctx, begun, sent)
	if err != nil {
		p.queueAgain(polls)
		return errors.Join(errors.Join(errs...), err)
	}
	for place, reason := range refusals {
		p.noteRefusal(polls[of[place]], reason)
	}
	return errors.Join(errs...)
}

func (p *Publisher) queueAgain(polls []voting.Poll) {
	for _, poll := range polls {
		p.queue.add(poll)
	}
}

func (p *Publisher) noteRefusal(poll voting.Poll, reason string) {
	p.refused.Add(1)
	p.Logger.Error("a poll's list contradicts the signed results and is not signed any more: it was restored or changed outside of the program", "poll", poll.Stream(), "reason", reason)
}

func (p *Publisher) append(ctx context.Context, begun bool, reports []resultlog.Report) (refusals map[int]string, err error) {
	if !begun { // A log begins with the first poll that has a list.
		if err := p.openLog(ctx); err != nil {
			return nil, err
		}
	}
	return p.Log.Append(ctx, reports)
}

// newReports returns for each poll what newReport does.
func (p *Publisher) newReports(ctx context.Context, polls []voting.Poll) (heads []*voting.List, reports []*resultlog.Report, errs []error) {
	heads, reports, errs = make([]*voting.List, len(polls)), make([]*resultlog.Report, len(polls)), make([]error, len(polls))
	var group errgroup.Group
	group.SetLimit(reportsAtOnce)
	for i, poll := range polls {
		group.Go(func() error {
			heads[i], reports[i], errs[i] = p.newReport(ctx, poll)
			return nil
		})
	}
	_ = group.Wait() // the errors are in errs
	return heads, reports, errs
}

// newReport returns the list of a poll and what to report of it, nil where the log has it already.
func (p *Publisher) newReport(ctx context.Context, poll voting.Poll) (*voting.List, *resultlog.Report, error) {
	list, err := p.readClosed(ctx, poll)
	if err != nil || list == nil {
		return nil, nil, err
	}
	if list.Growing {
		p.queue.add(poll) // for the next round, so that other polls do not wait for millions of ballots
		return list, nil, nil
	}
	r := &resultlog.Report{Stream: poll.Stream(), Leaf: *newLeaf(&list.TreeHead)}
	if list.Ended != nil {
		r.Ended = newLeaf(list.Ended)
	}
	known, log, err := p.Log.Find(ctx, list.Tree)
	switch {
	case fault.KindOf(err) == fault.NotFound:
		return list, r, nil
	case err != nil:
		return list, nil, err
	}
	if before := known.Leaf(); before.Entries.N < list.Entries.N {
		hashes := tlog.TileHashReader(list.Entries, p.treeTiles(ctx, log.Origin, list))
		if r.Consistency, err = tlog.ProveTree(list.Entries.N, before.Entries.N, hashes); err != nil {
			return list, nil, err
		}
	}
	return list, r, nil
}

// readClosed returns the list of a poll, which it closes first if its end has passed.
func (p *Publisher) readClosed(ctx context.Context, poll voting.Poll) (*voting.List, error) {
	list, err := p.Polls.ReadResult(ctx, poll)
	if err != nil || list == nil || list.Status != verifiable.TreeOpen || list.EndsAt == 0 || p.Clock.Now().Before(time.Unix(list.EndsAt, 0)) {
		return list, err
	}
	if err := p.Polls.CloseList(ctx, poll); err != nil {
		return nil, err
	}
	return p.Polls.ReadResult(ctx, poll)
}

// newLeaf returns the leaf that a tree head is to have.
func newLeaf(h *voting.TreeHead) *verifiable.LogLeaf {
	l := &verifiable.LogLeaf{
		Kind: verifiable.LogPoll, Poll: h.Poll, Tree: h.Tree, Status: h.Status, Entries: h.Entries, Erasures: h.Erasures,
		Final: h.Final, Sums: h.Sums, Ballots: h.Ballots,
	}
	if l.Sums != nil && l.Sums.Check() != nil { // weights may leave the bounds
		l.Sums, l.Final, l.Ballots = nil, false, nil
	}
	return l
}
