package main

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/testing/mongotest"
	"github.com/acclaim-dev/acclaim/services/internal/testing/sinktest"
)

// A program that starts while its replica set has a primary and no majority waits, like
// one whose database is away. One that runs reports that it is not ready, answers in a
// bounded time and serves again as soon as there is a majority.
func TestNoMajority(t *testing.T) {
	t.Parallel()
	set := mongotest.StartReplicaSet(t, 3, mongotest.ReplicaTiming{})
	running := startProgram(t, t.TempDir(), "serve", "--mongodb-uri", set.URI()+"&timeoutMS=1000")
	known := &votes{acknowledged: map[string]bool{}, sent: map[string]bool{}}
	if f := known.try(t, running, "before"); f != stored {
		t.Fatalf("fate %d of a vote", f)
	}
	set.StopReplication(1, true)
	set.StopReplication(2, true)
	late := startWaiting(t, set.URI()+"&timeoutMS=1000")
	wantReady(t, running, http.StatusServiceUnavailable)
	before := time.Now()
	if f := known.try(t, running, "meanwhile"); f == stored || time.Since(before) > 30*time.Second {
		t.Errorf("fate %d of a vote that no majority has, after %v", f, time.Since(before))
	}
	set.Heal()
	wantReady(t, running, http.StatusOK)
	late.awaitReady(t)
	wantReady(t, late, http.StatusOK)
	for known.try(t, late, "after") != stored && !t.Failed() {
	}
	known.check(t, running)
	known.check(t, late)
}

// Programs stay exact while they and the members of their replica set are killed, paused,
// cut off, stepped down and late.
func TestElections(t *testing.T) {
	t.Parallel()
	mongotest.RunSeeds(t, func(t *testing.T, seed uint64) {
		e := startElections(t, seed)
		w := newWorkload(e.fleet)
		w.run(t, 12, func() {
			for range electionRounds {
				e.disturb()
				w.done.await(t, 60)
			}
		})
		w.check(t)
		e.report()
	})
}

// Over the same faults a subscriber receives every acknowledged message once and in order,
// and sinks receive each at least once, for the first time in order.
func TestEventsOverElections(t *testing.T) {
	t.Parallel()
	mongotest.RunSeeds(t, func(t *testing.T, seed uint64) {
		const each = 8 // messages
		to := sinktest.Start(t, sinktest.Options{Prefix: "production:sample-extension:", Secret: "hook-key-of-more-than-32-bytes-0123456", Key: "sample-secret-that-everyone-knows"})
		e := startElections(t, seed, "--sink-allow-private", "--extensions", sinkRegistry(t, to, "only"))
		for voter := 0; len(to.TriedRequests()) == 0; voter++ { // until the sinks are active
			voteFor(t, e.fleet.any(0), "first", voter)
		}
		var disturbing sync.WaitGroup
		fates := followEvents(t, e.fleet, each*electionRounds, func(n int) {
			if n%each == 0 {
				disturbing.Wait()
				disturbing.Go(e.disturb)
			}
		})
		disturbing.Wait()
		to.Await(func(taken map[string][]sinktest.Event, _ []sinktest.Request) bool {
			return has(taken["/hook"], "over") && has(taken["/pubsub"], "over")
		})
		for _, path := range []string{"/hook", "/pubsub"} {
			wantTicksInOrder(t, path, to.TakenEvents(path), fates)
		}
		e.report()
	})
}

func has(events []sinktest.Event, name string) bool {
	return slices.ContainsFunc(events, func(e sinktest.Event) bool { return e.Name == name })
}

// wantTicksInOrder checks that a sink received each message that was stored, for the first
// time after those before it, and none that was refused.
func wantTicksInOrder(t *testing.T, path string, events []sinktest.Event, fates []fate) {
	t.Helper()
	seen, order := map[int]bool{}, []int(nil)
	for _, e := range events {
		if e.Name != "tick" {
			continue
		}
		n, err := messageNumber(e.Data)
		switch {
		case err != nil || n >= len(fates):
			t.Errorf("%s received %s, %v", path, e.Data, err)
		case !seen[n]:
			seen[n], order = true, append(order, n)
		}
	}
	wantMessagesInOrder(t, path, order, fates)
	for n, f := range fates {
		if f == stored && !seen[n] || f == refused && seen[n] {
			t.Errorf("%s: message %d, fate %d, was received: %t", path, n, f, seen[n])
		}
	}
}

// elections are three programs over a replica set, each with a network of its own.
type elections struct {
	t        *testing.T
	set      *mongotest.ReplicaSet
	networks []*mongotest.ReplicaClient
	fleet    *fleet
	rng      *rand.Rand
	began    time.Time
	rounds   int
	faults   map[electionFault]int
}

