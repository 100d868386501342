package accumulation

import (
	"encoding/binary"
	"slices"
	"sort"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// stride is the number of chunks between two marks of an index.
const stride = 64

// chunkIndex finds the place in a buffer's log from which to read. It is all that a
// buffer keeps in memory: the time of every 64th chunk since the last clearing.
type chunkIndex struct {
	chunks  uint64 // how many there are
	last    int64  // time of the last
	marks   []int64
	cleared int64  // time of the chunk with the last clearing, 0 without one
	skipped uint64 // number of chunks before that one
}

// chunkBefore returns the number of a chunk such that all chunks later than start
// come after it, and few others.
func (i *chunkIndex) chunkBefore(start int64) uint64 {
	if start >= i.last {
		return i.skipped + i.chunks
	}
	n := sort.Search(len(i.marks), func(n int) bool { return i.marks[n] > start })
	return i.skipped + uint64(max(n-1, 0))*stride
}

func (bufferRules) Equal(a, b *chunkIndex) bool {
	return a.chunks == b.chunks && a.last == b.last && a.cleared == b.cleared && a.skipped == b.skipped &&
		slices.Equal(a.marks, b.marks)
}

// addChunk counts the entry of a chunk: entries of one chunk share their time.
func (i *chunkIndex) addChunk(at int64) {
	if at == i.last && i.chunks > 0 {
		return
	}
	if i.chunks%stride == 0 {
		i.marks = append(i.marks, at)
	}
	i.chunks, i.last = i.chunks+1, at
}

// clearAll begins the buffer again. Entries of the same chunk may follow.
func (i *chunkIndex) clearAll(at int64) {
	skipped := i.skipped + i.chunks
	if i.chunks > 0 && i.last == at { // the chunk is counted already
		skipped--
	}
	*i = chunkIndex{cleared: at, skipped: skipped, last: at}
}

// isClearing reports whether the entry clears the buffer instead of adding to it: the data
// of a submission is an object.
func (s *Submission) isClearing() bool { return len(s.Data) == 0 }

// readPosition is a place in a buffer, from which it is read.
type readPosition struct {
	after   uint64 // the chunk
	cleared int64  // the time before which nothing counts any more
}

// bufferCommand appends a submission, which may be a clearing, or, as a query, asks where to read.
type bufferCommand struct {
	Submission
	existing bool  // only to a buffer with entries
	start    int64 // of a query: Unix milliseconds
	query    bool
}

// bufferRules hands the domain to the stream engine. The result of a query is where to read.
type bufferRules struct{}

var _ stream.Rules[*chunkIndex, bufferCommand, Submission, readPosition] = bufferRules{}

func (bufferRules) New() *chunkIndex { return &chunkIndex{} }

// Fork leaves the marks out: decisions need only the number of chunks.
func (bufferRules) Fork(i *chunkIndex) *chunkIndex {
	return &chunkIndex{chunks: i.chunks, last: i.last, cleared: i.cleared, skipped: i.skipped}
}

func (bufferRules) Size(i *chunkIndex) int { return 64 + 8*cap(i.marks) }
func (bufferRules) SnapshotFormat() uint32 { return 1 }

func (bufferRules) Decide(i *chunkIndex, _ int64, c bufferCommand) (stream.Decision[Submission, readPosition], error) {
	if c.existing && i.chunks == 0 {
		return stream.Decision[Submission, readPosition]{}, fault.New(fault.NotFound, "The buffer does not exist")
	}
	return stream.Decision[Submission, readPosition]{Entry: c.Submission, Store: !c.isClearing() || i.chunks > 0}, nil
}

func (bufferRules) Answer(i *chunkIndex, c bufferCommand, _ readPosition) readPosition {
	if c.query {
		return readPosition{i.chunkBefore(c.start), i.cleared}
	}
	return readPosition{}
}

func (bufferRules) RepeatResult(*chunkIndex, bufferCommand) readPosition { return readPosition{} }

func (bufferRules) ReconstructResult(bufferCommand) (readPosition, error) {
	return readPosition{}, nil
}

func (bufferRules) Apply(i *chunkIndex, at int64, s Submission) {
	if s.isClearing() {
		i.clearAll(at)
		return
	}
	i.addChunk(at)
}

// AppendEntry writes a clearing as a submission without data.
func (bufferRules) AppendEntry(buf []byte, s Submission) []byte {
	for _, field := range []string{s.ChannelID, s.OpaqueID, s.UserID} {
		buf = wire.AppendBytes(buf, field)
	}
	return wire.AppendBytes(buf, s.Data)
}

// EntryJSON returns the JSON that a viewer sent, nil where the entry has none, for verification.
func (bufferRules) EntryJSON(s Submission) []byte { return s.Data }

func (bufferRules) DecodeEntry(r *wire.Reader) Submission {
	return Submission{ChannelID: r.Text(), OpaqueID: r.Text(), UserID: r.Text(), Data: r.Bytes()}
}

func (bufferRules) Identities(s Submission) []string { return []string{s.OpaqueID, s.UserID} }

// Redact drops the data: an empty object takes its place.
func (bufferRules) Redact(s Submission, rename func(string) string, drop bool) Submission {
	s.OpaqueID, s.UserID = rename(s.OpaqueID), rename(s.UserID)
	if drop {
		s.Data = []byte("{}")
	}
	return s
}

// Rename changes nothing: an index holds no ids.
func (bufferRules) Rename(i *chunkIndex, _ func(string) string) *chunkIndex { return i }

// The first byte of an encoded command.
const (
	commandAppend = iota
	queryChunk
	commandAppendExisting
)

// AppendCommand writes a query as its start and a submission as an entry.
func (r bufferRules) AppendCommand(buf []byte, c bufferCommand) []byte {
	switch {
	case c.query:
		return binary.AppendVarint(append(buf, queryChunk), c.start)
	case c.existing:
		return r.AppendEntry(append(buf, commandAppendExisting), c.Submission)
	}
	return r.AppendEntry(append(buf, commandAppend), c.Submission)
}

func (bufferRules) DecodeCommand(r *wire.Reader) bufferCommand {
	switch kind := r.Byte(); kind {
	case queryChunk:
		return bufferCommand{query: true, start: r.Varint()}
	case commandAppend, commandAppendExisting:
		return bufferCommand{Submission: bufferRules{}.DecodeEntry(r), existing: kind == commandAppendExisting}
	}
	r.Fail(wire.ErrMalformed)
	return bufferCommand{query: true}
}

func (bufferRules) AppendResult(buf []byte, p, _ readPosition) []byte {
	return binary.AppendVarint(binary.AppendUvarint(buf, p.after), p.cleared)
}

func (bufferRules) DecodeResult(r *wire.Reader, _ readPosition) readPosition {
	return readPosition{after: r.Uvarint(), cleared: r.Varint()}
}

// hasClearing marks, in the number of chunks, snapshots that go on with the last clearing.
const hasClearing = 1 << 63

func (bufferRules) AppendSnapshot(buf []byte, i *chunkIndex) []byte {
	if i.cleared == 0 {
		buf = binary.LittleEndian.AppendUint64(buf, i.chunks)
		buf = binary.LittleEndian.AppendUint64(buf, uint64(i.last))
	} else {
		buf = binary.LittleEndian.AppendUint64(buf, i.chunks|hasClearing)
		buf = binary.LittleEndian.AppendUint64(buf, uint64(i.last))
		buf = binary.LittleEndian.AppendUint64(buf, uint64(i.cleared))
		buf = binary.LittleEndian.AppendUint64(buf, i.skipped)
	}
	for _, at := range i.marks {
		buf = binary.LittleEndian.AppendUint64(buf, uint64(at))
	}
	return buf
}

func (bufferRules) RestoreSnapshot(r *wire.Reader) *chunkIndex {
	i := &chunkIndex{chunks: r.Uint64(), last: int64(r.Uint64())}
	if i.chunks&hasClearing != 0 {
		i.chunks, i.cleared, i.skipped = i.chunks&^hasClearing, int64(r.Uint64()), r.Uint64()
	}
	for len(r.Rest()) > 0 {
		i.marks = append(i.marks, int64(r.Uint64()))
	}
	if uint64(len(i.marks)) != (i.chunks+stride-1)/stride {
		r.Fail(wire.ErrMalformed)
	}
	return i
}
