package rewrite_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/ledger"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

func TestVerify(t *testing.T) {
	for name, test := range map[string]struct {
		damage func(chunks []stream.Chunk, s *stream.Snapshot) []stream.Chunk
		want   string // part of the error, empty if sound
	}{
		"sound": {func(c []stream.Chunk, _ *stream.Snapshot) []stream.Chunk { return c }, ""},
		"byte changed": {func(c []stream.Chunk, _ *stream.Snapshot) []stream.Chunk {
			c[2].ID[3]++
			return c
		}, "chunk 4 does not continue chunk 3"},
		"chunk missing": {func(c []stream.Chunk, _ *stream.Snapshot) []stream.Chunk {
			return append(c[:1], c[2:]...)
		}, "chunk 3 follows chunk 1"},
		"end missing": {func(c []stream.Chunk, s *stream.Snapshot) []stream.Chunk {
			return c[:s.Head.Seq-1]
		}, "the log ends at"},
		"snapshot of another chunk": {func(c []stream.Chunk, s *stream.Snapshot) []stream.Chunk {
			s.Head.Sum[0]++
			return c
		}, "another chunk"},
		"snapshot of another state": {func(c []stream.Chunk, s *stream.Snapshot) []stream.Chunk {
			s.State[0] ^= 2
			return c
		}, "is not the state of the log"},
		"snapshot cut off": {func(c []stream.Chunk, s *stream.Snapshot) []stream.Chunk {
			s.State = s.State[:1]
			return c
		}, "does not decode"},
	} {
		t.Run(name, func(t *testing.T) {
			chunks, snapshot := ledger.Recorded(t)
			store := storetest.NewMemoryOf(test.damage(chunks, &snapshot)...)
			if err := store.SaveSnapshot(t.Context(), testStream, snapshot); err != nil {
				t.Fatal(err)
			}
			engine := newEngine(store, stream.Options{})
			defer mustClose(t, engine)
			report, err := engine.Verify(t.Context(), testStream)
			if test.want == "" {
				if err != nil || report.Chunks != 5 || report.Entries != 5 || !report.Snapshot {
					t.Errorf("got %+v, %v, want 5 chunks of an entry each and a snapshot", report, err)
				}
				return
			}
			if !errors.Is(err, stream.ErrDamaged) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want damage: %s", err, test.want)
			}
		})
	}
}
