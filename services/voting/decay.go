package voting

import (
	"math"
	"time"
)

// HalfLife is the time in which the weight of a vote in the decayed sum halves.
// It is part of the fold: with another one the same log gives other sums, so no
// process may choose it.
const HalfLife = time.Minute

// decayedSum is a forward-decayed sum of the accepted values: each weighs
// 2^((t−landmark)/HalfLife), so that ageing all of them is one division when
// the sum is read. It takes its times from the log, so a replay gives the same
// bits.
type decayedSum struct {
	landmark int64   // Unix milliseconds
	nudged   int64   // time of the last accepted vote, Unix milliseconds
	scale    float64 // weight of a value at nudged, 0 while nothing was counted
	sum      float64
}

// maxScale is the scale at which the landmark moves, long before the sum could
// overflow.
const maxScale = 1 << 40

// addValues counts the sum of the values accepted at a time.
func (d *decayedSum) addValues(at, values int64) {
	if d.scale == 0 {
		*d = decayedSum{landmark: at, nudged: at, scale: 1}
	}
	if at != d.nudged {
		d.nudged, d.scale = at, exp2(float64(at-d.landmark)/float64(HalfLife.Milliseconds()))
	}
	if d.scale > maxScale {
		d.sum /= d.scale
		d.landmark, d.scale = at, 1
	}
	// The conversion keeps the product from being fused with the addition, which
	// would round differently on another architecture.
	d.sum += float64(float64(values) * d.scale)
}

// exp2 returns 2^x, the same bits on every architecture, which math.Exp2 does
// not promise.
func exp2(x float64) float64 {
	const terms = 14 // of the power series; the next is below half a unit in the last place
	whole := math.Round(x)
	rest := (x - whole) * math.Ln2
	sum := 1.0
	for n := terms; n > 0; n-- {
		sum = 1 + sum*rest/float64(n)
	}
	return math.Ldexp(sum, int(whole))
}

// Decay is the decayed sum as the contract shows it (section 2.2). All of it is
// zero while nothing was accepted.
type Decay struct {
	LastNudged   int64   // Unix milliseconds of the last accepted vote
	Val          float64 // the decayed sum at LastNudged
	CurrentScale float64 // weight of a vote accepted at LastNudged
	LastAltered  int64   // Unix milliseconds at which the weight was 1
}

func (d *decayedSum) reportDecay() Decay {
	if d.scale == 0 {
		return Decay{}
	}
	return Decay{LastNudged: d.nudged, Val: d.sum / d.scale, CurrentScale: d.scale, LastAltered: d.landmark}
}
