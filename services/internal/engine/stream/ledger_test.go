package stream_test

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/acclaim-dev/acclaim/services/internal/engine/rewrite"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
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
	who    string // empty: no viewer
}

// Queries. That for what a viewer has given names the viewer.
var (
	sumQuery, entriesQuery = post{amount: -1}, post{amount: -2}
	givenQuery             = int64(-3)
	sumVisit               = post{amount: -4}
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
	case c == sumQuery, c == sumVisit:
		return s.sum
	case c == entriesQuery:
		return s.entries
	case c.amount == givenQuery:
		return s.given[c.who]
	}
	return result
}

func (ledgerRules) Visits(query post) bool { return query == sumVisit }

func (ledgerRules) RepeatResult(s *ledger, _ post) int64 { return s.sum }

func (ledgerRules) ReconstructResult(post) (int64, error) {
	return 0, fault.New(fault.Uncertain, "the sum at that time is not known")
}

func (r ledgerRules) AppendCommand(buf []byte, c post) []byte { return r.AppendEntry(buf, c) }

func (r ledgerRules) DecodeCommand(in *wire.Reader) post { return r.DecodeEntry(in) }

func (ledgerRules) AppendResult(buf []byte, r, before int64) []byte {
	return binary.AppendVarint(buf, r-before)
}

func (ledgerRules) DecodeResult(r *wire.Reader, before int64) int64 { return before + r.Varint() }

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
	return wire.AppendBytes(buf, e.who)
}

func (ledgerRules) DecodeEntry(r *wire.Reader) post {
	return post{id: r.Uvarint(), amount: r.Varint(), who: r.Text()}
}

func (ledgerRules) SnapshotFormat() uint32 { return 1 }

func (ledgerRules) AppendSnapshot(buf []byte, s *ledger) []byte {
	buf = binary.AppendVarint(buf, s.sum)
	buf = binary.AppendVarint(buf, s.entries)
	for _, who := range slices.Sorted(maps.Keys(s.given)) {
		buf = binary.AppendVarint(wire.AppendBytes(buf, who), s.given[who])
	}
	return buf
}

func (ledgerRules) RestoreSnapshot(r *wire.Reader) *ledger {
	s := &ledger{r.Varint(), r.Varint(), map[string]int64{}}
	for len(r.Rest()) > 0 {
		who := r.Text()
		s.given[who] = r.Varint()
	}
	return s
}

func (ledgerRules) Equal(a, b *ledger) bool {
	return a.sum == b.sum && a.entries == b.entries && maps.Equal(a.given, b.given)
}

// ledgerEngine is an engine and what rewrites its streams.
type ledgerEngine struct {
	*stream.Engine[*ledger, post, post, int64]
	*rewrite.Rewriter
}

func openLedger(store stream.Store, clock stream.Clock, options stream.Options) *ledgerEngine {
	engine := stream.New(ledgerRules{}, store, clock, options)
	return &ledgerEngine{engine, rewrite.New(engine, engine, store)}
}
