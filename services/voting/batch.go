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
	// Version is that of the configuration that the voter saw, 0 where that is not known. A vote under
	// another one is refused with fault.Mismatch.
	Version int64
	// ByStaff reports that staff or the extension's own server submits the vote.
	ByStaff bool
}

// VoteAll submits votes in their order, all in one append, and returns the refusal of each,
// nil for one that was accepted, and the statistics with them in. With existing it refuses
// those that would make a poll, with fault.NotFound: then nothing was stored. Where whole is
// not nil, it is the key of all votes and they have none of their own.
func (s *Service) VoteAll(ctx context.Context, p Poll, votes []Submission, existing bool, whole *once.Key) (refusals []error, after *Statistics, err error) {
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
	refusals, answer, err := s.engine.DoAll(ctx, p.Stream(), commands, standingQuery{}, whole, keys)
	return refusals, answer.tally.Statistics, err
}

// newVote returns the command of a submission. Only processes of this version know who submits.
func (s *Service) newVote(v *Submission, existing bool) voteCommand {
	return voteCommand{
		voter: v.Voter, value: v.Value, times: v.Count, existing: existing,
		nonce: v.Nonce, version: v.Version, byStaff: v.ByStaff && s.reads(stream.LevelVerifiable),
	}
}
