package main

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/hack/harness"
	"github.com/acclaim-dev/acclaim/hack/overlay"
	"github.com/acclaim-dev/acclaim/services/internal/testing/mongotest"
)

// previousProgram is the environment variable that has the path of the program of the
// version before; `make mixed` builds it.
const previousProgram = "ACCLAIM_PREVIOUS_PROGRAM"

// Two versions of the program share a database while all programs are replaced by those of
// the other version, one after the other, and by those of this version again. Versions whose
// requests between processes differ refuse those, name both and commit for themselves.
func TestMixedVersions(t *testing.T) {
	t.Parallel()
	for name, version := range map[string]struct {
		program func(t *testing.T) (binary string)
		wire    string // version of its requests
	}{
		"the next wire":      {buildNextWire, nextWire},
		"the version before": {previousVersion, previousWire},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			binary := version.program(t)
			t.Run("commands", func(t *testing.T) { (&mixedVersions{other: binary, wire: version.wire}).testCommands(t) })
			t.Run("changes", func(t *testing.T) { (&mixedVersions{other: binary}).testChanges(t) })
			t.Run("events", func(t *testing.T) { (&mixedVersions{other: binary}).testEvents(t) })
			if version.wire == ownWire {
				t.Run("faults", func(t *testing.T) { testMixedFaults(t, binary) })
			}
		})
	}
}

// mixedVersions is a fleet whose programs change between two versions.
type mixedVersions struct {
	other string // path of the program of the other version
	wire  string // version of the requests of that program
	fleet *fleet
	said  strings.Builder // by programs that have ended
}

func (m *mixedVersions) start(t *testing.T) (steps int) {
	const size = 3
	m.fleet = startFleet(t, []string{databases["replica set"](t)}, size, "--drain-delay", "500ms", "--shutdown-timeout", "3m", "--log-level", "warn")
	return 2 * size
}

// testMixedFaults checks a history over programs of both versions, which are upgraded, go back and
// are upgraded again, while they, the links between them and the replica set are disturbed. Coins
// do not go back: the earlier version refuses accounts of this one.
func testMixedFaults(t *testing.T, other string) {
	mongotest.RunSeeds(t, func(t *testing.T, seed uint64) {
		w := startHistoryWorld(t, seed, other)
		w.versions = true
		w.run(func(round int) {
			if w.fleet.binary = ""; round/len(w.uris) == 1 {
				w.closeShop()
				w.fleet.binary = other
			}
			w.fleet.replace(round % len(w.uris))
		})
	})
}

// Commands stay exact, and hardly any is refused.
func (m *mixedVersions) testCommands(t *testing.T) {
	steps := m.start(t)
	w := newWorkload(m.fleet)
	w.run(t, 12, func() {
		for n := range steps {
			w.done.await(t, 200)
			m.change(n, m.fleet.replace)
			m.awaitRefusal(t, n)
		}
		w.done.await(t, 200)
	})
	w.check(t)
	m.wantStored(t, w)
	for _, want := range []string{
		"commands are not forwarded to a process of another version", "have version " + ownWire + " here, not " + m.wire, "have version " + m.wire + " here, not " + ownWire,
	} {
		if m.wire != ownWire && !strings.Contains(m.said.String(), want) {
			t.Errorf("no program logs %q:\n%s", want, m.said.String())
		}
	}
}

// A subscriber misses nothing while it moves between versions that are killed.
func (m *mixedVersions) testEvents(t *testing.T) {
	const each = 20
	steps := m.start(t)
	var kills sync.WaitGroup
	followEvents(t, m.fleet, each*steps, func(n int) {
		if n%each == each/2 {
			kills.Wait()
			kills.Go(func() { m.change(n/each, m.fleet.kill) })
		}
	})
	kills.Wait()
}

// change replaces a program: in the first steps by the other version, later by this one.
func (m *mixedVersions) change(step int, end func(place int)) {
	size := len(m.fleet.replicas)
	old := m.fleet.any(step % size)
	m.fleet.binary = ""
	if step < size {
		m.fleet.binary = m.other
	}
	end(step % size)
	m.said.Write(old.stderr.Bytes())
}

// awaitRefusal waits until the programs at both ends of the fleet, which differ unless
// this step is the last of an upgrade, know that one does not reach the other.
func (m *mixedVersions) awaitRefusal(t *testing.T, step int) {
	t.Helper()
	size := len(m.fleet.replicas)
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for place := 0; m.wire != ownWire && step%size < size-1 && place < size; place += size - 1 {
		p := m.fleet.any(place)
		for deadline := time.Now().Add(time.Minute); metric(t, p, "acclaim_peers_unreachable") == 0; <-again.C {
			if time.Now().After(deadline) {
				t.Errorf("step %d: program %d reaches programs of the other version", step, place)
				return
			}
		}
	}
}

func (m *mixedVersions) wantStored(t *testing.T, w *workload) {
	t.Helper()
	count := map[bool]int{}
	for _, f := range w.fates {
		count[f == stored]++
	}
	if count[true] < 99*count[false] {
		t.Errorf("%d commands were stored, and %d were not", count[true], count[false])
	}
}

// previousVersion returns the program that `make mixed` has built.
func previousVersion(t *testing.T) (binary string) {
	t.Helper()
	if binary = os.Getenv(previousProgram); binary == "" {
		t.Skipf("%s names no program: `make mixed` builds one", previousProgram)
	}
	return binary
}

// The version of requests between processes, that of the commit PREVIOUS in the Makefile, and
// one that this version does not read.
const ownWire, previousWire, nextWire = "3", "3", "4"

// buildNextWire builds this program with the next version of the requests between processes.
func buildNextWire(t *testing.T) (binary string) {
	t.Helper()
	const is, next = `wireVersion = "` + ownWire + `"`, `wireVersion = "` + nextWire + `"`
	source, err := filepath.Abs(filepath.Join("internal", "cluster", "peer", "link.go"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(source)
	if err != nil || strings.Count(string(text), is) != 1 {
		t.Fatalf("%s has no %s, %v", source, is, err)
	}
	file, err := overlay.WriteFiles(t.TempDir(), map[string]string{source: strings.Replace(string(text), is, next, 1)})
	if err != nil {
		t.Fatal(err)
	}
	binary, err = harness.BuildProgram(t.Context(), t.TempDir(), nil, "-overlay", file)
	if err != nil {
		t.Fatal(err)
	}
	return binary
}
