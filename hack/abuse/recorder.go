package main

import (
	"maps"
	"sync"
	"time"
)

// victimKind distinguishes what victims wait for.
type victimKind int

const (
	requests    victimKind = iota // over kept connections
	connections                   // with a request over each
	events                        // broadcasts, from the request to the subscriber
)

// victimRecorder collects what victims experience. It is safe for concurrent use.
type victimRecorder struct {
	mu        sync.Mutex
	latencies map[victimKind][]time.Duration // in the current window
	sent      int
	refused   int
	failures  map[string]int
	away      map[string]int // failures of victims that connect
}

func newRecorder() *victimRecorder {
	return &victimRecorder{latencies: map[victimKind][]time.Duration{}, failures: map[string]int{}, away: map[string]int{}}
}

// succeed records something that took a time from the moment at which it was due.
func (r *victimRecorder) succeed(kind victimKind, due time.Time) {
	took := time.Since(due)
	if took > latencyLimit {
		r.fail(kind, lateText)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent++
	r.latencies[kind] = append(r.latencies[kind], took)
}

func (r *victimRecorder) fail(kind victimKind, what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent++
	if kind == connections {
		r.away[what]++
	} else {
		r.failures[what]++
	}
}

// refuse records a 503, or the 500 that a write has on a full disk.
func (r *victimRecorder) refuse() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent++
	r.refused++
}

// endWindow returns the 99th percentiles of the window by kind and begins another one.
func (r *victimRecorder) endWindow() map[victimKind]time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	window := map[victimKind]time.Duration{}
	for _, kind := range []victimKind{requests, connections, events} {
		window[kind] = percentile(r.latencies[kind], 0.99)
	}
	clear(r.latencies)
	return window
}

// endPhase adds the counts since the last call to p and begins again.
func (r *victimRecorder) endPhase(p *phaseFigures) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.sent, p.refused, p.failures, p.turnedAway = r.sent, r.refused, maps.Clone(r.failures), maps.Clone(r.away)
	r.sent, r.refused = 0, 0
	clear(r.failures)
	clear(r.away)
	clear(r.latencies)
}
