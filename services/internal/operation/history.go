package operation

import (
	"context"
	"errors"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// historyTimeout limits the time in which a log is folded.
const historyTimeout = time.Minute

// answerPast answers a question about the past of a poll, together with equal ones, within the
// budgets of such questions. Each caller learns only what it may see now.
func (s *Service) answerPast(ctx context.Context, c *Caller, id string, q pastQuestion, find func(context.Context, *pastAnswer, voting.MemoryHold) error) (*pastAnswer, error) {
	poll, voter := c.poll(id), c.voter()
	q.stream, q.audience = poll.Stream(), c.IsAudienceOf(id)
	hidden, resets, err := s.Config.Voting.Tallies.HidesPast(ctx, poll, voter, q.audience)
	if err != nil {
		return nil, err
	}
	if q.resets = resets; !hidden {
		answer, err := s.past.ask(ctx, q, func() (func(), error) { return s.admitPast(c) },
			func(ctx context.Context, answer *pastAnswer) error { return s.foldPast(ctx, c, answer, find) })
		if err != nil {
			return nil, err
		}
		// Looking again keeps out what was voted after a configuration that hides it.
		hidden, after, err := s.Config.Voting.Tallies.HidesPast(ctx, poll, voter, q.audience)
		if err != nil || !hidden && after == resets {
			return answer, err
		}
	}
	release, err := s.admitPast(c)
	if err != nil {
		return nil, err
	}
	defer release()
	own := &pastAnswer{}
	return own, s.foldPast(ctx, c, own, find)
}

func (s *Service) admitPast(c *Caller) (release func(), err error) {
	lease, err := s.Config.Budgets.takeHistory(c)
	return lease.Release, err
}

// foldPast finds an answer by folding a log, in the time and the memory for it.
func (s *Service) foldPast(ctx context.Context, c *Caller, answer *pastAnswer, find func(context.Context, *pastAnswer, voting.MemoryHold) error) error {
	memory := s.Config.Budgets.newFoldLease(c)
	defer memory.Release()
	timed, cancel := context.WithTimeout(ctx, historyTimeout)
	defer cancel()
	err := find(timed, answer, memory.hold)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = fault.Wrap(fault.Unavailable, err, "the log takes too long to fold")
	}
	return err
}

// tallyAt returns the caller's tally as it was at a time in Unix seconds.
func (s *Service) tallyAt(ctx context.Context, c *Caller, id string, at int64) (tally voting.Tally, err error) {
	poll, voter, audience := c.poll(id), c.voter(), c.IsAudienceOf(id)
	answer, err := s.answerPast(ctx, c, id, pastQuestion{at: at, voter: voter}, func(ctx context.Context, answer *pastAnswer, hold voting.MemoryHold) (err error) {
		answer.tally, err = s.Config.Voting.Tallies.TallyAt(ctx, poll, voter, audience, at, hold)
		return err
	})
	if err != nil {
		return tally, err
	}
	return answer.tally, nil
}

// ReadHistory returns what the caller may see of the past of a poll.
func (s *Service) ReadHistory(ctx context.Context, c *Call, id string, wanted voting.HistoryRange) (history voting.History, err error) {
	if err := c.Caller.CheckReads(id); err != nil {
		return history, err
	}
	poll, voter, audience := c.Caller.poll(id), c.Caller.voter(), c.Caller.IsAudienceOf(id)
	answer, err := s.answerPast(ctx, c.Caller, id, pastQuestion{wanted: wanted}, func(ctx context.Context, answer *pastAnswer, hold voting.MemoryHold) (err error) {
		answer.history, err = s.Config.Voting.Tallies.History(ctx, poll, voter, audience, wanted, hold)
		return err
	})
	if err != nil {
		return history, err
	}
	return answer.history, nil
}
