package voting

import "github.com/acclaim-dev/acclaim/services/internal/engine/stream"

var _ stream.KeyHolder[*State, Command, Entry] = pollRules{}

// KeyPlace implements [stream.KeyHolder]: a vote that replaces leaves nothing of what its voter
// had stored, so that repeating it has no effect as long as no other vote has followed.
func (pollRules) KeyPlace(s *State, e Entry) (place int, ok bool) {
	vote, ok := e.(*voteEntry)
	if !ok || !vote.replace {
		return stream.NoPlace, false
	}
	id, _ := vote.voter.identityIn(vote.byUser)
	return s.voters.table.findRecord(id)
}

// KeyPlaces implements [stream.KeyHolder]. A voter whose stored vote goes by another identity
// than the one in force is still the same.
func (pollRules) KeyPlaces(s *State, c Command) (places [2]int, replaces bool) {
	places = [2]int{stream.NoPlace, stream.NoPlace}
	var voter Voter
	switch c := c.(type) {
	case *voteCommand:
		voter = c.voter
	default:
		return places, false
	}
	ids, n := [...]string{voter.OpaqueID, voter.UserID}, 0
	if s.config != nil && s.config.UserIDVoting {
		ids[0], ids[1] = ids[1], ids[0]
	}
	for _, id := range ids {
		if id == "" {
			continue
		}
		if place, ok := s.voters.table.findRecord(id); ok {
			places[n] = place
		}
		n++
	}
	return places, s.config == nil || !s.config.isMultiVote()
}

// KeyEpoch implements [stream.KeyHolder]: a reset forgets every voter.
func (pollRules) KeyEpoch(s *State) uint64 { return s.resets }
