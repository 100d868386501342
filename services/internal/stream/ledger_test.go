package stream_test

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

// ledger is the smallest domain that can tell whether an engine is exact: a sum
// that must not pass a limit, what each viewer may give to it, and the number of the
// commands that made it.
type ledger struct {
	sum     int64
	entries int64
	given   map[string]int64 // by viewer, of the sum
}

type post struct {
	id     uint64 // unique to the command
	amount int64  // 0 empties the ledger
	who    string // empty: nobody
}

// Queries. That for what a viewer has given names the viewer.
var (
	sumQuery, entriesQuery = post{amount: -1}, post{amount: -2}
	givenQuery             = int64(-3)
)

const (
	ledgerLimit = 40
	viewerLimit = 8
)

var errLimit = fault.New(fault.Invalid, "limit reached")

type ledgerRules struct{}

func (ledgerRules) New() *ledger { return &ledger{given: map[string]int64{}} }

func (ledgerRules) Fork(s *ledger) *ledger {
	fork := *s
	fork.given = maps.Clone(s.given)
	return &fork
}

func (ledgerRules) Size(s *ledger) int { return 16 + int(s.entries) }

func (ledgerRules) Decide(s *ledger, _ int64, c post) (stream.Decision[post, int64], error) {
	if s.sum+c.amount > ledgerLimit || c.who != "" && s.given[c.who]+c.amount > viewerLimit {
		return stream.Decision[post, int64]{}, errLimit
	}
	after := s.sum + c.amount
	if c.amount == 0 {
		after = 0
	}
	return stream.Decision[post, int64]{Entry: c, Store: true, Result: after}, nil
}

func (ledgerRules) Identities(e post) []string { return []string{e.who} }

func (ledgerRules) Redact(e post, name func(string) string, _ bool) post {
	e.who = name(e.who)
	return e
}

func (ledgerRules) Rename(s *ledger, name func(string) string) *ledger {
	given := map[string]int64{}
	for who, amount := range s.given {
		given[name(who)] = amount
	}
	s.given = given
	return s
}

func (ledgerRules) Answer(s *ledger, c post, result int64) int64 {
	switch {
	case c == sumQuery:
		return s.sum
	case c == entriesQuery:
		return s.entries
	case c.amount == givenQuery:
		return s.given[c.who]
	}
	return result
}

func (ledgerRules) Recover(post) (int64, error) {
	return 0, fault.New(fault.Uncertain, "the sum at that time is not known")
}

func (r ledgerRules) AppendCommand(buf []byte, c post) []byte { return r.AppendEntry(buf, c) }

func (r ledgerRules) DecodeCommand(buf []byte) (post, []byte, error) { return r.DecodeEntry(buf) }

func (ledgerRules) AppendResult(buf []byte, r, before int64) []byte {
	return binary.AppendVarint(buf, r-before)
}

func (ledgerRules) DecodeResult(buf []byte, before int64) (r int64, rest []byte, err error) {
	delta, n := binary.Varint(buf)
	if n <= 0 {
		return 0, nil, errors.New("no result")
	}
	return before + delta, buf[n:], nil
}

func (ledgerRules) Apply(s *ledger, _ int64, e post) {
	s.entries++
	s.sum += e.amount
	if e.who != "" {
		s.given[e.who] += e.amount
	}
	if e.amount == 0 {
		s.sum = 0
		clear(s.given)
	}
}

func (ledgerRules) AppendEntry(buf []byte, e post) []byte {
	buf = binary.AppendUvarint(buf, e.id)
	buf = binary.AppendVarint(buf, e.amount)
	return appendText(buf, e.who)
}

func appendText(buf []byte, s string) []byte {
	return append(binary.AppendUvarint(buf, uint64(len(s))), s...)
}

func cutText(buf []byte) (s string, rest []byte, err error) {
	size, n := binary.Uvarint(buf)
	if n <= 0 || size > uint64(len(buf)-n) {
		return "", nil, errors.New("no text")
	}
	return string(buf[n : n+int(size)]), buf[n+int(size):], nil
}

func (ledgerRules) DecodeEntry(buf []byte) (e post, rest []byte, err error) {
	id, n := binary.Uvarint(buf)
	if n <= 0 {
		return e, nil, errors.New("no id")
	}
	amount, m := binary.Varint(buf[n:])
	if m <= 0 {
		return e, nil, errors.New("no amount")
	}
	who, rest, err := cutText(buf[n+m:])
	return post{id: id, amount: amount, who: who}, rest, err
}

func (ledgerRules) SnapshotFormat() uint32 { return 1 }

func (ledgerRules) AppendSnapshot(buf []byte, s *ledger) []byte {
	buf = binary.AppendVarint(buf, s.sum)
	buf = binary.AppendVarint(buf, s.entries)
	for _, who := range slices.Sorted(maps.Keys(s.given)) {
		buf = binary.AppendVarint(appendText(buf, who), s.given[who])
	}
	return buf
}

func (ledgerRules) RestoreSnapshot(buf []byte) (*ledger, error) {
	sum, n := binary.Varint(buf)
	entries, m := binary.Varint(buf[max(n, 0):])
	if n <= 0 || m <= 0 {
		return nil, errors.New("short snapshot")
	}
	s := &ledger{sum, entries, map[string]int64{}}
	for buf = buf[n+m:]; len(buf) > 0; {
		who, rest, err := cutText(buf)
		given, n := binary.Varint(rest)
		if err != nil || n <= 0 {
			return nil, errors.New("short snapshot")
		}
		s.given[who], buf = given, rest[n:]
	}
	return s, nil
}

func (ledgerRules) Equal(a, b *ledger) bool {
	return a.sum == b.sum && a.entries == b.entries && maps.Equal(a.given, b.given)
}

type ledgerEngine = stream.Engine[*ledger, post, post, int64]
