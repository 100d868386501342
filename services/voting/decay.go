package voting

import "math"

// decay is a forward-decayed sum of the accepted values: each weighs
// 2^((t−landmark)/half-life), so that ageing all of them is one division when
// the sum is read. It takes its times from the log, so a replay gives the same
// bits.
type decay struct {
	landmark int64   // Unix milliseconds
	nudged   int64   // time of the last accepted vote, Unix milliseconds
	scale    float64 // weight of a value at nudged, 0 while nothing was counted
	sum      float64
}

// maxScale is where the landmark moves, long before the sum could overflow.
const maxScale = 1 << 40

// add counts the sum of the values accepted at a time.
func (d *decay) add(at, values int64, halfLife float64) {
	if d.scale == 0 {
		*d = decay{landmark: at, nudged: at, scale: 1}
	}
	if at != d.nudged {
		d.nudged, d.scale = at, exp2(float64(at-d.landmark)/halfLife)
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

func (d *decay) report() Decay {
	if d.scale == 0 {
		return Decay{}
	}
	return Decay{LastNudged: d.nudged, Val: d.sum / d.scale, CurrentScale: d.scale, LastAltered: d.landmark}
}
