package voting

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"

	"github.com/acclaim-dev/acclaim/api/verifiable"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
	"github.com/acclaim-dev/acclaim/services/internal/exactjson"
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
	commandVoteExisting
	commandChange   // of stream.LevelChanges
	commandConclude // of stream.LevelConclusions
	queryVoter      // of stream.LevelCastVersions
	queryPublic     // of stream.LevelPublicResults
	commandListed   // a vote, of stream.LevelVerifiable
	commandErasing  // likewise
	queryList       // likewise
	queryDevices    // of stream.LevelDevices
	commandWeigh    // of stream.LevelWeights
	commandClear    // of stream.LevelClears
)

func (v Voter) appendTo(buf []byte) []byte {
	return wire.AppendBytes(wire.AppendBytes(buf, v.OpaqueID), v.UserID)
}

func readVoter(r *wire.Reader) Voter { return Voter{OpaqueID: r.Text(), UserID: r.Text()} }

func (c *voteCommand) appendTo(buf []byte) []byte {
	kind := byte(commandVote)
	switch {
	case c.isListed():
		kind = commandListed
	case c.existing:
		kind = commandVoteExisting
	}
	buf = c.voter.appendTo(append(buf, kind))
	buf = binary.AppendVarint(appendValue(buf, c.value), c.times)
	if kind == commandListed {
		buf = wire.AppendBool(wire.AppendBool(buf, c.existing), c.byStaff)
		buf = binary.AppendVarint(buf, c.version)
		if buf = wire.AppendBool(buf, c.nonce != nil); c.nonce != nil {
			buf = append(buf, c.nonce[:]...)
		}
	}
	return buf
}

// isListed reports whether the command has what only a poll with a list needs.
func (c *voteCommand) isListed() bool { return c.byStaff || c.nonce != nil || c.version != 0 }

func readVote(r *wire.Reader, kind byte) *voteCommand {
	c := &voteCommand{voter: readVoter(r), value: readValue(r), times: r.Varint(), existing: kind == commandVoteExisting}
	if kind != commandListed {
		return c
	}
	c.existing, c.byStaff, c.version = r.Bool(), r.Bool(), r.Varint()
	if r.Bool() {
		if encoded := r.Take(len(verifiable.NonceHash{})); len(encoded) > 0 {
			nonce := verifiable.NonceHash(encoded)
			c.nonce = &nonce
		}
	}
	return c
}

// missingValue encodes NoValue: a zero of two bytes, which a process of an earlier release
// reads as the 0 that it means there.
const missingValue = "\x80\x00"

func appendValue(buf []byte, value int64) []byte {
	if value == NoValue {
		return append(buf, missingValue...)
	}
	return binary.AppendVarint(buf, value)
}

func readValue(r *wire.Reader) int64 {
	missing := bytes.HasPrefix(r.Rest(), []byte(missingValue))
	if value := r.Varint(); !missing {
		return value
	}
	return NoValue
}

func (c configureCommand) appendTo(buf []byte) []byte {
	return wire.AppendBytes(wire.AppendBytes(append(buf, commandConfigure), c.id), c.config.encodeJSON())
}

func (c changeCommand) appendTo(buf []byte) []byte { return c.appendAs(buf, commandChange) }

func (c clearCommand) appendTo(buf []byte) []byte {
	return changeCommand(c).appendAs(buf, commandClear)
}

func (c changeCommand) appendAs(buf []byte, kind byte) []byte {
	encoded, err := exactjson.Marshal(c.change)
	if err != nil {
		panic(err) // configurations, and JSON that Service.Change has accepted
	}
	return wire.AppendBytes(wire.AppendBytes(append(buf, kind), c.id), encoded)
}

func readChange(r *wire.Reader) changeCommand {
	c := changeCommand{id: r.Text()}
	if err := json.Unmarshal(r.Bytes(), &c.change); err != nil {
		r.Fail(err)
	}
	return c
}

func (c modifyCommand) appendTo(buf []byte) []byte {
	return binary.AppendVarint(wire.AppendBytes(append(buf, commandModify), c.user), c.add)
}

func (resetCommand) appendTo(buf []byte) []byte { return append(buf, commandRemove) }
func (q standingQuery) appendTo(buf []byte) []byte {
	kind := byte(queryStanding)
	if q.devices {
		kind = queryDevices
	}
	return q.voter.appendTo(append(buf, kind))
}
func (configQuery) appendTo(buf []byte) []byte   { return append(buf, querySettings) }
func (overviewQuery) appendTo(buf []byte) []byte { return append(buf, queryOverview) }

// DecodeCommand implements [stream.PeerEncoding].
func (pollRules) DecodeCommand(r *wire.Reader) Command {
	switch kind := r.Byte(); kind {
	case commandVote, commandVoteExisting, commandListed:
		return readVote(r, kind)
	case commandErasing:
		return erasingCommand{readJSON[[]string](r)}
	case queryList:
		return readJSON[listQuery](r)
	case commandConfigure:
		return configureCommand{id: r.Text(), config: readConfig(r)}
	case commandChange:
		return readChange(r)
	case commandModify:
		return modifyCommand{user: r.Text(), add: r.Varint()}
	case commandClear:
		return clearCommand(readChange(r))
	case commandWeigh:
		return readWeigh(r)
	case commandRemove:
		return resetCommand{}
	case commandConclude:
		return concludeCommand{}
	default:
		return decodeQuery(r, kind)
	}
}

