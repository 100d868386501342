package voting

import (
	"context"
	"encoding/binary"

	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// errWeights refuses a configuration that gives votes the weights of credentials. A device's credential
// has none.
var errWeights = fault.New(fault.Invalid, "weightedVotes needs a poll without deviceVoting, and all processes of one release")

// weighCommand gives the votes of a voter the weight in its credential, once: as a modifier, whose sum
// staff can change (section 4.25). It follows the vote in one chunk.
type weighCommand struct {
	voter  Voter
	weight int64
}

// decideAt does nothing where the vote before was refused as the first one, and nothing a second time.
func (c weighCommand) decideAt(s *State, at int64) (pollDecision, error) {
	rules := s.currentConfig()
	id, ok := c.voter.identityIn(rules.UserIDVoting)
	if !ok || !rules.WeightedVotes || !rules.isOpen(at) || s.modifiers.get(id) != 0 || len(s.voters.get(id).options) == 0 {
		return pollDecision{}, nil
	}
	return s.decideModifier(modifierEntry{id, c.weight - 1}, false)
}

func (weighCommand) answerFrom(*State) Answer { return Answer{} }

func (c weighCommand) appendTo(buf []byte) []byte {
	return binary.AppendVarint(c.voter.appendTo(append(buf, commandWeigh)), c.weight)
}

func readWeigh(r *wire.Reader) weighCommand {
	return weighCommand{voter: readVoter(r), weight: r.Varint()}
}

// castWeighted casts a vote and gives it the weight of the submission, in one append.
func (s *Service) castWeighted(ctx context.Context, p Poll, v Submission, vote *voteCommand, key *once.Key) (a Answer, err error) {
	commands := []Command{vote, weighCommand{v.Voter, v.Weight}}
	batch, err := s.engine.DoAll(ctx, p.Stream(), commands, standingQuery{voter: v.Voter}, nil, []*once.Key{key, nil})
	if err != nil {
		return a, err
	}
	cast, err := batch.Outcome(0)
	if err != nil {
		return a, err
	}
	a, value := batch.Answer, ValueOrZero(v.Value)
	a.listed, a.tally.Vote = cast.listed, &value
	return a, nil
}

// isWeighted reports whether a submission may change more than the vote. Processes of an earlier
// release do not know weights.
func (s *Service) isWeighted(v *Submission) bool { return v.Weight > 1 && s.reads(stream.LevelWeights) }
