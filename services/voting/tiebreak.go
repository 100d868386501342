package voting

import (
	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Refusals of a decision of a tie.
var (
	errTieOpen = fault.New(fault.Invalid, "tieBreak needs a poll that has ended, with results that viewers see, and all processes of one release")
	errNoTie   = fault.New(fault.Invalid, "tieBreak must be one of the options that lead with equal votes")
)

// settleTieBreak checks the decision of a tie that a configuration has. A new one that does not hold
// is refused. One that was made before is dropped: the configuration that opens the poll again or
// changes its question takes it away.
func (s *State) settleTieBreak(next *Config, at int64) error {
	if next.TieBreak == nil {
		return nil
	}
	refusal := s.checkTieBreak(next, at)
	if now := s.config; now == nil || now.TieBreak == nil || *now.TieBreak != *next.TieBreak {
		return refusal
	} else if refusal != nil || checkSameQuestion(now, next) != nil {
		next.TieBreak = nil
	}
	return nil
}

// checkTieBreak returns why a decision does not hold, or nil. After it nothing changes the counts:
// votes are refused since the end, and modifiers by the decision.
func (s *State) checkTieBreak(c *Config, at int64) error {
	if !c.closesBy(at) || c.HidesResults(contract.Expired) {
		return errTieOpen
	}
	sums := s.settledSums()
	if public := sums.public(); !public.IsTied(*c.TieBreak, len(c.Options)) {
		return errNoTie
	}
	return nil
}

// settledSums returns the sums of a state, also of a fork.
func (s *State) settledSums() voteSums {
	base := s.base
	if base == nil {
		return s.tally
	}
	if s.resets != base.resets {
		base = &State{}
	}
	sums := base.tally
	recount := func(id string) {
		sums.addBallot(base.voters.get(id), -base.voteWeight(id))
		sums.addBallot(s.voters.get(id), s.voteWeight(id))
	}
	s.voters.settleReplaced()
	for id := range s.voters.changed {
		recount(id)
	}
	for id := range s.modifiers.total {
		if _, done := s.voters.changed[id]; !done {
			recount(id)
		}
	}
	return sums
}
