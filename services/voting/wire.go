package voting

import (
	"encoding/binary"
	"math"
)

// The first byte of an encoded command.
const (
	commandVote = iota + 1
	commandConfigure
	commandModify
	commandRemove
	queryStanding
	querySettings
	queryOverview
)

func (v Voter) append(buf []byte) []byte {
	return appendBytes(appendBytes(buf, v.OpaqueID), v.UserID)
}

func (d *decoder) voter() Voter { return Voter{OpaqueID: d.string(), UserID: d.string()} }

func (c vote) append(buf []byte) []byte {
	buf = c.voter.append(append(buf, commandVote))
	return binary.AppendVarint(binary.AppendVarint(buf, c.value), c.times)
}

func (c configure) append(buf []byte) []byte {
	return appendBytes(appendBytes(append(buf, commandConfigure), c.id), c.config.encode())
}

func (c modify) append(buf []byte) []byte {
	return binary.AppendVarint(appendBytes(append(buf, commandModify), c.user), c.add)
}

func (remove) append(buf []byte) []byte     { return append(buf, commandRemove) }
func (q standing) append(buf []byte) []byte { return q.voter.append(append(buf, queryStanding)) }
func (settings) append(buf []byte) []byte   { return append(buf, querySettings) }
func (overview) append(buf []byte) []byte   { return append(buf, queryOverview) }

func decodeCommand(d *decoder) Command {
	switch d.byte() {
	case commandVote:
		return vote{voter: d.voter(), value: d.varint(), times: d.varint()}
	case commandConfigure:
		return configure{id: d.string(), config: d.config()}
	case commandModify:
		return modify{user: d.string(), add: d.varint()}
	case commandRemove:
		return remove{}
	case queryStanding:
		return standing{d.voter()}
	case querySettings:
		return settings{}
	case queryOverview:
		return overview{}
	}
	d.fail()
	return settings{}
}

func (d *decoder) config() Config {
	config, err := decodeConfig(d.bytes())
	if err != nil {
		d.fail()
	}
	return config
}

// What an encoded answer holds.
const (
	hasStatistics = 1 << iota
	sameStatistics
	hasVote
	hasConfig
	hasResets
)

func (a Answer) append(buf []byte, before Answer) []byte {
	at := len(buf)
	buf = append(buf, 0)
	if s := a.tally.Statistics; s != nil && s == before.tally.Statistics {
		buf[at] |= sameStatistics
	} else if s != nil {
		buf[at] |= hasStatistics
		buf = s.append(buf)
	}
	if a.tally.Vote != nil {
		buf[at] |= hasVote
		buf = binary.AppendVarint(buf, *a.tally.Vote)
	}
	if a.config != nil {
		buf[at] |= hasConfig
		buf = appendBytes(buf, a.config.encode())
	}
	if a.resets > 0 {
		buf[at] |= hasResets
		buf = binary.AppendUvarint(buf, a.resets)
	}
	return buf
}

func decodeAnswer(d *decoder, before Answer) (a Answer) {
	has := d.byte()
	if has&sameStatistics != 0 {
		a.tally.Statistics = before.tally.Statistics
	}
	if has&hasStatistics != 0 {
		a.tally.Statistics = d.statistics()
	}
	if has&hasVote != 0 {
		vote := d.varint()
		a.tally.Vote = &vote
	}
	if has&hasConfig != 0 {
		config := d.config()
		a.config = &config
	}
	if has&hasResets != 0 {
		a.resets = d.uvarint()
	}
	return a
}

// append appends the sums from which the statistics are derived, so that the
// receiver derives the same.
func (s *Statistics) append(buf []byte) []byte {
	for _, w := range s.tally.all() {
		buf = binary.AppendUvarint(binary.AppendVarint(buf, w.hi), w.lo)
	}
	buf = binary.AppendVarint(binary.AppendVarint(buf, s.decay.LastNudged), s.decay.LastAltered)
	buf = binary.LittleEndian.AppendUint64(buf, math.Float64bits(s.decay.Val))
	return binary.LittleEndian.AppendUint64(buf, math.Float64bits(s.decay.CurrentScale))
}

func (d *decoder) statistics() *Statistics {
	var t tally
	for _, w := range t.all() {
		*w = wide{hi: d.varint(), lo: d.uvarint()}
	}
	return newStatistics(t, Decay{
		LastNudged:   d.varint(),
		LastAltered:  d.varint(),
		Val:          math.Float64frombits(d.uint64()),
		CurrentScale: math.Float64frombits(d.uint64()),
	})
}
