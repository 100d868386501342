package ranking

import (
	"encoding/binary"
	"errors"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

// entry gives an identity an answer, or clears the question.
type entry struct {
	clear         bool
	identity, key string
}

// command is an entry to be or, as a query, asks for the best answers.
type command struct {
	entry
	top int // of a query: how many
}

// result is what a command is answered with.
type result struct {
	Answer
	top []Score
}

type decision = stream.Decision[entry, result]

// rules hands the domain to the stream engine.
type rules struct{}

var _ stream.Rules[*board, command, entry, result] = rules{}

func (rules) New() *board            { return newBoard() }
func (rules) Fork(b *board) *board   { return b.fork() }
func (rules) Size(b *board) int      { return 256 + b.size }
func (rules) SnapshotFormat() uint32 { return 1 }

func (rules) Decide(b *board, _ int64, c command) (decision, error) {
	if c.clear {
		return decision{Entry: c.entry, Store: !b.empty()}, nil
	}
	key, ok := b.current(c.identity)
	if !ok {
		return decision{Entry: c.entry, Store: true, Result: result{Answer: Answer{Accepted: true}}}, nil
	}
	return decision{Entry: c.entry, Store: key != c.key, Result: result{Answer: Answer{Accepted: true, Original: &key}}}, nil
}

func (rules) Answer(b *board, c command, r result) result {
	if c.top > 0 {
		r.top = b.top(c.top)
	}
	return r
}

func (rules) Recover(c command) (result, error) {
	if c.clear {
		return result{}, nil
	}
	return result{}, fault.New(fault.Uncertain, "The answer was stored; which one it replaced is not known")
}

func (rules) Apply(b *board, _ int64, e entry) {
	if e.clear {
		b.clear()
		return
	}
	b.set(e.identity, e.key)
}

var errCorrupt = errors.New("ranking: encoding is cut off")

func appendString(buf []byte, s string) []byte {
	return append(binary.AppendUvarint(buf, uint64(len(s))), s...)
}

func cutString(buf []byte) (s string, rest []byte, err error) {
	size, n := binary.Uvarint(buf)
	if n <= 0 || size > uint64(len(buf)-n) {
		return "", nil, errCorrupt
	}
	return string(buf[n : n+int(size)]), buf[n+int(size):], nil
}

// AppendEntry writes an answer as identity and key; an empty identity, which no
// answer has, is a clearing.
func (rules) AppendEntry(buf []byte, e entry) []byte {
	buf = appendString(buf, e.identity)
	if e.clear {
		return buf
	}
	return appendString(buf, e.key)
}

func (rules) DecodeEntry(buf []byte) (e entry, rest []byte, err error) {
	if e.identity, buf, err = cutString(buf); err != nil {
		return e, nil, err
	}
	if e.identity == "" {
		return entry{clear: true}, buf, nil
	}
	e.key, buf, err = cutString(buf)
	return e, buf, err
}

func (rules) Identities(e entry) []string { return []string{e.identity} }

// Redact drops nothing: an answer counts.
func (rules) Redact(e entry, name func(string) string, _ bool) entry {
	if !e.clear {
		e.identity = name(e.identity)
	}
	return e
}

func (rules) Rename(b *board, name func(string) string) *board {
	renamed := newBoard()
	for identity, a := range b.answers {
		renamed.set(name(identity), a.key)
	}
	return renamed
}

func (r rules) AppendSnapshot(buf []byte, b *board) []byte {
	for identity, a := range b.answers {
		buf = r.AppendEntry(buf, entry{identity: identity, key: a.key})
	}
	return buf
}

func (r rules) RestoreSnapshot(buf []byte) (*board, error) {
	b := newBoard()
	for len(buf) > 0 {
		e, rest, err := r.DecodeEntry(buf)
		if err != nil || e.clear {
			return nil, errCorrupt
		}
		b.set(e.identity, e.key)
		buf = rest
	}
	return b, nil
}
