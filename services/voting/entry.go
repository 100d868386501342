package voting

import (
	"encoding/binary"
	"slices"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

// Entry is one thing that happened to a poll. An entry says all that a replay
// needs, so that what was decided once is never decided again.
type Entry interface {
	applyTo(s *State, at int64)
	appendTo(buf []byte) []byte
}

// The first byte of an encoded entry.
const (
	kindVote = iota + 1
	kindConfigured
	kindModified
	kindReset
	// Those of polls whose votes can be checked, of stream.LevelVerifiable.
	kindListedVote
	kindListedModifier
	kindListedConfig
	kindListedReset
	kindClosed
	kindErasing
)

// voteEntry is an accepted vote: times copies of value. It replaces what the voter
// had stored, or adds to it.
type voteEntry struct {
	voter   Voter
	byUser  bool
	replace bool
	value   int16
	times   uint16
	listed  *listedVote // nil of most polls
}

func (e *voteEntry) applyTo(s *State, at int64) {
	s.used = true
	if s.voters.isFork() {
		e.applyToFork(s)
		return
	}
	id, _ := e.voter.identityIn(e.byUser)
	i, known := s.voters.table.locateRecord(id)
	e.count(s, i, known, s.voteWeight(id))
	s.cast.note(i, len(s.voters.table.records), s.currentVersion())
	s.decay.addValues(at, int64(e.value)*int64(e.times))
	if e.listed != nil && s.list.isRunning() {
		s.list.numbers.noteVote(i, known, id, e.listed.voter, s.list.next)
		s.list.appendEntry(e, at)
	}
}

// count makes the vote the ballot of a record, or a part of it, and counts what that changes.
func (e *voteEntry) count(s *State, i int, known bool, weight int64) {
	if e.replace { // nearly all votes: without a slice for the one option
		if before, ok := s.voters.table.replaceSingle(i, known, optionVotes{e.value, e.times}); ok {
			s.tally.replace(before, optionVotes{e.value, e.times}, weight)
			return
		}
	}
	before := s.voters.table.ballotAt(i)
	after := e.castOn(before)
	s.countBallot(before, -weight)
	s.countBallot(after, weight)
	s.voters.table.storeBallot(i, after)
}

func (e *voteEntry) applyToFork(s *State) {
	id, _ := e.voter.identityIn(e.byUser)
	if e.listed != nil && s.list.isRunning() {
		s.list.drafted.add(id, e.listed.voter)
		s.list.next++
	}
	voters := &s.voters
	if e.replace {
		voters.replaced = append(voters.replaced, e)
		return
	}
	voters.set(id, e.castOn(voters.get(id)))
}

// castOn returns a voter's ballot after the vote. One that replaces needs no ballot before.
func (e *voteEntry) castOn(before ballot) ballot {
	after := ballot{last: e.value, stored: true}
	if e.replace {
		after.options = []optionVotes{{e.value, e.times}}
	} else {
		after.options = withVotes(before.options, e.value, e.times)
	}
	return after
}

// withVotes returns the options with times more votes for value, in a slice of
// its own.
func withVotes(options []optionVotes, value int16, times uint16) []optionVotes {
	options = slices.Clone(options)
	for i := range options {
		if options[i].value == value {
			options[i].times += times
			return options
		}
	}
	return append(options, optionVotes{value, times})
}

func (e *voteEntry) appendTo(buf []byte) []byte {
	kind := byte(kindVote)
	if e.listed != nil {
		kind = kindListedVote
	}
	buf = e.voter.appendTo(append(buf, kind))
	buf = wire.AppendBool(wire.AppendBool(buf, e.byUser), e.replace)
	buf = binary.AppendVarint(buf, int64(e.value))
	buf = binary.AppendUvarint(buf, uint64(e.times))
	if e.listed != nil {
		buf = e.listed.appendTo(buf)
	}
	return buf
}

// configEntry is a configuration that was saved.
type configEntry struct {
	config Config
}

func (e configEntry) applyTo(s *State, _ int64) {
	s.config, s.used = &e.config, true
}

func (e configEntry) appendTo(buf []byte) []byte {
	return wire.AppendBytes(append(buf, kindConfigured), e.config.encodeJSON())
}

// modifierEntry adds to the modifiers of an identifier.
type modifierEntry struct {
	user string
	add  int64
}

func (e modifierEntry) applyTo(s *State, _ int64) {
	before := s.voteWeight(e.user)
	s.modifiers.set(e.user, s.modifiers.get(e.user)+e.add)
	s.countBallot(s.voters.get(e.user), s.voteWeight(e.user)-before)
	s.used = true
}

func (e modifierEntry) appendTo(buf []byte) []byte {
	return binary.AppendVarint(wire.AppendBytes(append(buf, kindModified), e.user), e.add)
}

// resetEntry ends everything but the log.
type resetEntry struct {
	cleared *Config // the configuration that the next command of the call saves again; it is not stored
}

func (e resetEntry) applyTo(s *State, _ int64) { s.resetAll(e.cleared) }
func (resetEntry) appendTo(buf []byte) []byte  { return append(buf, kindReset) }

// DecodeEntry implements [stream.EntryEncoding].
func (pollRules) DecodeEntry(r *wire.Reader) Entry {
	switch kind := r.Byte(); kind {
	case kindVote, kindListedVote:
		vote := &voteEntry{
			voter:   readVoter(r),
			byUser:  r.Bool(),
			replace: r.Bool(),
			value:   int16(checkBounds(r, r.Varint(), contract.MinValue, contract.MaxValue)),
			times:   uint16(checkBounds(r, int64(r.Uvarint()), 1, contract.MaxCount)),
		}
		if kind == kindListedVote {
			vote.listed = readListedVote(r)
		}
		return vote
	case kindListedModifier:
		return &listedModifier{modifierEntry{user: r.Text(), add: r.Varint()}, *readListedVote(r)}
	case kindListedConfig:
		return readListedConfig(r)
	case kindListedReset, kindClosed, kindErasing:
		return readListedEvent(r, kind)
	case kindConfigured:
		return configEntry{readConfig(r)}
	case kindModified:
		return modifierEntry{user: r.Text(), add: r.Varint()}
	case kindReset:
		return resetEntry{}
	}
	r.Fail(wire.ErrMalformed)
	return resetEntry{}
}

// checkBounds returns v, which was read, and fails unless it is within bounds.
func checkBounds(r *wire.Reader, v, low, high int64) int64 {
	if !isWithin(v, low, high) {
		r.Fail(wire.ErrMalformed)
	}
	return v
}
