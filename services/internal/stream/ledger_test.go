package stream_test

import (
	"encoding/binary"
	"errors"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

// ledger is the smallest domain that can tell whether an engine is exact: a sum
// that must not pass a limit, and the ids of the commands that made it.
type ledger struct {
	sum     int64
	entries int64
}

type post struct {
	id     uint64 // unique to the command
	amount int64  // 0 empties the ledger
}

// Queries.
var sumQuery, entriesQuery = post{amount: -1}, post{amount: -2}

const ledgerLimit = 40

var errLimit = fault.New(fault.Invalid, "limit reached")

type ledgerRules struct{}

func (ledgerRules) New() *ledger           { return &ledger{} }
func (ledgerRules) Fork(s *ledger) *ledger { fork := *s; return &fork }
func (ledgerRules) Size(s *ledger) int     { return 16 + int(s.entries) }

func (ledgerRules) Decide(s *ledger, _ int64, c post) (stream.Decision[post, int64], error) {
	if s.sum+c.amount > ledgerLimit {
		return stream.Decision[post, int64]{}, errLimit
	}
	after := s.sum + c.amount
	if c.amount == 0 {
		after = 0
	}
	return stream.Decision[post, int64]{Entry: c, Store: true, Result: after}, nil
}

func (ledgerRules) Answer(s *ledger, c post, result int64) int64 {
	switch c {
	case sumQuery:
		return s.sum
	case entriesQuery:
		return s.entries
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
	if e.amount == 0 {
		s.sum = 0
	}
}

func (ledgerRules) AppendEntry(buf []byte, e post) []byte {
	buf = binary.AppendUvarint(buf, e.id)
	return binary.AppendVarint(buf, e.amount)
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
	return post{id, amount}, buf[n+m:], nil
}

func (ledgerRules) SnapshotFormat() uint32 { return 1 }

func (ledgerRules) AppendSnapshot(buf []byte, s *ledger) []byte {
	buf = binary.AppendVarint(buf, s.sum)
	return binary.AppendVarint(buf, s.entries)
}

func (ledgerRules) RestoreSnapshot(buf []byte) (*ledger, error) {
	sum, n := binary.Varint(buf)
	entries, m := binary.Varint(buf[max(n, 0):])
	if n <= 0 || m <= 0 {
		return nil, errors.New("short snapshot")
	}
	return &ledger{sum, entries}, nil
}

type ledgerEngine = stream.Engine[*ledger, post, post, int64]
