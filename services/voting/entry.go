package voting

import (
	"encoding/binary"
	"slices"
)

// Entry is one thing that happened to a poll. An entry says all that a replay
// needs, so that what was decided once is never decided again.
type Entry interface {
	apply(s *State, at int64)
	append(buf []byte) []byte
}

// The first byte of an encoded entry.
const (
	kindVote = iota + 1
	kindConfigured
	kindModified
	kindReset
)

// voted is an accepted vote: times copies of value. It replaces what the voter
// had stored, or adds to it.
type voted struct {
	voter   Voter
	byUser  bool
	replace bool
	value   int16
	times   uint16
}

func (e voted) apply(s *State, at int64) {
	id, _ := e.voter.identity(e.byUser)
	before, weight := s.voters.get(id), s.weight(id)
	after := ballot{last: e.value, stored: true, options: []option{{e.value, e.times}}}
	if e.replace {
		s.count(before, -weight)
		s.count(after, weight)
	} else {
		s.count(after, weight)
		after.options = withVotes(before.options, e.value, e.times)
	}
	s.voters.set(id, after)
	s.decay.add(at, int64(e.value)*int64(e.times), s.halfLife)
	s.used = true
}

// withVotes returns the options with times more votes for value, in a slice of
// its own.
func withVotes(options []option, value int16, times uint16) []option {
	options = slices.Clone(options)
	for i := range options {
		if options[i].value == value {
			options[i].times += times
			return options
		}
	}
	return append(options, option{value, times})
}

func (e voted) append(buf []byte) []byte {
	buf = e.voter.append(append(buf, kindVote))
	buf = appendBool(appendBool(buf, e.byUser), e.replace)
	buf = binary.AppendVarint(buf, int64(e.value))
	return binary.AppendUvarint(buf, uint64(e.times))
}

// configured is a configuration that was saved.
type configured struct {
	config Config
}

func (e configured) apply(s *State, _ int64) {
	s.config, s.used = &e.config, true
}

func (e configured) append(buf []byte) []byte {
	return appendBytes(append(buf, kindConfigured), e.config.encode())
}

// modified adds to the modifiers of an identifier.
type modified struct {
	user string
	add  int64
}

func (e modified) apply(s *State, _ int64) {
	before := s.weight(e.user)
	s.modifiers.set(e.user, s.modifiers.get(e.user)+e.add)
	s.count(s.voters.get(e.user), s.weight(e.user)-before)
	s.used = true
}

func (e modified) append(buf []byte) []byte {
	return binary.AppendVarint(appendBytes(append(buf, kindModified), e.user), e.add)
}

// reset ends everything but the log.
type reset struct{}

func (reset) apply(s *State, _ int64)  { s.reset() }
func (reset) append(buf []byte) []byte { return append(buf, kindReset) }

// decodeEntry reads one entry.
func decodeEntry(d *decoder) Entry {
	switch d.byte() {
	case kindVote:
		return voted{
			voter:   d.voter(),
			byUser:  d.byte() != 0,
			replace: d.byte() != 0,
			value:   int16(d.bounded(d.varint(), minValue, maxValue)),
			times:   uint16(d.bounded(int64(d.uvarint()), 1, maxCount)),
		}
	case kindConfigured:
		return configured{d.config()}
	case kindModified:
		return modified{user: d.string(), add: d.varint()}
	case kindReset:
		return reset{}
	}
	d.fail()
	return reset{}
}
