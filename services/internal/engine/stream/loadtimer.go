package stream

import "time"

// loadTimer divides the time of a load between reading and rebuilding. A nil
// timer measures nothing.
type loadTimer struct {
	clock         Clock
	stats         *engineCounters
	began, last   time.Time
	read, rebuild time.Duration
}

func (l *streamLog[S, C, E, R]) startTimer() *loadTimer {
	e := l.engine
	now := e.clock.Now()
	return &loadTimer{clock: e.clock, stats: &e.stats, began: now, last: now}
}

// countRead counts the time since the last call as spent in the store.
func (t *loadTimer) countRead() {
	if t != nil {
		t.read += t.lap()
	}
}

// countRebuild counts the time since the last call as spent folding.
func (t *loadTimer) countRebuild() {
	if t != nil {
		t.rebuild += t.lap()
	}
}

func (t *loadTimer) lap() time.Duration {
	now := t.clock.Now()
	lap := now.Sub(t.last)
	t.last = now
	return lap
}

func (t *loadTimer) stop() {
	t.stats.loads.Add(1)
	t.stats.loadRead.Add(int64(t.read))
	t.stats.loadRebuild.Add(int64(t.rebuild))
}
