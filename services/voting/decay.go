package voting

import "math"

// decay is a forward-decayed sum of the accepted values: each weighs
// 2^((t−landmark)/half-life), so that ageing all of them is one division when
// the sum is read. It takes its times from the log, so a replay gives the same
// bits.
type decay struct {
	landmark int64 // Unix milliseconds, 0 while nothing was counted
	nudged   int64 // time of the last accepted vote, Unix milliseconds
	sum      float64
}

// maxScale is where the landmark moves, long before a float loses the old votes
// beside the new ones by overflow.
const maxScale = 1 << 40

// add counts the sum of the values accepted at a time.
func (d *decay) add(at, values int64, halfLife float64) {
	if d.landmark == 0 {
		d.landmark = at
	}
	scale := d.scale(at, halfLife)
	if scale > maxScale {
		d.sum /= scale
		d.landmark, scale = at, 1
	}
	// The conversion keeps the product from being fused with the addition, which
	// would round differently on another architecture.
	d.sum += float64(float64(values) * scale)
	d.nudged = at
}

func (d *decay) scale(at int64, halfLife float64) float64 {
	return math.Exp2(float64(at-d.landmark) / halfLife)
}

// Decay is the decayed sum as the contract shows it (section 2.2).
type Decay struct {
	LastNudged   int64   // Unix milliseconds of the last accepted vote
	Val          float64 // the decayed sum at LastNudged
	CurrentScale float64 // weight of a vote accepted at LastNudged
	LastAltered  int64   // Unix milliseconds at which the weight was 1
}

func (d *decay) report(halfLife float64) Decay {
	if d.landmark == 0 {
		return Decay{}
	}
	scale := d.scale(d.nudged, halfLife)
	return Decay{LastNudged: d.nudged, Val: d.sum / scale, CurrentScale: scale, LastAltered: d.landmark}
}
