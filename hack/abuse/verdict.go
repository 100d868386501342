package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/acclaim-dev/acclaim/hack/harness"
	"github.com/acclaim-dev/acclaim/hack/processor"
)

const (
	ratioLimit  = 5                    // p99 against calm
	memoryLimit = memoryBudget * 5 / 4 // the budget and a quarter
	// Bytes that an attack may store: 64 MiB are an identity's default quota for a day, and
	// the store's logs have the last of them once more, 49 MiB as measured, until the
	// memtables are flushed.
	storedLimit     = 128 << 20
	leftDescriptors = 200                    // more than in calm, that may be open ten seconds after an attack
	calmFloor       = 2 * time.Millisecond   // a calm p99 below it counts as this: the noise of a scheduler is no smaller
	windowLength    = 500 * time.Millisecond // of a figure, that enters a median
	latencyLimit    = 2 * time.Second        // of a victim's request, which then has failed
)

// phaseFigures describe a phase (calm, attack, after): the answers to the victims and the
// resources of the program.
type phaseFigures struct {
	sent     int            // requests and events
	refused  int            // answered 500 or 503
	failures map[string]int // others, by what happened
	// turnedAway are those of victims that connected for the request.
	turnedAway map[string]int
	// Medians of the 99th percentiles of the windows.
	requests, connections, events time.Duration
	resources                     heldResources   // the greatest values
	liveHeap                      int64           // bytes that a collection at the end of the phase leaves
	stored                        int64           // bytes in the data folder at the end of the phase
	metrics                       harness.Metrics // at the end of the phase
	stolen                        float64         // share of the processors' time that the host took away
}

// rowFigures are the phases of an attack.
type rowFigures struct {
	calm, attack, after phaseFigures
	launched            map[string]int // what the attacker did, by outcome
	warned              bool           // the program has logged what it must
	apart               error          // why a member that started during the attack did not reach the others
	undelivered         map[string]int // broadcasts that sinks lack ten seconds after the attack
	stale               time.Duration  // age at the end of the attack of the poll that sinks have ten seconds later
	ended               error          // of the program by itself, or when it could not end
}

// percentile returns the smallest value that a share of the others does not exceed,
// latencyLimit when there are none: a window without an answer is a standstill.
func percentile(latencies []time.Duration, share float64) time.Duration {
	if len(latencies) == 0 {
		return latencyLimit
	}
	sorted := slices.Sorted(slices.Values(latencies))
	return sorted[max(0, int(math.Ceil(share*float64(len(sorted))))-1)]
}

// median returns the middle value, the greater of two.
func median(values []time.Duration) time.Duration {
	if len(values) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(values))[len(values)/2]
}

// ratio compares a latency with that in calm.
func ratio(latency, calm time.Duration) float64 {
	return float64(max(latency, calmFloor)) / float64(max(calm, calmFloor))
}

// failed counts what the victims did not get, without what the attack may cause.
func (p phaseFigures) failed(may attackCase) int {
	failed := 0
	if !may.mayRefuse {
		failed += p.refused
	}
	for _, n := range p.listFailures(may) {
		failed += n
	}
	return failed
}

// listFailures returns the failures other than refusals by what happened.
func (p phaseFigures) listFailures(may attackCase) map[string]int {
	all := map[string]int{}
	maps.Copy(all, p.failures)
	if !may.mayTurnAway {
		for what, n := range p.turnedAway {
			all[what] += n
		}
	}
	return all
}

// success is the share of what the victims asked for that they got.
func (p phaseFigures) success(may attackCase) float64 {
	if p.sent == 0 {
		return 0
	}
	return 1 - float64(p.failed(may))/float64(p.sent)
}