// electionRounds is the number of rounds of a run, in which 51 faults happen.
const electionRounds = 26

// electionFault is a kind of fault.
type electionFault int

const (
	killMember electionFault = iota
	isolatePrimary
	partition // one program stays on the side of the old primary
	stepDown
	pauseMember
	loseMajority // there is a primary all the same
	lagMember    // the next primary waits for a member that lags
	slowMajority
	cutProgram // off the primary
	killProgram
	pauseProgram
	replaceProgram
	electionFaults // how many there are
)

const quickly = time.Millisecond

func startElections(t *testing.T, seed uint64, flags ...string) *elections {
	e, uris := newElections(t, seed)
	e.fleet = startFleet(t, uris, len(uris), append(flags, "--shutdown-timeout", "3m")...)
	return e
}

// newElections starts the replica set, and returns a URI for each program.
func newElections(t *testing.T, seed uint64) (e *elections, uris []string) {
	e = &elections{t: t, rng: rand.New(rand.NewPCG(seed, 13)), began: time.Now(), faults: map[electionFault]int{}}
	e.set = mongotest.StartReplicaSet(t, 3, mongotest.ReplicaTiming{
		Heartbeat: 100 * time.Millisecond, ElectionTimeout: 500 * time.Millisecond, OneWay: quickly, Acknowledge: quickly,
	})
	for range 3 {
		e.networks = append(e.networks, e.set.NewClient())
		uris = append(uris, e.networks[len(uris)].URI())
	}
	return e, uris
}

// disturb injects one, two or three faults, each while those before it last, and heals all.
func (e *elections) disturb() {
	var programs sync.WaitGroup // that start, end or stand still
	first := e.rng.IntN(len(e.networks))
	for n, kind := range e.rng.Perm(int(electionFaults))[:1+e.rounds%3] {
		e.faults[electionFault(kind)]++
		e.inject(electionFault(kind), (first+n)%len(e.networks), &programs)
		e.wait(100, 400)
	}
	e.wait(300, 800)
	e.rounds++
	e.heal()
	programs.Wait()
}

// heal ends the faults of the replica set and of the networks.
func (e *elections) heal() {
	e.set.Heal()
	e.set.SetAcknowledge(quickly)
	for _, network := range e.networks {
		for i := range 3 {
			network.CutOff(i, false)
		}
	}
}

// wait waits for a random time, in milliseconds.
func (e *elections) wait(least, most int) {
	<-time.After(time.Duration(least+e.rng.IntN(most-least)) * time.Millisecond)
}

// inject begins a fault. No other one of the round has the same kind or program.
func (e *elections) inject(kind electionFault, program int, programs *sync.WaitGroup) {
	set, primary := e.set, max(e.set.Primary(), 0)
	other, third := (primary+1)%3, (primary+2)%3
	switch kind {
	case killMember:
		set.Kill(primary)
	case isolatePrimary:
		set.Isolate(primary, true)
	case partition:
		set.Isolate(primary, true)
		e.networks[program].CutOff(other, true)
		e.networks[program].CutOff(third, true)
	case stepDown:
		set.StepDown()
	case pauseMember:
		set.Pause(primary, true)
	case loseMajority:
		set.StopReplication(other, true)
		set.StopReplication(third, true)
	case lagMember:
		set.StopReplication(third, true)
		set.Kill(primary)
		set.Elect(other)
	case slowMajority:
		set.SetAcknowledge(100 * time.Millisecond)
	case cutProgram:
		e.networks[program].CutOff(primary, true)
	case killProgram:
		programs.Go(func() { e.fleet.kill(program) })
	case pauseProgram:
		last := time.Duration(500+e.rng.IntN(1000)) * time.Millisecond
		programs.Go(func() { e.fleet.pause(program, func() { <-time.After(last) }) })
	case replaceProgram:
		programs.Go(func() { e.fleet.replace(program) })
	}
}

func (e *elections) report() {
	e.t.Helper()
	stats, faults := e.set.Stats(), 0
	for _, n := range e.faults {
		faults += n
	}
	e.t.Logf("3 members, 3 programs, %d faults in %.0f s, by kind %v: %d elections, %d entries rolled back, write concern errors %v, %d of them with a duplicate key",
		faults, time.Since(e.began).Seconds(), e.faults, stats.Elections, stats.RolledBack, stats.ConcernErrors, stats.DuplicatesUnconfirmed)
	if faults < 50 || stats.Elections < electionRounds/3 {
		e.t.Errorf("%d faults and %d elections are too few to tell", faults, stats.Elections)
	}
}
