package operation

import (
	"context"
	"iter"
	"slices"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// poll returns the poll that the id names for the caller (section 2.1).
func (c *Caller) poll(id string) voting.Poll {
	return voting.Poll{
		Environment: string(c.Environment),
		Extension:   c.Extension.ClientID,
		Channel:     c.ChannelID,
		ID:          id,
	}
}

func (c *Caller) voter() voting.Voter {
	return voting.Voter{OpaqueID: c.OpaqueID, UserID: c.UserID}
}

// show returns what the caller may see of the tally of a poll.
func (c *Caller) show(id string, tally voting.Tally) voting.Tally {
	if c.IsAudienceOf(id) {
		return tally.ForViewer()
	}
	return tally
}

// CastVote casts a vote, whose voter is the caller, and returns what the caller may see of the tally after it
// (section 4.1).
func (s *Service) CastVote(ctx context.Context, c *Call, id string, vote voting.Submission) (tally voting.Tally, err error) {
	if err := c.Caller.CheckReads(id); err != nil {
		return tally, err
	}
	if err := s.checkDevice(ctx, c.Caller, id); err != nil {
		return tally, err
	}
	keys, err := s.requestKeys(c, id)
	if err != nil {
		return tally, err
	}
	vote.Voter, vote.Weight, vote.ByStaff = c.Caller.voter(), c.Caller.Weight, c.Caller.IsStaff()
	err = s.addEntry(c, isGlobal(id), func(existing bool) (err error) {
		tally, err = s.Config.Voting.Votes.Cast(ctx, c.Caller.poll(id), vote, existing, keys...)
		return err
	})
	return c.Caller.show(id, tally), err
}

// CastVotes casts votes of several viewers.
func (s *Service) CastVotes(ctx context.Context, c *Call, id string, votes []voting.Submission) (verdicts voting.Verdicts, err error) {
	if err := c.Caller.CheckReads(id); err != nil {
		return verdicts, err
	}
	keys, err := s.requestKeys(c, id)
	if err != nil {
		return verdicts, err
	}
	if len(keys) > 0 && slices.ContainsFunc(votes, func(v voting.Submission) bool { return v.Key != nil }) {
		return verdicts, fault.New(fault.Invalid, "votes must have no keys beside an Idempotency-Key")
	}
	for i := range votes {
		votes[i].ByStaff = true
	}
	err = s.addEntries(c, isGlobal(id), len(votes), func(existing bool) (err error) {
		verdicts, err = s.Config.Voting.Votes.VoteAll(ctx, c.Caller.poll(id), votes, existing, once.First(keys))
		if err == nil && existing {
			err = firstOfKind(verdicts.Refusals, fault.NotFound)
		}
		if err == nil && !slices.ContainsFunc(verdicts.Refusals, func(refusal error) bool { return !once.IsFull(refusal) }) {
			err = verdicts.Refusals[0]
		}
		return err
	})
	return verdicts, err
}

// firstOfKind returns the first error of a kind, nil where there is none.
func firstOfKind(all []error, kind fault.Kind) error {
	for _, err := range all {
		if err != nil && fault.KindOf(err) == kind {
			return err
		}
	}
	return nil
}

// ReadTally returns what the caller may see of the tally of a poll, as it is or, where at is not 0,
// as it was at that time in Unix seconds.
func (s *Service) ReadTally(ctx context.Context, c *Call, id string, at int64) (tally voting.Tally, err error) {
	if err := c.Caller.CheckReads(id); err != nil {
		return tally, err
	}
	switch poll, voter := c.Caller.poll(id), c.Caller.voter(); {
	case at != 0:
		tally, err = s.tallyAt(ctx, c.Caller, id, at)
	case c.Caller.IsAudience():
		tally, err = s.Config.Voting.Tallies.Tally(ctx, poll, voter)
	default:
		tally, err = s.Config.Voting.Tallies.TallyWithDevices(ctx, poll, voter)
	}
	return c.Caller.show(id, tally), err
}

// ResetPoll deletes the votes and the configuration of a poll.
func (s *Service) ResetPoll(ctx context.Context, c *Call, id string) error {
	if err := c.Caller.CheckOwner(id); err != nil {
		return err
	}
	return s.Config.Voting.Votes.Reset(ctx, c.Caller.poll(id))
}

// ModifyVotes adds to the votes of a user.
func (s *Service) ModifyVotes(ctx context.Context, c *Call, id, user string, add int64) error {
	if err := c.Caller.CheckOwner(id); err != nil {
		return err
	}
	keys, err := s.requestKeys(c, id)
	if err != nil {
		return err
	}
	if err := s.chargeNewPoll(ctx, c, id); err != nil {
		return err
	}
	return s.Config.Voting.Votes.Modify(ctx, c.Caller.poll(id), user, add, keys...)
}

// ReadPollConfig returns the configuration of a poll; saved is false for one that has none.
func (s *Service) ReadPollConfig(ctx context.Context, c *Call, id string) (config voting.Config, status contract.Status, saved bool, err error) {
	if err := c.Caller.CheckReads(id); err != nil {
		return config, status, false, err
	}
	return s.Config.Voting.Configs.Config(ctx, c.Caller.poll(id))
}

// ChangePoll replaces or patches the configuration of a poll. known reports whether version is
// that of the configuration afterwards.
func (s *Service) ChangePoll(ctx context.Context, c *Call, id string, change voting.Change) (version int64, known bool, err error) {
	if err := c.Caller.CheckOwner(id); err != nil {
		return 0, false, err
	}
	keys, err := s.patchKeys(c, id)
	if err != nil {
		return 0, false, err
	}
	if err := s.chargeNewPoll(ctx, c, id); err != nil {
		return 0, false, err
	}
	return s.Config.Voting.Configs.Change(ctx, c.Caller.poll(id), change, keys...)
}

// ClearPoll changes the configuration of a poll as ChangePoll does, and deletes the votes.
func (s *Service) ClearPoll(ctx context.Context, c *Call, id string, change voting.Change) error {
	if err := c.Caller.CheckOwner(id); err != nil {
		return err
	}
	keys, err := s.patchKeys(c, id)
	if err != nil {
		return err
	}
	return s.Config.Voting.Votes.ClearVotes(ctx, c.Caller.poll(id), change, keys...)
}

// ReadVoteLog yields the log of a poll after a cursor, with its configurations or without.
func (s *Service) ReadVoteLog(ctx context.Context, c *Call, id string, after voting.Cursor, configs bool) iter.Seq2[voting.LogRecord, error] {
	if configs {
		return s.Config.Voting.Logs.LogWithConfigs(ctx, c.Caller.poll(id), after)
	}
	return s.Config.Voting.Logs.Log(ctx, c.Caller.poll(id), after)
}
