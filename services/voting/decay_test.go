package voting

import (
	"math"
	"testing"
)

func TestExp2(t *testing.T) {
	for n := -1000; n <= 1000; n++ {
		if got := exp2(float64(n)); got != math.Ldexp(1, n) {
			t.Errorf("2^%d is %v", n, got)
		}
	}
	for x := -45.0; x < 45; x += 0.00137 {
		want := math.Exp2(x)
		if off := math.Abs(exp2(x)-want) / want; off > 0x1p-51 {
			t.Fatalf("2^%v is %v, want %v", x, exp2(x), want)
		}
	}
	if got := exp2(1e12); !math.IsInf(got, 1) {
		t.Errorf("2^1e12 is %v, want infinity", got)
	}
}

// TestDecay: decisions, "Voting". Times are in half-lives since the start.
func TestDecay(t *testing.T) {
	tests := map[string]struct {
		votes [][2]float64 // time, value
		want  Decay
	}{
		"none":            {nil, Decay{}},
		"one":             {[][2]float64{{0, 7}}, Decay{start, 7, 1, start}},
		"a value of zero": {[][2]float64{{0, 0}}, Decay{start, 0, 1, start}},
		"half after a half-life": {
			[][2]float64{{0, 8}, {1, 1}}, Decay{start + halfLife, 5, 2, start}},
		"at the same time": {
			[][2]float64{{0, 8}, {1, 1}, {1, -3}}, Decay{start + halfLife, 2, 2, start}},
		"scale of 2^40": {
			[][2]float64{{0, 0x1p40}, {40, 1}}, Decay{start + 40*halfLife, 2, 0x1p40, start}},
		"the landmark moves beyond it": {
			[][2]float64{{0, 0x1p41}, {41, 1}}, Decay{start + 41*halfLife, 2, 1, start + 41*halfLife}},
		"and again": {
			[][2]float64{{0, 0x1p41}, {41, 1}, {42, 0}}, Decay{start + 42*halfLife, 1, 2, start + 41*halfLife}},
		"nothing is left after years": {
			[][2]float64{{0, -5}, {1e7, 1}}, Decay{start + 1e7*halfLife, 1, 1, start + 1e7*halfLife}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var d decayedSum
			for _, v := range test.votes {
				d.addValues(start+int64(v[0]*halfLife), int64(v[1]))
			}
			if got := d.reportDecay(); got != test.want {
				t.Errorf("decay is %+v, want %+v", got, test.want)
			}
		})
	}
}

// TestDecayCountsWhatWasAccepted: decisions, "Voting".
func TestDecayCountsWhatWasAccepted(t *testing.T) {
	tests := map[string]struct {
		commands []Command
		val      float64
	}{
		"count 3 is three times":     {[]Command{limits(1, 9, 9), times(ann, 5, 3)}, 15},
		"replaced votes stay":        {[]Command{cast(ann, 5), cast(ann, 7)}, 12},
		"modifiers do not enter":     {[]Command{modifyCommand{"Uann", 4}, cast(ann, 5), modifyCommand{"Uann", -9}}, 5},
		"DELETE begins it from zero": {[]Command{cast(ann, 5), resetCommand{}}, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := newPoll()
			p.accept(t, test.commands...)
			if got := p.answer(t, ann).Decay.Val; got != test.val {
				t.Errorf("val is %v, want %v", got, test.val)
			}
		})
	}
}
