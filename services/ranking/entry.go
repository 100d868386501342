package ranking

import (
	"encoding/binary"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

// entryKind distinguishes what happens to a question.
type entryKind uint8

// The kinds of entries. The numbers are in logs.
const (
	entryAnswered entryKind = iota
	entryCleared
	entryConfigured
	entryShown
	entryHidden
	entryMerged
)

// answerEntry gives an identity an answer, clears the question, configures it, or holds what
// staff decided about a group of answers. It says all that a replay needs: later tables of
// Unicode change nothing of the past.
type answerEntry struct {
	kind entryKind
	// Of an answer: its identity and the answer as it is shown. Of a decision: the key of
	// the group.
	identity, key string
	// Of an answer: the key of its group, empty if that is the answer. Of a merge: the key
	// of the group that the other becomes a part of.
	group string
	// keep is the number of answers that the identity has at most; 0 is 1.
	keep int
	// held reports that the answer's group, where it is a new one, waits for staff.
	held   bool
	config *Config
	// Of a decision; empty where an earlier release made it.
	actor StaffActor
}

func (e answerEntry) groupKey() string {
	if e.group == "" {
		return e.key
	}
	return e.group
}

func (e answerEntry) capacity() int { return max(1, e.keep) }

func (e answerEntry) standing() Standing {
	if e.held {
		return Held
	}
	return Visible
}

// isPlain reports whether the entry is an answer as questions without a configuration have
// them.
func (e answerEntry) isPlain() bool {
	return e.kind == entryAnswered && e.groupKey() == e.key && e.capacity() == 1 && !e.held
}

// entryTag plus a kind stands where other entries have the length of an identity, which is
// far below: an earlier release takes such an entry for damage, not for another one.
const entryTag = 1 << 32

// hasActor is added to the tag of a decision that ends with its actor.
const hasActor = 1 << 8

// AppendEntry writes an answer as identity and key; an empty identity, which no
// answer has, is a clearing. Other entries begin with their tag.
func (questionRules) AppendEntry(buf []byte, e answerEntry) []byte {
	switch {
	case e.isPlain():
		return wire.AppendBytes(wire.AppendBytes(buf, e.identity), e.key)
	case e.kind == entryCleared:
		return append(buf, 0)
	}
	tag := entryTag + uint64(e.kind)
	if e.actor != (StaffActor{}) {
		tag += hasActor
	}
	buf = binary.AppendUvarint(buf, tag)
	switch e.kind {
	case entryConfigured:
		return wire.AppendBytes(buf, e.config.encodeJSON())
	case entryAnswered:
		buf = wire.AppendBytes(wire.AppendBytes(wire.AppendBytes(buf, e.identity), e.key), e.groupKey())
		return wire.AppendBool(binary.AppendUvarint(buf, uint64(e.capacity())), e.held)
	case entryMerged:
		buf = wire.AppendBytes(wire.AppendBytes(buf, e.key), e.group)
	default:
		buf = wire.AppendBytes(buf, e.key)
	}
	if tag&hasActor != 0 {
		buf = wire.AppendBytes(wire.AppendBytes(buf, e.actor.Role), e.actor.ID)
	}
	return buf
}

func (questionRules) DecodeEntry(r *wire.Reader) (e answerEntry) {
	tag := r.Uvarint()
	if tag < entryTag {
		return decodePlain(r, tag)
	}
	kind, attributed := splitTag(tag)
	switch e.kind = kind; kind {
	case entryCleared:
		r.Fail(wire.ErrMalformed)
		return e
	case entryConfigured:
		var err error
		if e.config, err = decodeConfig(r.Bytes()); err != nil {
			r.Fail(err)
		}
		return e
	case entryAnswered:
		e.identity, e.key, e.group = r.Text(), r.Text(), r.Text()
		e.keep = int(min(r.Uvarint(), contract.MaxAnswers+1))
		e.held = r.Bool()
	case entryMerged:
		e.key, e.group = r.Text(), r.Text()
	default:
		e.key = r.Text()
	}
	if attributed {
		e.actor = StaffActor{Role: r.Text(), ID: r.Text()}
	}
	if !e.isSound() || attributed && e.actor == (StaffActor{}) {
		r.Fail(wire.ErrMalformed)
	}
	return e
}

// splitTag returns the kind of a tagged entry, and whether its actor follows. A clearing, which
// has no tag, stands for tags that are unknown.
func splitTag(tag uint64) (kind entryKind, attributed bool) {
	n := tag - entryTag
	if attributed = n >= hasActor; attributed {
		n -= hasActor
	}
	if n > uint64(entryMerged) || attributed && n < uint64(entryShown) {
		return entryCleared, false
	}
	return entryKind(n), attributed
}

// isSound reports whether a tagged entry has what its kind needs.
func (e answerEntry) isSound() bool {
	switch e.kind {
	case entryAnswered:
		return e.identity != "" && e.key != "" && e.group != "" && e.keep >= 1 && e.keep <= contract.MaxAnswers
	case entryMerged:
		return e.key != "" && e.group != "" && e.key != e.group
	}
	return e.key != ""
}

// decodePlain reads an answer or a clearing after the length of the identity.
func decodePlain(r *wire.Reader, length uint64) answerEntry {
	if length > uint64(len(r.Rest())) {
		r.Fail(wire.ErrMalformed)
		return answerEntry{}
	}
	if length == 0 {
		return answerEntry{kind: entryCleared}
	}
	identity := string(r.Take(int(length)))
	return answerEntry{identity: identity, key: r.Text()}
}
