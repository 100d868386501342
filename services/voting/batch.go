package voting

import (
	"context"

	"github.com/acclaim-dev/acclaim/api/verifiable"
	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

// Submission is one of several votes that are submitted together: count copies of value.
type Submission struct {
	Voter        Voter
	Value, Count int64
	// Key is the vote's own, nil for none.
	Key *once.Key

	// Nonce is the digest that a poll with a list shows beside the vote, nil for none.
	Nonce *verifiable.NonceHash
	// Version names the configuration that the voter saw, 0 where that is not known. A vote under
	// another one is refused with fault.Mismatch.
	Version int64
	// ByStaff reports that staff or the extension's own server submits the vote.
	ByStaff bool
	// Weight counts each vote of the voter so often, by the credential; 0 or 1 for none. It counts in polls with
	// WeightedVotes, and not for one of several votes.
	Weight int64
}

// Verdicts holds the outcome of each of several votes.
type Verdicts struct {
	Refusals []error // nil for a vote that was accepted
	// Listed has the places of the votes in the list of a poll that has one, nil for none.
	Listed []*Listed
	After  *Statistics // with all of them in
}

// VoteAll submits votes in their order, all in one append. With existing it refuses
// those that would make a poll, with fault.NotFound: then nothing was stored. Where whole is
// not nil, it is the key of all votes and they have none of their own.
func (s *Service) VoteAll(ctx context.Context, p Poll, votes []Submission, existing bool, whole *once.Key) (v Verdicts, err error) {
	commands, casts := make([]Command, len(votes)), make([]voteCommand, len(votes))
	var keys []*once.Key
	for i, v := range votes {
		casts[i] = s.newVote(&v, existing)
		commands[i] = &casts[i] // one allocation for all
		if v.Key != nil && keys == nil {
			keys = make([]*once.Key, len(votes))
		}
		if v.Key != nil {
			keys[i] = v.Key
		}
	}
	batch, err := s.engine.DoAll(ctx, p.Stream(), commands, standingQuery{}, whole, keys)
	if err != nil {
		return v, err
	}
	v.Refusals, v.After = batch.Refusals(), batch.Answer.tally.Statistics
	for i := range votes {
		answer, refusal := batch.Outcome(i)
		if refusal != nil {
			continue
		}
		if answer.listed == nil {
			break // no poll begins a list with a vote
		}
		if v.Listed == nil {
			v.Listed = make([]*Listed, len(votes))
			s.moved(p)
		}
		v.Listed[i] = answer.listed.told()
	}
	return v, nil
}

// newVote returns the command of a submission. Only processes of this version know who submits.
func (s *Service) newVote(v *Submission, existing bool) voteCommand {
	return voteCommand{
		voter: v.Voter, value: v.Value, times: v.Count, existing: existing,
		nonce: v.Nonce, version: v.Version, byStaff: v.ByStaff && s.reads(stream.LevelVerifiable),
	}
}
