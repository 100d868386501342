package ranking

import (
	"encoding/binary"
	"encoding/json"
	"slices"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
	"github.com/acclaim-dev/acclaim/services/internal/exactjson"
)

// What stands for the number of answers asked for in other commands: an entry to a question
// that must exist, the query for the configuration, and a change of it. Processes of other
// versions know them, so that they stay.
const (
	existingOnly = 10_001
	configOnly   = 10_002
	changeOnly   = 10_003 // of stream.LevelChanges
)

// No number of answers is one of these: the constant does not compile where it would be.
const _ uint = existingOnly - 1 - contract.MaxRanking

// AppendCommand writes the number of answers asked for, 0 for an entry, and their standing
// or the entry.
func (r questionRules) AppendCommand(buf []byte, c questionCommand) []byte {
	switch {
	case c.asks:
		return binary.AppendUvarint(buf, configOnly)
	case c.change != nil:
		encoded, err := exactjson.Marshal(c.change)
		if err != nil {
			panic(err) // configurations, and JSON that Service.Change has accepted
		}
		return wire.AppendBytes(binary.AppendUvarint(buf, changeOnly), encoded)
	case c.top > 0:
		return append(binary.AppendUvarint(buf, uint64(c.top)), byte(c.standing))
	case c.existing:
		buf = binary.AppendUvarint(buf, existingOnly)
	default:
		buf = append(buf, 0)
	}
	return r.AppendEntry(buf, c.answerEntry)
}

func (questionRules) DecodeCommand(r *wire.Reader) questionCommand {
	switch top := r.Uvarint(); {
	case top == configOnly:
		return questionCommand{asks: true}
	case top == changeOnly:
		c := questionCommand{answerEntry: answerEntry{kind: entryConfigured}, change: &Change{}}
		if err := json.Unmarshal(r.Bytes(), c.change); err != nil {
			r.Fail(err)
		}
		return c
	case top == existingOnly, top == 0:
		return questionCommand{existing: top > 0, answerEntry: questionRules{}.DecodeEntry(r)}
	case top > contract.MaxRanking:
		r.Fail(wire.ErrMalformed)
		return questionCommand{}
	default:
		c := questionCommand{top: int(top), standing: Standing(r.Byte())}
		if c.standing >= standings {
			r.Fail(wire.ErrMalformed)
			c.standing = Visible
		}
		return c
	}
}

// What an encoded result holds.
const (
	hasAccepted = 1 << iota
	hasOriginal
	hasHeld
	hasReason
	hasConfig
	hasActors
)

func (questionRules) AppendResult(buf []byte, r, _ commandResult) []byte {
	at := len(buf)
	buf = append(buf, 0)
	if r.Accepted {
		buf[at] |= hasAccepted
	}
	if r.Held {
		buf[at] |= hasHeld
	}
	if r.Original != nil {
		buf[at] |= hasOriginal
		buf = wire.AppendBytes(buf, *r.Original)
	}
	if r.Reason != "" {
		buf[at] |= hasReason
		buf = wire.AppendBytes(buf, r.Reason)
	}
	if r.config != nil {
		buf[at] |= hasConfig
		buf = wire.AppendBytes(buf, r.config.encodeJSON())
	}
	attributed := slices.ContainsFunc(r.top, func(s Score) bool { return s.Actor != StaffActor{} })
	if attributed {
		buf[at] |= hasActors
	}
	buf = binary.AppendUvarint(buf, uint64(r.held))
	buf = binary.AppendUvarint(buf, uint64(len(r.top)))
	for _, s := range r.top {
		buf = binary.AppendVarint(wire.AppendBytes(wire.AppendBytes(buf, s.Key), s.Group), s.Score)
		if attributed {
			buf = wire.AppendBytes(wire.AppendBytes(buf, s.Actor.Role), s.Actor.ID)
		}
	}
	return buf
}

func (questionRules) DecodeResult(r *wire.Reader, _ commandResult) (decoded commandResult) {
	has := r.Byte()
	decoded.Accepted, decoded.Held = has&hasAccepted != 0, has&hasHeld != 0
	if has&hasOriginal != 0 {
		original := r.Text()
		decoded.Original = &original
	}
	if has&hasReason != 0 {
		decoded.Reason = r.Text()
	}
	if has&hasConfig != 0 {
		config, err := decodeConfig(r.Bytes())
		if decoded.config = config; err != nil {
			r.Fail(err)
		}
	}
	decoded.held = int(r.Uvarint())
	for range r.Count(3) {
		s := Score{Key: r.Text(), Group: r.Text(), Score: r.Varint()}
		if has&hasActors != 0 {
			s.Actor = StaffActor{Role: r.Text(), ID: r.Text()}
		}
		decoded.top = append(decoded.top, s)
	}
	return decoded
}
