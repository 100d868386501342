package accumulation

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

// The index leads to a place from which no later chunk is missed and few earlier
// ones are read, also after a clearing, which has a chunk of its own or shares one.
func TestIndexFindsThePlace(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 0))
		i, at := &chunkIndex{}, int64(1_000)
		var times []int64 // of chunk n+1
		begins, clearings := 0, 0
		for range rng.IntN(1_000) {
			at += 1 + rng.Int64N(5)
			times = append(times, at)
			before, after := rng.IntN(3), rng.IntN(3)
			for range before {
				i.addChunk(at)
			}
			if seed%2 == 1 && rng.IntN(300) == 0 {
				i.clearAll(at)
				begins, clearings = len(times)-1, clearings+1
			} else {
				after++
			}
			for range after {
				i.addChunk(at)
			}
		}
		r := wire.NewReader(bufferRules{}.AppendSnapshot(nil, i))
		restored := bufferRules{}.RestoreSnapshot(r)
		if err := r.End(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(i, restored, cmp.AllowUnexported(chunkIndex{})); diff != "" {
			t.Fatalf("seed %d: restored (-want +got):\n%s", seed, diff)
		}
		for range 100 {
			start := 990 + rng.Int64N(at-980)
			first := begins // chunks that are not later than start or before the clearing
			for first < len(times) && times[first] <= start {
				first++
			}
			// A chunk that ends with a clearing is not counted, so that reading begins earlier.
			if got := i.chunkBefore(start); got > uint64(first) || uint64(first)-got > stride+uint64(clearings) {
				t.Fatalf("seed %d: before(%d) is %d, the first %d chunks are not needed", seed, start, got, first)
			}
		}
	}
}

func TestRestoreRefusesWhatItDidNotWrite(t *testing.T) {
	i := &chunkIndex{}
	for at := range int64(200) {
		i.addChunk(1 + at)
	}
	whole := bufferRules{}.AppendSnapshot(nil, i)
	for n := range len(whole) {
		r := wire.NewReader(whole[:n])
		if bufferRules.RestoreSnapshot(bufferRules{}, r); r.End() == nil {
			t.Errorf("accepted %d of %d bytes", n, len(whole))
		}
	}
}

func FuzzDecodeEntry(f *testing.F) {
	f.Add(bufferRules{}.AppendEntry(nil, Submission{"1", "U2", "2", json.RawMessage(`{"a":1}`)}))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, encoded []byte) {
		first := wire.NewReader(encoded)
		s := bufferRules{}.DecodeEntry(first)
		if first.Err() != nil {
			return
		}
		second := wire.NewReader(append(bufferRules{}.AppendEntry(nil, s), first.Rest()...))
		again := bufferRules{}.DecodeEntry(second)
		if second.Err() != nil || !bytes.Equal(first.Rest(), second.Rest()) || !cmp.Equal(s, again) {
			t.Errorf("%+v came back as %+v, %v", s, again, second.Err())
		}
	})
}
