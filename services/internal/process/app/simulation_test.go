package app

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"
)

// The whole program in one simulated world, again and again: three processes with
// listeners, credentials, services, engines, forwarding, membership, the store's own code
// and the real driver over the model of a replica set, or one process over the embedded
// store on a disk that loses power. Network, clocks and disk are simulated, and all of it
// runs in the time of one bubble.
//
// Random faults happen one or two at a time. The checks are those of [simulatedClients],
// and bounds: an operation answers within answerBound, a read within readBound, faults or
// not; and recoveryBound after the last fault was healed every operation succeeds within
// calmBound, through each process, and the processes agree on one owner of each poll. Where
// a process has ended, that is so once the database has ended what it may have left open.
//
// ACCLAIM_SIM_WORLDS sets how many worlds are tried; one takes about a second, and six
// with the race detector. ACCLAIM_SIM_SEED tries one alone, with its log under -v.
//
// A seed gives the same faults and commands, drawn at the same points, and the same source
// of random ids. It does not give the same history: the runtime decides which of the
// goroutines that can run at one moment does, the order of a select and that of a map, and
// the history differs from there on. GOMAXPROCS=1 makes that rarer. A seed that failed
// may have to run some times before it fails again.
func TestSimulation(t *testing.T) {
	if seed, err := strconv.ParseUint(os.Getenv("ACCLAIM_SIM_SEED"), 10, 64); err == nil {
		simulateSeed(t, seed, t.Output())
		return
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // a world is small and makes much garbage
	worlds, err := strconv.ParseUint(os.Getenv("ACCLAIM_SIM_WORLDS"), 10, 64)
	if err != nil {
		worlds = defaultWorlds
	}
	for seed := range worlds {
		if simulateSeed(t, seed, io.Discard); t.Failed() {
			t.Fatalf("failed with ACCLAIM_SIM_SEED=%d", seed)
		}
	}
}

// defaultWorlds is few, for the race detector: CI runs more without it.
const defaultWorlds = 6

func simulateSeed(t *testing.T, seed uint64, log io.Writer) {
	t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
		registry := filepath.Join(t.TempDir(), "extensions.yaml")
		declared := simulatedRegistry
		if hasSinks(seed) {
			declared += simulatedSinks
		}
		if err := os.WriteFile(registry, []byte(declared), 0o600); err != nil {
			t.Fatal(err)
		}
		cryptotest.SetGlobalRandom(t, seed) // ids of processes, chunks and connections
		synctest.Test(t, func(t *testing.T) {
			logger := slog.New(slog.NewTextHandler(log, nil))
			w := newSimulatedWorld(t, seed, registry, logger)
			if hasSinks(seed) {
				w.receiver = startReceiver(w, seed)
			}
			w.run()
		})
	})
}

const (
	// answerBound limits how long any operation takes: 20 seconds for a write of unknown
	// outcome before it, 20 for itself, and what was lost on the way.
	answerBound = 45 * time.Second
	// readBound limits how long a read takes: 8 seconds for its owner, then in this
	// process 15 for the batch before it (an append, and two barriers: the one under way
	// and its own) and 10 for itself (two barriers): the driver gives each up
	// after 5.
	readBound = 35 * time.Second
	// recoveryBound is the time after the end of all faults in which all works again:
	// an election, the driver's pause between looks at a member, and the
	// membership's.
	recoveryBound = 15 * time.Second
	calmBound     = time.Second
)