// judge returns what is wrong with a row, nothing if it passes.
func (r rowFigures) judge(a attackCase) []string {
	var problems []string
	complain := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if len(r.launched) == 0 {
		complain("the attack did nothing")
	}
	r.judgeBreaches(complain)
	r.judgeSigns(a.signs, complain)
	if r.apart != nil {
		complain("attack: a member that starts: %v", r.apart)
	}
	if r.ended != nil {
		complain("the program: %v", r.ended)
	}
	r.judgePhase("calm", r.calm, attackCase{}, complain)
	r.judgePhase("attack", r.attack, a, complain)
	r.judgePhase("after", r.after, attackCase{}, complain)
	if open := r.attack.resources.descriptors; open >= openFiles {
		complain("attack: all %d descriptors in use", open)
	}
	if open, calm := r.after.resources.descriptors, r.calm.resources.descriptors; open > calm+leftDescriptors {
		complain("after: %d descriptors open, %d in calm", open, calm)
	}
	if grown := r.after.liveHeap - r.calm.liveHeap; a.growth > 0 && grown > a.growth {
		complain("after: the live heap is %d MiB larger than in calm, %d allowed", grown>>20, a.growth>>20)
	}
	if grown := r.attack.stored - r.calm.stored; !a.smallDisk && grown > storedLimit {
		complain("attack: %d MiB stored, %d allowed", grown>>20, storedLimit>>20)
	}
	for _, path := range slices.Sorted(maps.Keys(r.undelivered)) {
		complain("after: the sink %s lacks %d broadcasts", path, r.undelivered[path])
	}
	if r.stale > latencyLimit {
		complain("after: sinks have the poll as it was %v before the end of the attack", r.stale.Round(time.Second))
	}
	return problems
}

// judgeBreaches complains about what the attacker got that only others may have.
func (r rowFigures) judgeBreaches(complain func(string, ...any)) {
	for _, outcome := range slices.Sorted(maps.Keys(r.launched)) {
		if what, ok := strings.CutPrefix(outcome, breachMark); ok {
			complain("attack: %d times %s", r.launched[outcome], what)
		}
	}
}

// isOnlySlow reports whether a row fails, and by nothing but delays, of the attack too.
func (r rowFigures) isOnlySlow(a attackCase) bool { return r.failsOnlyBy(a, withoutLate) }

// isUnclear reports whether a row fails by nothing but what a host causes that takes the
// processors away: delays, and what victims did not get in time. A program that refuses,
// ends or holds too much fails.
func (r rowFigures) isUnclear(a attackCase) bool {
	return r.mostStolen() > processor.MuchStolen && r.failsOnlyBy(a, func(map[string]int) map[string]int { return nil })
}

// failsOnlyBy reports whether a row fails, and not without delays and the failures that
// excuse takes out.
func (r rowFigures) failsOnlyBy(a attackCase, excuse func(failures map[string]int) map[string]int) bool {
	fails, prompt := len(r.judge(a)) > 0, r
	for _, p := range []*phaseFigures{&prompt.calm, &prompt.attack, &prompt.after} {
		p.requests, p.connections, p.events = 0, 0, 0
		p.failures, p.turnedAway = excuse(p.failures), excuse(p.turnedAway)
	}
	if r.isTooSlow(a.signs) {
		a.signs = attackSigns{}
	}
	if r.mostStolen() > processor.MuchStolen { // sinks and members are late, too
		prompt.undelivered, prompt.stale, prompt.apart = nil, 0, nil
	}
	return fails && len(prompt.judge(a)) == 0
}

// lateText is the failure of what took longer than latencyLimit.
const lateText = "late by more than 2s"

func withoutLate(failures map[string]int) map[string]int {
	others := maps.Clone(failures)
	delete(others, lateText)
	return others
}

// mostStolen returns the greatest stolen share of the phases.
func (r rowFigures) mostStolen() float64 {
	return max(r.calm.stolen, r.attack.stolen, r.after.stolen)
}

func (r rowFigures) judgePhase(name string, p phaseFigures, may attackCase, complain func(string, ...any)) {
	if p.sent == 0 {
		complain("%s: the victims did nothing", name)
	} else if p.failed(may) > 0 {
		complain("%s: %d of %d victims' requests and events failed", name, p.failed(may), p.sent)
		if p.refused > 0 && !may.mayRefuse {
			complain("%s: %d × 500 or 503", name, p.refused)
		}
		failures := p.listFailures(may)
		for _, what := range slices.Sorted(maps.Keys(failures)) {
			complain("%s: %d × %s", name, failures[what], what)
		}
	}
	if may.mayRefuse {
		p.events = 0 // a broadcast that is refused is no event
	}
	if may.mayTurnAway {
		p.connections = 0
	}
	for _, series := range []struct {
		what       string
		took, calm time.Duration
	}{
		{"requests", p.requests, r.calm.requests},
		{"requests over new connections", p.connections, r.calm.connections},
		{"events", p.events, r.calm.events},
	} {
		if to := ratio(series.took, series.calm); to > ratioLimit {
			complain("%s: %s take %.1f times as long", name, series.what, to)
		}
	}
	if p.resources.resident > memoryLimit {
		complain("%s: %d MiB resident, %d allowed", name, p.resources.resident>>20, memoryLimit>>20)
	}
}
