package storetest

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/rewrite"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

// sumEngine is an engine whose streams add numbers up.
type sumEngine struct {
	*stream.Engine[*int64, int64, int64, int64]
	*rewrite.Rewriter
}

// newSum returns an engine that keeps a snapshot of all that it has read.
func newSum(s stream.Store) *sumEngine {
	engine := stream.New(sumRules{}, s, stream.SystemClock(), stream.Options{SnapshotTail: 1})
	return &sumEngine{engine, rewrite.New(engine, engine, s)}
}

// sumRules are the rules of a domain without refusals, viewers and requests to peers. A
// command is its entry, and every result is the sum.
type sumRules struct {
	stream.Rules[*int64, int64, int64, int64]
}

func (sumRules) New() *int64               { return new(int64) }
func (sumRules) Fork(s *int64) *int64      { return new(*s) }
func (sumRules) Equal(a, b *int64) bool    { return *a == *b }
func (sumRules) Size(*int64) int           { return 8 }
func (sumRules) SnapshotFormat() uint32    { return 1 }
func (sumRules) Identities(int64) []string { return nil }

func (sumRules) Apply(s *int64, _ int64, entry int64) { *s += entry }

func (sumRules) Decide(_ *int64, _ int64, c int64) (stream.Decision[int64, int64], error) {
	return stream.Decision[int64, int64]{Entry: c, Store: true}, nil
}

func (sumRules) Answer(s *int64, _, _ int64) int64                { return *s }
func (sumRules) ReconstructResult(int64) (int64, error)           { return 0, nil }
func (sumRules) AppendEntry(buf []byte, e int64) []byte           { return append(buf, byte(e)) }
func (sumRules) DecodeEntry(r *wire.Reader) int64                 { return int64(r.Byte()) }
func (sumRules) AppendSnapshot(buf []byte, s *int64) []byte       { return append(buf, byte(*s)) }
func (sumRules) RestoreSnapshot(r *wire.Reader) (restored *int64) { return new(int64(r.Byte())) }

// purgedStreamBeginsAgain: engines purge a stream at the same time, beside one that appends
// to it. What was appended at that time is counted by all, or by none.
func purgedStreamBeginsAgain(t *testing.T, s Harness) {
	const entries = 12
	first, second := newSum(s), newSum(s)
	for range entries {
		appendOne(t, first)
	}
	wantSum(t, second, entries)
	if purge(t, first, time.Now().Add(-time.Hour)) {
		t.Error("newer entries are purged")
	}
	wantSum(t, second, entries)
	purgeTogether(t, second, first, newSum(s))
	left, err := first.View(t.Context(), purged, 0)
	if err != nil || left > 1 {
		t.Errorf("a purge leaves %d entries, %v", left, err)
	}
	appendOne(t, second)
	for _, e := range []*sumEngine{first, second, newSum(s)} {
		wantSum(t, e, left+1)
		if err := e.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	s.Reopen(t)
	late := newSum(s)
	wantSum(t, late, left+1)
	if _, err := late.Verify(t.Context(), purged); err != nil {
		t.Errorf("verify: %v", err)
	}
	wantTombstones(t, s, entries)
}

// purged is the name of the stream.
const purged = "s"

func appendOne(t *testing.T, e *sumEngine) {
	t.Helper()
	if _, err := e.Do(t.Context(), purged, 1); err != nil {
		t.Errorf("append: %v", err)
	}
}

// purge reports whether there was something to purge.
func purge(t *testing.T, e *sumEngine, before time.Time) bool {
	t.Helper()
	result, err := e.Purge(t.Context(), purged, before, false)
	if err != nil {
		t.Errorf("purge: %v", err)
	}
	return result.Found
}

// purgeTogether lets engines purge while another appends.
func purgeTogether(t *testing.T, appending *sumEngine, engines ...*sumEngine) {
	t.Helper()
	var found atomic.Bool
	concurrently(len(engines)+1, func(i int) {
		if i == len(engines) {
			appendOne(t, appending)
		} else if purge(t, engines[i], time.Now().Add(time.Hour)) {
			found.Store(true)
		}
	})
	if !found.Load() {
		t.Error("nothing was purged")
	}
}

// wantTombstones makes sure that no chunk is missing and that the first ones are empty.
func wantTombstones(t *testing.T, s Store, last uint64) {
	t.Helper()
	for i, chunk := range read(t, s, purged, 0) {
		if chunk.Seq != uint64(i)+1 {
			t.Errorf("chunk %d is missing", i+1)
		}
		if truncated, err := chunk.Truncated(); chunk.Seq <= last && (err != nil || !truncated) {
			t.Errorf("chunk %d holds what was purged, %v", chunk.Seq, err)
		}
	}
}

func wantSum(t *testing.T, e *sumEngine, want int64) {
	t.Helper()
	if got, err := e.View(t.Context(), purged, 0); err != nil || got != want {
		t.Errorf("the sum is %d, %v, want %d", got, err, want)
	}
}
