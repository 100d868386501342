package accumulation

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The index leads to a place from which no later chunk is missed and few earlier
// ones are read.
func TestIndexFindsThePlace(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 0))
		i, at := &index{}, int64(1_000)
		var times []int64 // of chunk n+1
		for range rng.IntN(1_000) {
			at += 1 + rng.Int64N(5)
			times = append(times, at)
			for range 1 + rng.IntN(3) {
				i.add(at)
			}
		}
		restored, err := rules{}.RestoreSnapshot(rules{}.AppendSnapshot(nil, i))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(i, restored, cmp.AllowUnexported(index{})); diff != "" {
			t.Fatalf("seed %d: restored (-want +got):\n%s", seed, diff)
		}
		for range 100 {
			start := 990 + rng.Int64N(at-980)
			first := 0 // chunks that are not later than start
			for first < len(times) && times[first] <= start {
				first++
			}
			if got := i.before(start); got > uint64(first) || uint64(first)-got > stride {
				t.Fatalf("seed %d: before(%d) is %d, the first %d chunks are not later", seed, start, got, first)
			}
		}
	}
}

func TestRestoreRefusesWhatItDidNotWrite(t *testing.T) {
	i := &index{}
	for at := range int64(200) {
		i.add(1 + at)
	}
	whole := rules{}.AppendSnapshot(nil, i)
	for n := range len(whole) {
		if _, err := (rules{}).RestoreSnapshot(whole[:n:n]); err == nil {
			t.Errorf("accepted %d of %d bytes", n, len(whole))
		}
	}
}

func FuzzDecodeEntry(f *testing.F) {
	f.Add(rules{}.AppendEntry(nil, Submission{"1", "U2", "2", json.RawMessage(`{"a":1}`)}))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, encoded []byte) {
		s, rest, err := rules{}.DecodeEntry(encoded)
		if err != nil {
			return
		}
		again, tail, err := rules{}.DecodeEntry(append(rules{}.AppendEntry(nil, s), rest...))
		if err != nil || !bytes.Equal(tail, rest) || !cmp.Equal(s, again) {
			t.Errorf("%+v came back as %+v, %v", s, again, err)
		}
	})
}
