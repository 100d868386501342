package voting

import (
	"bytes"
	"maps"
	"slices"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

// pollRules are the domain as the stream engine calls it.
type pollRules struct{}

var _ stream.Rules[*State, Command, Entry, Answer] = pollRules{}

func (pollRules) New() *State          { return &State{} }
func (pollRules) Fork(s *State) *State { return s.fork() }
func (pollRules) Size(s *State) int    { return s.memorySize() }

func (pollRules) Apply(s *State, at int64, e Entry) {
	if s.statistics.Load() != nil { // a load costs less than a store
		s.statistics.Store(nil)
	}
	e.applyTo(s, at)
}

// Equal leaves out the versions under which votes were cast: a snapshot of an earlier release does
// not know them.
func (pollRules) Equal(a, b *State) bool {
	return a.used == b.used && a.resets == b.resets && a.tally == b.tally && a.decay == b.decay &&
		(a.config == nil) == (b.config == nil) &&
		(a.config == nil || bytes.Equal(a.config.encodeJSON(), b.config.encodeJSON())) &&
		maps.Equal(a.modifiers.total, b.modifiers.total) && a.list.equal(b.list) &&
		a.voters.table.equalBallots(&b.voters.table)
}

func (pollRules) Decide(s *State, at int64, c Command) (pollDecision, error) {
	return c.decideAt(s, at)
}

func (pollRules) Answer(s *State, c Command, decided Answer) Answer {
	if s.list != nil {
		s.list.entries.hashMany()
	}
	answer := c.answerFrom(s)
	answer.decided = decided.decided
	if decided.version != nil {
		answer.version = decided.version
	}
	if decided.listed != nil {
		answer.listed = decided.listed
	}
	return answer
}

// RepeatResult returns the place of the voter's latest vote, of a poll that lists votes.
func (pollRules) RepeatResult(s *State, c Command) Answer {
	if vote, ok := c.(*voteCommand); ok {
		return Answer{listed: s.findListed(vote.voter)}
	}
	return Answer{}
}

// ReconstructResult needs nothing: all of an answer is read from the state, but for the version
// after a change, which a caller can do without.
func (pollRules) ReconstructResult(Command) (Answer, error) { return Answer{}, nil }

func (pollRules) AppendEntry(buf []byte, e Entry) []byte { return e.appendTo(buf) }

// EntryJSON returns the userData of a configuration, for verification.
func (pollRules) EntryJSON(e Entry) []byte {
	switch e := e.(type) {
	case configEntry:
		return e.config.UserData
	case *listedConfig:
		return e.config.UserData
	}
	return nil
}

func (pollRules) AppendCommand(buf []byte, c Command) []byte  { return c.appendTo(buf) }
func (pollRules) AppendResult(buf []byte, a, b Answer) []byte { return a.appendTo(buf, b) }
func (pollRules) AppendSnapshot(buf []byte, s *State) []byte  { return s.appendSnapshot(buf) }

func (pollRules) Identities(e Entry) []string {
	switch e := e.(type) {
	case *voteEntry:
		return []string{e.voter.OpaqueID, e.voter.UserID}
	case modifierEntry:
		return []string{e.user}
	case *listedModifier:
		return []string{e.user}
	}
	return nil
}

// Redact drops nothing: what a vote says counts.
func (pollRules) Redact(e Entry, rename func(string) string, _ bool) Entry {
	switch e := e.(type) {
	case *voteEntry:
		redacted := *e
		redacted.voter = Voter{OpaqueID: rename(e.voter.OpaqueID), UserID: rename(e.voter.UserID)}
		return &redacted
	case modifierEntry:
		e.user = rename(e.user)
		return e
	case *listedModifier:
		redacted := *e
		redacted.user = rename(e.user)
		return &redacted
	}
	return e
}

func (pollRules) Rename(s *State, rename func(string) string) *State {
	renamed := &State{config: s.config, tally: s.tally, decay: s.decay, used: s.used, resets: s.resets, deleted: s.deleted}
	renamed.cast.known = slices.Clip(s.cast.known)
	for i := range s.voters.table.records {
		id := s.voters.table.identityAt(i)
		at, _ := renamed.voters.table.locateRecord(rename(id))
		renamed.voters.table.storeBallot(at, s.voters.table.ballotAt(i))
		renamed.cast.noteMark(at, len(renamed.voters.table.records), s.cast.markAt(i))
	}
	for id, total := range s.modifiers.total {
		renamed.modifiers.set(rename(id), total)
	}
	if renamed.ended = s.ended; s.list != nil {
		renamed.list = s.list // its voters have numbers, by the order of their records
		modified := s.list.numbers.modified
		s.list.numbers.modified = nil
		for id, number := range modified {
			s.list.numbers.noteModifier(rename(id), false, int64(number))
		}
	}
	return renamed
}
