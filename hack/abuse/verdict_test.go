package main

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const ms = time.Millisecond

func TestPercentile(t *testing.T) {
	var hundred []time.Duration
	for i := range 100 {
		hundred = append(hundred, time.Duration(100-i)*ms)
	}
	for _, c := range []struct {
		name      string
		latencies []time.Duration
		want      time.Duration
	}{
		{"of nothing", nil, latencyLimit},
		{"of one", []time.Duration{3 * ms}, 3 * ms},
		{"of a hundred", hundred, 99 * ms},
		{"of fifty", hundred[:50], 100 * ms},
		{"of two", []time.Duration{2 * ms, 1 * ms}, 2 * ms},
	} {
		if got := percentile(c.latencies, 0.99); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []time.Duration
		want   time.Duration
	}{
		{nil, 0},
		{[]time.Duration{5 * ms}, 5 * ms},
		{[]time.Duration{9 * ms, 1 * ms, 2 * ms}, 2 * ms},
		{[]time.Duration{4 * ms, 1 * ms}, 4 * ms},
	} {
		if got := median(c.values); got != c.want {
			t.Errorf("of %v: %v, want %v", c.values, got, c.want)
		}
	}
}

func TestRatio(t *testing.T) {
	for _, c := range []struct {
		latency, calm time.Duration
		want          float64
	}{
		{50 * ms, 10 * ms, 5},
		{5 * ms, 10 * ms, 0.5},
		{10 * ms, ms, 10 / (float64(calmFloor) / float64(ms))},
		{ms, ms, 1},
		{0, 0, 1},
	} {
		if got := ratio(c.latency, c.calm); got != c.want {
			t.Errorf("%v to %v: %v, want %v", c.latency, c.calm, got, c.want)
		}
	}
}

