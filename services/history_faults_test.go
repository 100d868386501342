package main

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/testing/faultproxy"
	"github.com/acclaim-dev/acclaim/services/internal/testing/mongotest"
)

// Every write counts once and is received once while the members of the replica set, the
// programs and the network between these are disturbed, some for longer than a program is a
// member. Meanwhile the database is backed up; what is restored has every write that was
// acknowledged before, as has a table. With every other seed the programs have the least
// memory, and others use it up.
func TestHistoryOverElections(t *testing.T) {
	t.Parallel()
	mongotest.RunSeeds(t, func(t *testing.T, seed uint64) {
		var flags []string
		if seed%2 == 0 {
			flags = []string{"--memory-budget", leastMemory}
		}
		w := startHistoryWorld(t, seed, "", flags...)
		w.run(func(round int) {
			if seed%2 == 0 {
				w.press(round)
			}
		})
	})
}

// historyWorld is a history over programs whose links lead through proxies.
type historyWorld struct {
	*elections
	*history
	outlets
	pressure pressure
	uris     []string
	rng      *rand.Rand
	seen     map[string]int // faults by name
	// versions is set where programs of another version run.
	versions bool

	mu    sync.Mutex
	links []*faultproxy.Link // to the program in each place
}

// historyRounds is the number of rounds of a run, of one or two faults each.
const historyRounds = 9

// startHistoryWorld starts programs of a version, this one where binary is empty.
func startHistoryWorld(t *testing.T, seed uint64, binary string, flags ...string) *historyWorld {
	w := &historyWorld{rng: rand.New(rand.NewPCG(seed, 41)), seen: map[string]int{}, links: make([]*faultproxy.Link, 3)}
	w.elections, w.uris = newElections(t, seed)
	w.fleet = &fleet{
		t: t, uris: w.uris, binary: binary, flags: append(append(flags, w.openSinks(t)...), "--shutdown-timeout", "3m", "--gamelink-listen", "127.0.0.1:0"),
		replicas: make([]*process, len(w.uris)), link: w.link,
	}
	w.fleet.start()
	return w
}

// link starts the proxy that leads to the next program in a place.
func (w *historyWorld) link(place int) (flags []string) {
	address := freeAddress(w.fleet.t)
	link, err := faultproxy.StartLink(w.fleet.t.Context(), address)
	if err != nil {
		w.fleet.t.Error(err)
		return nil
	}
	w.fleet.t.Cleanup(func() { _ = link.Close() }) // a listener
	w.mu.Lock()
	defer w.mu.Unlock()
	w.links[place] = link
	return []string{"--peer-listen", address, "--peer-advertise", link.Address()}
}

// eachLink calls a function for the link to the program in a place, or for all.
func (w *historyWorld) eachLink(place int, call func(*faultproxy.Link)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, link := range w.links {
		if place < 0 || place == i {
			call(link)
		}
	}
}

// run runs the history while faults happen, and checks every program and a new one. It calls
// before with the number of each round.
func (w *historyWorld) run(before func(round int)) {
	t := w.fleet.t
	w.history = &history{t: t, base: func(place int) string { return w.fleet.any(place).base }, mixed: w.versions}
	w.awaitSinks()
	wait := w.start()
	var copies sync.WaitGroup
	var saved bounds
	folder := filepath.Join(t.TempDir(), "backups")
	programs, others := w.rng.Perm(len(programFaults)), w.rng.Perm(len(linkFaults)+int(cutProgram)+1)
	for round := 0; round < historyRounds && !t.Failed(); round++ {
		before(round)
		if round == historyRounds/2 {
			saved.least = w.snapshot()
			copies.Go(func() { w.backUp(folder) })
			copies.Go(w.exportTable)
		}
		w.disturb(programFaults[programs[round%len(programs)]], others[round%len(others)])
		w.done.await(t, 2*historians)
	}
	copies.Wait()
	for c, rounds := range w.snapshot() {
		saved.most[c] = rounds + 1 // the one under way
	}
	wait()
	if t.Failed() {
		return
	}
	w.checkSinks()
	for place := range w.uris {
		w.checkLast(w.fleet.any(place).base)
	}
	w.fleet.replace(0) // one that has nothing in memory
	w.checkLast(w.fleet.any(0).base)
	w.checkTables(w.fleet.any(0))
	w.checkRestored(folder, saved)
	w.report()
}

// programFault ends a program, or two, and starts others.
type programFault struct {
	name  string
	begin func(w *historyWorld, place int, until <-chan time.Time)
}

