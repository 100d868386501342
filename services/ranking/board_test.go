package ranking

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// naive is a question as one would write it down: who holds which answer.
type naive map[string]string

func (n naive) top(limit int) []Score {
	scores := map[string]int64{}
	for _, key := range n {
		scores[key]++
	}
	top := []Score{}
	for key, score := range scores {
		top = append(top, Score{key, score})
	}
	slices.SortFunc(top, func(a, b Score) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(a.Key, b.Key))
	})
	return top[:min(limit, len(top))]
}

func (n naive) do(c command) Answer {
	if c.clear {
		clear(n)
		return Answer{}
	}
	answer := Answer{Accepted: true}
	if before, ok := n[c.identity]; ok {
		answer.Original = &before
	}
	n[c.identity] = c.key
	return answer
}

func anyCommand(rng *rand.Rand) command {
	if rng.IntN(40) == 0 {
		return command{entry: entry{clear: true}}
	}
	return command{entry: entry{identity: fmt.Sprint("U", rng.IntN(12)), key: string(rune('a' + rng.IntN(6)))}}
}

// Random histories, decided in batches through forks as the engine does, agree
// with the naive model at every batch; so does a board restored from a snapshot.
func TestHistoriesAgreeWithTheModel(t *testing.T) { // section 4.3
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 0))
		b, model := newBoard(), naive{}
		for range 20 {
			fork := b.fork()
			var entries []entry
			for range rng.IntN(8) {
				c := anyCommand(rng)
				d, err := rules{}.Decide(fork, 0, c)
				if err != nil {
					t.Fatal(err)
				}
				want := model.do(c)
				if diff := gocmp.Diff(want, d.Result.Answer); diff != "" && !c.clear {
					t.Fatalf("seed %d: %+v (-want +got):\n%s", seed, c, diff)
				}
				if d.Store {
					rules{}.Apply(fork, 0, d.Entry)
					entries = append(entries, d.Entry)
				}
			}
			var log []byte
			for _, e := range entries {
				log = rules{}.AppendEntry(log, e)
			}
			for len(log) > 0 {
				e, rest, err := rules{}.DecodeEntry(log)
				if err != nil {
					t.Fatal(err)
				}
				rules{}.Apply(b, 0, e)
				log = rest
			}
			restored, err := rules{}.RestoreSnapshot(rules{}.AppendSnapshot(nil, b))
			if err != nil {
				t.Fatal(err)
			}
			for _, limit := range []int{1, 3, 100} {
				if diff := gocmp.Diff(model.top(limit), b.top(limit)); diff != "" {
					t.Fatalf("seed %d: top %d (-want +got):\n%s", seed, limit, diff)
				}
				if diff := gocmp.Diff(b.top(limit), restored.top(limit)); diff != "" {
					t.Fatalf("seed %d: restored top %d (-want +got):\n%s", seed, limit, diff)
				}
			}
		}
	}
}

func TestNothingIsStoredWhereNothingChanges(t *testing.T) {
	b := newBoard()
	if d, _ := (rules{}).Decide(b, 0, command{entry: entry{clear: true}}); d.Store {
		t.Error("clearing an empty question was stored")
	}
	b.set("U1", "tea")
	if d, _ := (rules{}).Decide(b, 0, command{entry: entry{identity: "U1", key: "tea"}}); d.Store || *d.Result.Original != "tea" {
		t.Errorf("the same answer again: %+v", d)
	}
}

func FuzzDecodeEntry(f *testing.F) {
	f.Add(rules{}.AppendEntry(nil, entry{identity: "U1", key: "tea"}))
	f.Add(rules{}.AppendEntry(nil, entry{clear: true}))
	f.Fuzz(func(t *testing.T, encoded []byte) {
		e, _, err := rules{}.DecodeEntry(encoded)
		if err != nil {
			return
		}
		again, rest, err := rules{}.DecodeEntry(rules{}.AppendEntry(nil, e))
		if err != nil || again != e || len(rest) != 0 {
			t.Errorf("%+v came back as %+v, %v", e, again, err)
		}
		_, _ = rules{}.RestoreSnapshot(encoded) // must not panic
	})
}

func BenchmarkTop(b *testing.B) {
	full := newBoard()
	for i := range 100_000 {
		full.set(fmt.Sprint("U", i), fmt.Sprint("key", i%5_000))
	}
	for b.Loop() {
		full.top(100)
	}
}