// quiet returns the figures of an attack that is not noticed.
func quiet() rowFigures {
	phase := func() phaseFigures {
		return phaseFigures{sent: 1_000, failures: map[string]int{}, turnedAway: map[string]int{}, requests: 10 * ms, connections: 12 * ms, events: 8 * ms,
			resources: heldResources{resident: 60 << 20, descriptors: 120}}
	}
	return rowFigures{calm: phase(), attack: phase(), after: phase(), launched: map[string]int{"429": 1}}
}

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name   string
		attack attackCase
		change func(*rowFigures)
		want   []string
	}{
		{"nothing is noticed", attackCase{}, func(*rowFigures) {}, nil},
		{"no attack", attackCase{}, func(r *rowFigures) { r.launched = nil }, []string{"the attack did nothing"}},
		{"the attacker gets what others have", attackCase{}, func(r *rowFigures) { r.launched[breachMark+"a token is a game"] = 3 },
			[]string{"attack: 3 times a token is a game"}},
		{"the program ends", attackCase{}, func(r *rowFigures) { r.ended = errors.New("killed") }, []string{"the program: killed"}},
		{"one of many fails", attackCase{}, func(r *rowFigures) { r.attack.failures["timeout"] = 1 },
			[]string{"attack: 1 of 1000 victims' requests and events failed", "attack: 1 × timeout"}},
		{"refused", attackCase{}, func(r *rowFigures) { r.attack.refused = 2 },
			[]string{"attack: 2 of 1000 victims' requests and events failed", "attack: 2 × 500 or 503"}},
		{"refused, which it may", attackCase{mayRefuse: true}, func(r *rowFigures) { r.attack.refused, r.attack.events = 2, latencyLimit }, nil},
		{"turned away", attackCase{}, func(r *rowFigures) { r.attack.turnedAway["reset"] = 2 },
			[]string{"attack: 2 of 1000 victims' requests and events failed", "attack: 2 × reset"}},
		{"turned away, which it may", attackCase{mayTurnAway: true}, func(r *rowFigures) {
			r.attack.turnedAway["reset"], r.attack.connections = 2, latencyLimit
		}, nil},
		{"refused afterwards", attackCase{mayRefuse: true}, func(r *rowFigures) { r.after.refused = 2 },
			[]string{"after: 2 of 1000 victims' requests and events failed", "after: 2 × 500 or 503"}},
		{"nothing was sent", attackCase{}, func(r *rowFigures) { r.after.sent = 0 }, []string{"after: the victims did nothing"}},
		{"five times as slow", attackCase{}, func(r *rowFigures) { r.attack.requests = 50 * ms }, nil},
		{"slower", attackCase{}, func(r *rowFigures) { r.attack.requests = 51 * ms }, []string{"attack: requests take 5.1 times as long"}},
		{"slower to connect", attackCase{}, func(r *rowFigures) { r.after.connections = 120 * ms },
			[]string{"after: requests over new connections take 10.0 times as long"}},
		{"slower to tell", attackCase{}, func(r *rowFigures) { r.after.events = 80 * ms }, []string{"after: events take 10.0 times as long"}},
		{"the whole memory", attackCase{}, func(r *rowFigures) { r.attack.resources.resident = memoryLimit }, nil},
		{"more memory", attackCase{}, func(r *rowFigures) { r.after.resources.resident = memoryLimit + 1<<20 },
			[]string{"after: 321 MiB resident, 320 allowed"}},
		{"memory stays", attackCase{growth: 32 << 20}, func(r *rowFigures) { r.calm.liveHeap, r.after.liveHeap = 20<<20, 53<<20 },
			[]string{"after: the live heap is 33 MiB larger than in calm, 32 allowed"}},
		{"the heap is the budget's", attackCase{}, func(r *rowFigures) { r.after.liveHeap = 200 << 20 }, nil},
		{"much is stored", attackCase{}, func(r *rowFigures) { r.calm.stored, r.attack.stored = 80<<20, 209<<20 },
			[]string{"attack: 129 MiB stored, 128 allowed"}},
		{"the disk is full", attackCase{smallDisk: true}, func(r *rowFigures) { r.attack.stored = 177 << 20 }, nil},
		{"a member stays alone", attackCase{}, func(r *rowFigures) { r.apart = errors.New("it knows 1 of 3 members") },
			[]string{"attack: a member that starts: it knows 1 of 3 members"}},
		{"no descriptor left", attackCase{}, func(r *rowFigures) { r.attack.resources.descriptors = openFiles },
			[]string{"attack: all 3000 descriptors in use"}},
		{"descriptors stay", attackCase{}, func(r *rowFigures) { r.after.resources.descriptors = 321 },
			[]string{"after: 321 descriptors open, 120 in calm"}},
		{"sinks", attackCase{}, func(r *rowFigures) { r.undelivered, r.stale = map[string]int{pubsubPath: 3}, time.Minute },
			[]string{"after: the sink /pubsub lacks 3 broadcasts", "after: sinks have the poll as it was 1m0s before the end of the attack"}},
	} {
		figures := quiet()
		c.change(&figures)
		if diff := cmp.Diff(c.want, figures.judge(c.attack)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestIsOnlySlow(t *testing.T) {
	for _, c := range []struct {
		change func(*rowFigures)
		want   bool
	}{
		{func(*rowFigures) {}, false},
		{func(r *rowFigures) { r.attack.events, r.after.requests = time.Second, time.Second }, true},
		{func(r *rowFigures) { r.attack.events, r.attack.refused = time.Second, 1 }, false},
		{func(r *rowFigures) { r.after.failures[lateText], r.after.turnedAway[lateText] = 3, 1 }, true},
		{func(r *rowFigures) { r.after.failures[lateText], r.after.failures["timeout"] = 3, 1 }, false},
	} {
		figures := quiet()
		c.change(&figures)
		if figures.isOnlySlow(attackCase{}) != c.want {
			t.Errorf("%q: want %v", figures.judge(attackCase{}), c.want)
		}
	}
	if lateText != "late by more than "+latencyLimit.String() {
		t.Errorf("%q, with a limit of %v", lateText, latencyLimit)
	}
}

// Delays and what victims miss fail nothing on processors that the host takes away; anything else does.
func TestStolenProcessors(t *testing.T) {
	for _, c := range []struct {
		change func(*rowFigures)
		want   string
	}{
		{func(*rowFigures) {}, "pass"},
		{func(r *rowFigures) { r.attack.events, r.attack.stolen = time.Second, 0.09 }, "FAIL"},
		{func(r *rowFigures) { r.attack.events, r.attack.stolen = time.Second, 0.11 }, "UNCLEAR"},
		{func(r *rowFigures) { r.attack.refused, r.attack.stolen = 1, 0.9 }, "FAIL"},
		{func(r *rowFigures) { r.after.failures["timeout"], r.calm.stolen = 1, 0.5 }, "UNCLEAR"},
		{func(r *rowFigures) { r.after.failures["timeout"] = 1 }, "FAIL"},
		{func(r *rowFigures) { r.apart, r.attack.stolen = errors.New("late"), 0.9 }, "UNCLEAR"},
		{func(r *rowFigures) { r.after.resources.resident, r.after.stolen = memoryLimit+1, 0.9 }, "FAIL"},
	} {
		row := reportRow{rowFigures: quiet()}
		c.change(&row.rowFigures)
		row.problems = row.judge(row.attack)
		if got := row.verdict(); got != c.want {
			t.Errorf("%q: %s, want %s", row.problems, got, c.want)
		}
	}
}
