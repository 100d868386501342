// Package ledger is a small domain of streams with which the engine and what rewrites its
// streams are tested. Only tests may import it.
package ledger

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

// Post is a command of a ledger and its entry.
type Post struct {
	ID     uint64 // unique to the command
	Amount int64  // 0 empties the ledger
	Who    string // empty: no viewer
}

// GivenQuery is the amount of a query for what a viewer has given, which names the viewer.
const GivenQuery = int64(-3)

// Other queries.
//
//nolint:gochecknoglobals // never written
var (
	SumQuery     = Post{Amount: -1}
	EntriesQuery = Post{Amount: -2}
	SumVisit     = Post{Amount: -4}
)

// What a ledger takes, in all and from a viewer.
const (
	Limit       = 40
	ViewerLimit = 8
)

// ErrLimit refuses what passes a limit.
var ErrLimit = fault.New(fault.Invalid, "limit reached")

// Rules returns the rules of ledgers.
func Rules() stream.Rules[*ledger, Post, Post, int64] { return ledgerRules{} }

type ledgerRules struct{}

func (ledgerRules) New() *ledger { return &ledger{given: map[string]int64{}} }

func (ledgerRules) Fork(s *ledger) *ledger {
	fork := *s
	fork.given = maps.Clone(s.given)
	return &fork
}

func (ledgerRules) Size(s *ledger) int { return 16 + int(s.entries) }

func (ledgerRules) Decide(s *ledger, _ int64, c Post) (stream.Decision[Post, int64], error) {
	if s.sum+c.Amount > Limit || c.Who != "" && s.given[c.Who]+c.Amount > ViewerLimit {
		return stream.Decision[Post, int64]{}, ErrLimit
	}
	after := s.sum + c.Amount
	if c.Amount == 0 {
		after = 0
	}
	return stream.Decision[Post, int64]{Entry: c, Store: true, Result: after}, nil
}

func (ledgerRules) Identities(e Post) []string { return []string{e.Who} }

func (ledgerRules) Redact(e Post, name func(string) string, _ bool) Post {
	e.Who = name(e.Who)
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

func (ledgerRules) Answer(s *ledger, c Post, result int64) int64 {
	switch {
	case c == SumQuery, c == SumVisit:
		return s.sum
	case c == EntriesQuery:
		return s.entries
	case c.Amount == GivenQuery:
		return s.given[c.Who]
	}
	return result
}

func (ledgerRules) Visits(query Post) bool { return query == SumVisit }

func (ledgerRules) RepeatResult(s *ledger, _ Post) int64 { return s.sum }

func (ledgerRules) ReconstructResult(Post) (int64, error) {
	return 0, fault.New(fault.Uncertain, "the sum at that time is not known")
}

func (r ledgerRules) AppendCommand(buf []byte, c Post) []byte { return r.AppendEntry(buf, c) }

func (r ledgerRules) DecodeCommand(in *wire.Reader) Post { return r.DecodeEntry(in) }

func (ledgerRules) AppendResult(buf []byte, r, before int64) []byte {
	return binary.AppendVarint(buf, r-before)
}

func (ledgerRules) DecodeResult(r *wire.Reader, before int64) int64 { return before + r.Varint() }

func (ledgerRules) Apply(s *ledger, _ int64, e Post) {
	s.entries++
	s.sum += e.Amount
	if e.Who != "" {
		s.given[e.Who] += e.Amount
	}
	if e.Amount == 0 {
		s.sum = 0
		clear(s.given)
	}
}

func (ledgerRules) AppendEntry(buf []byte, e Post) []byte {
	buf = binary.AppendUvarint(buf, e.ID)
	buf = binary.AppendVarint(buf, e.Amount)
	return wire.AppendBytes(buf, e.Who)
}

func (ledgerRules) DecodeEntry(r *wire.Reader) Post {
	return Post{ID: r.Uvarint(), Amount: r.Varint(), Who: r.Text()}
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

// Engine is an engine and what rewrites its streams.
type Engine struct {
	*stream.Engine[*ledger, Post, Post, int64]
	*rewrite.Rewriter
}

// Open opens an engine of ledgers.
func Open(store stream.Store, clock stream.Clock, options stream.Options) *Engine {
	engine := stream.New(ledgerRules{}, store, clock, options)
	return &Engine{engine, rewrite.New(engine, engine, store)}
}