func decodeQuery(r *wire.Reader, kind byte) Command {
	switch kind {
	case queryVoter:
		return voterQuery{readVoter(r)}
	case queryStanding, queryDevices:
		return standingQuery{voter: readVoter(r), devices: kind == queryDevices}
	case querySettings:
		return configQuery{}
	case queryPublic:
		return publicQuery{}
	case queryOverview:
		return overviewQuery{}
	}
	r.Fail(wire.ErrMalformed)
	return configQuery{}
}

func readConfig(r *wire.Reader) Config {
	config, err := decodeConfig(r.Bytes())
	if err != nil {
		r.Fail(err)
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
	hasVersion // only after a change or a voterQuery
	hasDecided // only after a conclusion
	hasMore    // only of a poll with a list, or that counts devices: a byte that says what follows
)

// What an encoded answer holds in the end.
const (
	moreHasPlace = 1 << iota
	moreHasList
	moreHasDevices
)

func (a Answer) appendTo(buf []byte, before Answer) []byte {
	at := len(buf)
	buf = append(buf, 0)
	if s := a.tally.Statistics; s != nil && s == before.tally.Statistics {
		buf[at] |= sameStatistics
	} else if s != nil {
		buf[at] |= hasStatistics
		buf = s.appendTo(buf)
	}
	if a.tally.Vote != nil {
		buf[at] |= hasVote
		buf = binary.AppendVarint(buf, *a.tally.Vote)
	}
	if a.config != nil {
		buf[at] |= hasConfig
		buf = wire.AppendBytes(buf, a.config.encodeJSON())
	}
	if a.resets > 0 {
		buf[at] |= hasResets
		buf = binary.AppendUvarint(buf, a.resets)
	}
	if a.version != nil {
		buf[at] |= hasVersion
		buf = binary.AppendVarint(buf, *a.version)
	}
	if a.decided != 0 {
		buf[at] |= hasDecided
		buf = binary.AppendVarint(buf, a.decided)
	}
	if a.listed != nil || a.list != nil || a.devices > 0 {
		buf[at] |= hasMore
		buf = a.appendMore(buf)
	}
	return buf
}

func (a Answer) appendMore(buf []byte) []byte {
	at := len(buf)
	buf = append(buf, 0)
	if a.listed != nil {
		buf[at] |= moreHasPlace
		buf = append(buf, a.listed.Tree[:]...)
		buf = binary.AppendUvarint(binary.AppendUvarint(buf, uint64(a.listed.Index)), uint64(a.listed.Voter))
	}
	if a.list != nil {
		buf[at] |= moreHasList
		buf = appendJSON(buf, a.list)
	}
	if a.devices > 0 {
		buf[at] |= moreHasDevices
		buf = binary.AppendUvarint(buf, uint64(a.devices))
	}
	return buf
}

func (a *Answer) readMore(r *wire.Reader) {
	has := r.Byte()
	if has&moreHasPlace != 0 {
		a.listed = &Listed{}
		copy(a.listed.Tree[:], r.Take(len(a.listed.Tree)))
		a.listed.Index, a.listed.Voter = readIndex(r), readIndex(r)
	}
	if has&moreHasList != 0 {
		a.list = readJSON[*listAnswer](r)
	}
	if has&moreHasDevices != 0 {
		a.devices = int(readIndex(r))
	}
}

// DecodeResult implements [stream.PeerEncoding].
func (pollRules) DecodeResult(r *wire.Reader, before Answer) (a Answer) {
	has := r.Byte()
	if has&sameStatistics != 0 {
		a.tally.Statistics = before.tally.Statistics
	}
	if has&hasStatistics != 0 {
		a.tally.Statistics = readStatistics(r)
	}
	if has&hasVote != 0 {
		vote := r.Varint()
		a.tally.Vote = &vote
	}
	if has&hasConfig != 0 {
		config := readConfig(r)
		a.config = &config
	}
	if has&hasResets != 0 {
		a.resets = r.Uvarint()
	}
	if has&hasVersion != 0 {
		version := r.Varint()
		a.version = &version
	}
	if has&hasDecided != 0 {
		a.decided = r.Varint()
	}
	if has&hasMore != 0 {
		a.readMore(r)
	}
	return a
}

// appendTo appends the sums from which the statistics are derived, so that the
// receiver derives the same.
func (s *Statistics) appendTo(buf []byte) []byte {
	for _, w := range s.tally.allSums() {
		buf = binary.AppendUvarint(binary.AppendVarint(buf, w.hi), w.lo)
	}
	buf = binary.AppendVarint(binary.AppendVarint(buf, s.decay.LastNudged), s.decay.LastAltered)
	buf = binary.LittleEndian.AppendUint64(buf, math.Float64bits(s.decay.Val))
	return binary.LittleEndian.AppendUint64(buf, math.Float64bits(s.decay.CurrentScale))
}

func readStatistics(r *wire.Reader) *Statistics {
	s := &Statistics{}
	for _, w := range s.tally.allSums() {
		*w = wideInt{hi: r.Varint(), lo: r.Uvarint()}
	}
	s.decay = Decay{
		LastNudged:   r.Varint(),
		LastAltered:  r.Varint(),
		Val:          math.Float64frombits(r.Uint64()),
		CurrentScale: math.Float64frombits(r.Uint64()),
	}
	return s
}
