package voting

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/acclaim-dev/acclaim/api/contract"
)

// edges holds values whose carries and signs are prone to errors.
var edges = []int64{0, 1, -1, 2, -3, 128, -128, 1 << 24, 1 << 31, -1 << 32, 1 << 53, -1<<53 - 1, 1<<62 + 12345, math.MinInt64, math.MaxInt64}

func TestWideAgainstBig(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var sum wideInt
	want := new(big.Int)
	for range 20_000 {
		a, b := edges[random.IntN(len(edges))], edges[random.IntN(len(edges))]
		sum.addProduct(a, b)
		want.Add(want, new(big.Int).Mul(big.NewInt(a), big.NewInt(b)))
		if want.BitLen() > 126 {
			sum, want = wideInt{}, new(big.Int)
			continue
		}
		if got := string(sum.append(nil)); got != want.String() {
			t.Fatalf("after %d·%d the sum is %s, want %s", a, b, got, want)
		}
		nearest, _ := new(big.Float).SetInt(want).Float64()
		if got := sum.float(); got != nearest {
			t.Fatalf("%s as a float is %v, want %v", want, got, nearest)
		}
	}
}

// TestSumsCannotOverflow adds up the largest contributions there may be: as many
// voters as a table can hold, each with all votes that a configuration allows.
func TestSumsCannotOverflow(t *testing.T) {
	most := new(big.Int).Mul(big.NewInt(contract.MaxTotalVotes*contract.MaxValue*contract.MaxValue), big.NewInt(contract.MaxModifier+1))
	most.Lsh(most, 32)
	if most.BitLen() > 127 {
		t.Errorf("%d bits are too many", most.BitLen())
	}
}

func TestDeviation(t *testing.T) {
	tests := map[string]struct {
		votes [][2]int64 // value, weight
		want  float64
	}{
		"none":               {nil, 0},
		"one":                {[][2]int64{{5, 1}}, 0},
		"two the same":       {[][2]int64{{-128, 2}}, 0},
		"two":                {[][2]int64{{1, 1}, {3, 1}}, 1.4142135623730951},
		"five":               {[][2]int64{{2, 1}, {4, 3}, {7, 1}}, 1.7888543819998317},
		"nothing cancels":    {[][2]int64{{128, 1 << 53}, {127, 1}}, 1.0536712127723509e-08},
		"beyond 64 bits":     {[][2]int64{{128, 1 << 53}, {-128, 1 << 53}}, 128},
		"a hundred thousand": {[][2]int64{{0, 50_000}, {1, 50_000}}, 0.5000025000187501},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var sums voteSums
			for _, v := range test.votes {
				sums.add(v[0], 1, v[1])
			}
			if got := sampleDeviation(sums.count, sums.sum, sums.squares); got != test.want {
				t.Errorf("deviation is %v, want %v", got, test.want)
			}
		})
	}
}

// TestDeviationAgainstBig crosses the line between sums of 64 and of 128 bits.
func TestDeviationAgainstBig(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	weights := []int64{1, 2, 999, 1 << 20, 1 << 40, contract.MaxModifier + 1, math.MaxInt64}
	for range 5_000 {
		var sums voteSums
		for range 1 + random.IntN(6) {
			value, times := contract.MinValue+random.Int64N(contract.MaxValue-contract.MinValue+1), 1+random.Int64N(contract.MaxTotalVotes)
			if random.IntN(2) == 0 {
				value = 0 // counts, and leaves the other sums small
			}
			sums.add(value, times, weights[random.IntN(len(weights))])
		}
		got := strconv.FormatFloat(sampleDeviation(sums.count, sums.sum, sums.squares), 'g', -1, 64)
		wantFloat(t, "stddev", got, exactDeviation(sums.count.big(), sums.sum.big(), sums.squares.big()))
	}
}
