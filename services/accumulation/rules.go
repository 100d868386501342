package accumulation

import (
	"encoding/binary"
	"errors"
	"slices"
	"sort"

	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

// stride is how many chunks lie between two marks of an index.
const stride = 64

// index finds the place in a buffer's log from which to read. It is all that a
// buffer keeps in memory: the time of every 64th chunk.
type index struct {
	chunks uint64 // how many there are
	last   int64  // time of the last
	marks  []int64
}

// before returns the number of a chunk such that all chunks later than start
// come after it, and few others.
func (i *index) before(start int64) uint64 {
	if start >= i.last {
		return i.chunks
	}
	n := sort.Search(len(i.marks), func(n int) bool { return i.marks[n] > start })
	return uint64(max(n-1, 0)) * stride
}

func (rules) Equal(a, b *index) bool {
	return a.chunks == b.chunks && a.last == b.last && slices.Equal(a.marks, b.marks)
}

// add counts the entry of a chunk: entries of one chunk share their time.
func (i *index) add(at int64) {
	if at == i.last && i.chunks > 0 {
		return
	}
	if i.chunks%stride == 0 {
		i.marks = append(i.marks, at)
	}
	i.chunks, i.last = i.chunks+1, at
}

// command appends a submission or, as a query, asks which chunk to read after.
type command struct {
	Submission
	start int64 // of a query: Unix milliseconds
	query bool
}

// rules hands the domain to the stream engine. Nothing is ever refused. What a
// query is answered with is the number of a chunk.
type rules struct{}

var _ stream.Rules[*index, command, Submission, uint64] = rules{}

func (rules) New() *index            { return &index{} }
func (rules) Fork(*index) *index     { return &index{} } // decisions need no state
func (rules) Size(i *index) int      { return 64 + 8*cap(i.marks) }
func (rules) SnapshotFormat() uint32 { return 1 }

func (rules) Decide(_ *index, _ int64, c command) (stream.Decision[Submission, uint64], error) {
	return stream.Decision[Submission, uint64]{Entry: c.Submission, Store: true}, nil
}

func (rules) Answer(i *index, c command, _ uint64) uint64 {
	if c.query {
		return i.before(c.start)
	}
	return 0
}

func (rules) Recover(command) (uint64, error) { return 0, nil }

func (rules) Apply(i *index, at int64, _ Submission) { i.add(at) }

func (rules) AppendEntry(buf []byte, s Submission) []byte {
	for _, field := range []string{s.ChannelID, s.OpaqueID, s.UserID} {
		buf = append(binary.AppendUvarint(buf, uint64(len(field))), field...)
	}
	return append(binary.AppendUvarint(buf, uint64(len(s.Data))), s.Data...)
}

var errCorrupt = errors.New("accumulation: encoding is cut off")

func (rules) DecodeEntry(buf []byte) (s Submission, rest []byte, err error) {
	var fields [4][]byte
	for i := range fields {
		size, n := binary.Uvarint(buf)
		if n <= 0 || size > uint64(len(buf)-n) {
			return s, nil, errCorrupt
		}
		fields[i], buf = buf[n:n+int(size)], buf[n+int(size):]
	}
	return Submission{
		ChannelID: string(fields[0]),
		OpaqueID:  string(fields[1]),
		UserID:    string(fields[2]),
		Data:      fields[3],
	}, buf, nil
}

func (rules) Identities(s Submission) []string { return []string{s.OpaqueID, s.UserID} }

// Redact drops the data: an empty object takes its place.
func (rules) Redact(s Submission, name func(string) string, drop bool) Submission {
	s.OpaqueID, s.UserID = name(s.OpaqueID), name(s.UserID)
	if drop {
		s.Data = []byte("{}")
	}
	return s
}

// Rename changes nothing: an index knows nobody.
func (rules) Rename(i *index, _ func(string) string) *index { return i }

// AppendCommand writes a query as its start and a submission as an entry.
func (r rules) AppendCommand(buf []byte, c command) []byte {
	if c.query {
		return binary.AppendVarint(append(buf, 1), c.start)
	}
	return r.AppendEntry(append(buf, 0), c.Submission)
}

func (r rules) DecodeCommand(buf []byte) (c command, rest []byte, err error) {
	if len(buf) == 0 {
		return c, nil, errCorrupt
	}
	if c.query = buf[0] != 0; !c.query {
		c.Submission, rest, err = r.DecodeEntry(buf[1:])
		return c, rest, err
	}
	start, n := binary.Varint(buf[1:])
	if n <= 0 {
		return c, nil, errCorrupt
	}
	c.start = start
	return c, buf[1+n:], nil
}

func (rules) AppendResult(buf []byte, seq, _ uint64) []byte { return binary.AppendUvarint(buf, seq) }

func (rules) DecodeResult(buf []byte, _ uint64) (seq uint64, rest []byte, err error) {
	seq, n := binary.Uvarint(buf)
	if n <= 0 {
		return 0, nil, errCorrupt
	}
	return seq, buf[n:], nil
}

func (rules) AppendSnapshot(buf []byte, i *index) []byte {
	buf = binary.LittleEndian.AppendUint64(buf, i.chunks)
	buf = binary.LittleEndian.AppendUint64(buf, uint64(i.last))
	for _, at := range i.marks {
		buf = binary.LittleEndian.AppendUint64(buf, uint64(at))
	}
	return buf
}

func (rules) RestoreSnapshot(buf []byte) (*index, error) {
	if len(buf) < 16 || len(buf)%8 != 0 {
		return nil, errCorrupt
	}
	i := &index{
		chunks: binary.LittleEndian.Uint64(buf),
		last:   int64(binary.LittleEndian.Uint64(buf[8:])),
	}
	for buf = buf[16:]; len(buf) > 0; buf = buf[8:] {
		i.marks = append(i.marks, int64(binary.LittleEndian.Uint64(buf)))
	}
	if uint64(len(i.marks)) != (i.chunks+stride-1)/stride {
		return nil, errCorrupt
	}
	return i, nil
}
