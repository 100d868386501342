package stream_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/ledger"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

// A reader of the log gets the chunks before the damage, and then an error.
func TestDamageIsRefusedNotYielded(t *testing.T) {
	for name, test := range map[string]struct {
		damage func(chunks []stream.Chunk) []stream.Chunk
		after  uint64
		want   int // chunks before the damage
	}{
		"first chunk missing": {func(c []stream.Chunk) []stream.Chunk { return c[1:] }, 0, 0},
		"next chunk missing":  {func(c []stream.Chunk) []stream.Chunk { return slices.Delete(c, 2, 3) }, 2, 0},
		"chunk missing":       {func(c []stream.Chunk) []stream.Chunk { return slices.Delete(c, 3, 4) }, 1, 2},
		"payload changed": {func(c []stream.Chunk) []stream.Chunk {
			c[2].Payload = append([]byte{99}, c[2].Payload[1:]...)
			return c
		}, 0, 3},
		"a chunk of another log": {func(c []stream.Chunk) []stream.Chunk { c[3].Prev = stream.Digest{1}; return c }, 0, 3},
		"time runs backwards":    {func(c []stream.Chunk) []stream.Chunk { c[4].At = c[3].At; return c }, 3, 1},
	} {
		t.Run(name, func(t *testing.T) {
			chunks, _ := ledger.Recorded(t)
			engine := newEngine(storetest.NewMemoryOf(test.damage(chunks)...), stream.Options{})
			defer mustClose(t, engine)
			got := 0
			for _, err := range engine.Chunks(t.Context(), testStream, test.after) {
				if err == nil {
					got++
					continue
				}
				if !errors.Is(err, stream.ErrDamaged) || fault.KindOf(err) != fault.Storage || got != test.want {
					t.Errorf("after %d chunks: %v, want damage as a storage failure after %d", got, err, test.want)
				}
				return
			}
			t.Errorf("%d chunks and no error", got)
		})
	}
}

func TestDamageIsRefusedNotFolded(t *testing.T) {
	for name, damage := range map[string]func(chunks []stream.Chunk) []stream.Chunk{
		"payload changed": func(c []stream.Chunk) []stream.Chunk {
			c[2].Payload = append([]byte{99}, c[2].Payload[1:]...)
			return c
		},
		"time changed":   func(c []stream.Chunk) []stream.Chunk { c[2].At += 3; return c },
		"id changed":     func(c []stream.Chunk) []stream.Chunk { c[2].ID[0]++; return c },
		"count changed":  func(c []stream.Chunk) []stream.Chunk { c[4].Count++; return c },
		"chunks swapped": func(c []stream.Chunk) []stream.Chunk { c[1], c[2] = c[2], c[1]; return c },
		"a chunk of another log": func(c []stream.Chunk) []stream.Chunk {
			c[3].Prev = stream.Digest{1}
			return c
		},
		"time runs backwards": func(c []stream.Chunk) []stream.Chunk {
			c[4].At = c[3].At
			return c
		},
	} {
		t.Run(name, func(t *testing.T) {
			chunks, _ := ledger.Recorded(t)
			engine := newEngine(storetest.NewMemoryOf(damage(chunks)...), stream.Options{})
			_, err := engine.Do(t.Context(), testStream, ledger.Post{ID: 9, Amount: 1})
			if !errors.Is(err, stream.ErrDamaged) || fault.KindOf(err) != fault.Storage {
				t.Errorf("got %v, want damage as a storage failure", err)
			}
			mustClose(t, engine)
		})
	}
}

func TestSnapshotThatTheLogDoesNotBearOut(t *testing.T) {
	chunks, snapshot := ledger.Recorded(t)
	load := func(t *testing.T, snapshot stream.Snapshot, chunks ...stream.Chunk) (int64, error) {
		store := storetest.NewMemoryOf(chunks...)
		if err := store.SaveSnapshot(t.Context(), testStream, snapshot); err != nil {
			t.Fatal(err)
		}
		engine := newEngine(store, stream.Options{})
		defer mustClose(t, engine)
		return engine.View(t.Context(), testStream, ledger.SumQuery)
	}
	t.Run("log cut off", func(t *testing.T) {
		if _, err := load(t, snapshot, chunks[:3]...); !errors.Is(err, stream.ErrDamaged) {
			t.Errorf("got %v, want damage", err)
		}
	})
	t.Run("other head", func(t *testing.T) {
		other := snapshot
		other.Head.Sum[0]++
		if _, err := load(t, other, chunks...); !errors.Is(err, stream.ErrDamaged) {
			t.Errorf("got %v, want damage", err)
		}
	})
	t.Run("other format: replayed", func(t *testing.T) {
		other := snapshot
		other.Format++
		if sum, err := load(t, other, chunks...); sum != 5 || err != nil {
			t.Errorf("got %d, %v", sum, err)
		}
	})
	t.Run("does not decode: replayed", func(t *testing.T) {
		other := snapshot
		other.State = nil
		if sum, err := load(t, other, chunks...); sum != 5 || err != nil {
			t.Errorf("got %d, %v", sum, err)
		}
	})
}
