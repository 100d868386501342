package batch

import "time"

// Pace spaces batches that run side by side by how long one takes: few large ones cost less
// than many small ones, and no item waits for all of the one before. A further batch may
// begin when none is under way, or when a part of that time has passed since the last one
// began: then about as many are under way as there are parts, whether the other side takes
// them one after the other or side by side, and also when one hangs.
//
// A Pace is not safe for concurrent use, and has no clock.
type Pace struct {
	// Parts is the number of parts of the time that a batch takes. Most limits the batches
	// under way, without those that hang.
	Parts, Most int

	running int
	hanging int           // of running
	took    time.Duration // by a batch; 0: not known yet
	began   time.Time     // the last one
}

// firstTook is assumed of a batch until one has ended.
const firstTook = 10 * time.Millisecond

// NextWait returns how long the next batch waits, and false if it waits for the end of one
// under way, however long that takes. At the end of one a batch asks again in any case.
func (p *Pace) NextWait(now time.Time) (wait time.Duration, ok bool) {
	switch {
	case p.running == 0:
		return 0, true
	case p.running-p.hanging >= p.Most:
		return 0, false
	case p.took == 0:
		p.took = firstTook
	}
	if now.Before(p.began) { // the clock has stepped back
		p.began = now
	}
	return max(0, p.took/time.Duration(p.Parts)-now.Sub(p.began)), true
}

// Begin notes that a batch begins.
func (p *Pace) Begin(now time.Time) {
	p.running++
	p.began = now
}

// End notes that a batch has ended, and how long it took. One counts for twice or half of
// the one before at most: a batch that hung tells little about the next.
func (p *Pace) End(took time.Duration) {
	p.running--
	switch {
	case took <= 0: // the clock has stepped back
	case p.took == 0:
		p.took = took
	default:
		p.took = min(max(took, p.took/2), 2*p.took)
	}
}

// Hang notes that a batch under way takes so long that another may have its place.
func (p *Pace) Hang() { p.hanging++ }

// Unhang notes that a batch that hung has ended, after End.
func (p *Pace) Unhang() { p.hanging-- }

// Running returns how many batches are under way.
func (p *Pace) Running() int { return p.running }