// programFaults last as long as they take: a program that stands still is no member after four
// seconds, and one that is removed is none.
var programFaults = []programFault{
	{"kill", func(w *historyWorld, place int, _ <-chan time.Time) { w.fleet.kill(place) }},
	{"replace", func(w *historyWorld, place int, _ <-chan time.Time) { w.fleet.replace(place) }},
	{"long pause", func(w *historyWorld, place int, until <-chan time.Time) {
		w.fleet.pause(place, func() { <-until })
	}},
	{"short pause", func(w *historyWorld, place int, _ <-chan time.Time) {
		w.fleet.pause(place, func() { w.done.await(w.fleet.t, historians) })
	}},
	{"3 to 1 to 3", func(w *historyWorld, place int, until <-chan time.Time) {
		var two sync.WaitGroup
		for _, i := range []int{place, (place + 1) % 3} {
			two.Go(func() {
				w.fleet.remove(i)
				if i == place {
					<-until
				}
				w.fleet.put(i, w.fleet.boot(i))
			})
		}
		two.Wait()
	}},
	{"none", func(*historyWorld, int, <-chan time.Time) {}},
}

// linkFault disturbs the links to one program.
type linkFault struct {
	name   string
	faults faultproxy.LinkFaults
	reset  bool
}

var linkFaults = []linkFault{
	{"black hole", faultproxy.LinkFaults{HoldRequests: true, HoldAnswers: true}, false},
	{"answers held", faultproxy.LinkFaults{HoldAnswers: true}, false},
	{"requests held", faultproxy.LinkFaults{HoldRequests: true}, false},
	{"slow", faultproxy.LinkFaults{Delay: 400 * time.Millisecond}, false},
	{"very slow", faultproxy.LinkFaults{Delay: 2 * time.Second}, false},
	{"reset", faultproxy.LinkFaults{}, true},
}

// disturb lets a fault of the programs and one of the links or the replica set happen at once,
// and heals both.
func (w *historyWorld) disturb(program programFault, other int) {
	place := w.rng.IntN(len(w.links))
	last := time.Duration(1000+w.rng.IntN(3000)) * time.Millisecond
	if program.name == "long pause" {
		last = time.Duration(6000+w.rng.IntN(6000)) * time.Millisecond
	}
	w.seen[program.name]++
	until, healed := time.After(last), time.After(last)
	var programs sync.WaitGroup
	programs.Go(func() { program.begin(w, place, until) })
	if other > int(cutProgram) {
		fault := linkFaults[other-int(cutProgram)-1]
		w.seen[fault.name]++
		w.eachLink(w.rng.IntN(len(w.links)), func(l *faultproxy.Link) {
			if l.SetFaults(fault.faults); fault.reset {
				l.ResetConnections()
			}
		})
	} else {
		w.elections.faults[electionFault(other)]++
		w.inject(electionFault(other), (place+1)%3, &programs)
	}
	<-healed
	w.heal()
	w.eachLink(-1, func(l *faultproxy.Link) { l.SetFaults(faultproxy.LinkFaults{}) })
	programs.Wait()
}

// backUp backs the database up, and again where that meets an election.
func (w *historyWorld) backUp(folder string) {
	for attempt := 0; ; attempt++ {
		_, problem, status := runCommand(w.fleet.t, nil, "backup", folder, "--mongodb-uri", w.uris[1])
		if status == 0 {
			return
		}
		if attempt == 20 || w.fleet.t.Context().Err() != nil {
			w.fleet.t.Errorf("backup: status %d, %s", status, problem)
			return
		}
		w.done.await(w.fleet.t, 1)
	}
}

// checkRestored restores the backup, twice, and checks what a program over it answers.
func (w *historyWorld) checkRestored(folder string, saved bounds) {
	t := w.fleet.t
	dir := t.TempDir()
	mustRestore(t, folder, "--data-dir", dir)
	if out := mustRestore(t, folder, "--data-dir", dir); !strings.Contains(out, "stored chunks: 0, documents: 0\n") {
		t.Errorf("the same restore again says\n%s", out)
	}
	if out, status := runVerify(t, "--data-dir", dir); status != 0 {
		t.Errorf("verify: status %d\n%s", status, out)
	}
	w.check(startProgram(t, dir, "serve").base, saved)
}

func (w *historyWorld) report() {
	t, stats := w.fleet.t, w.set.Stats()
	rounds := int64(0)
	for _, n := range w.snapshot() {
		rounds += n
	}
	t.Logf("%d rounds of %d clients, %d requests repeated, %d of them after a refusal; faults %v, of the replica set %v: %d elections, %d entries rolled back; %d pairings, %d overlay keys kept and %d removed; listeners had %d, %d and %d streams; of those that use memory %d requests were accepted and %d refused, and a program has evicted %d polls",
		rounds, historians, w.repeats.Load(), w.refusals.Load(), w.seen, w.elections.faults, stats.Elections, stats.RolledBack,
		len(w.pairs.games), len(w.overlays.kept), len(w.overlays.removed), w.ears[0].streams, w.ears[1].streams, w.ears[2].streams,
		w.pressure.accepted.Load(), w.pressure.refused.Load(), w.pressure.evicted)
}
