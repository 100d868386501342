package app

import (
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/acclaim-dev/acclaim/services/internal/testing/simnet"
)

// insertTimeout is the time after which the driver gives up a write.
const insertTimeout = 5 * time.Second

// disturb begins one or two faults, lets them last and heals all.
func (w *simulatedWorld) disturb() {
	for range 1 + w.rng.IntN(2) {
		if w.database != nil {
			w.disturbProcesses()
		} else {
			w.disturbEmbedded()
		}
		// Shorter than the driver waits for an answer, or longer.
		w.pause([]time.Duration{time.Second, 4 * time.Second, 12 * time.Second}[w.rng.IntN(3)])
	}
	w.network.SetUsual(usualLinks())
	w.network.Heal()
	if w.database != nil {
		w.database.SetAcknowledge(usualAcknowledge)
		w.database.Heal()
	}
	w.note("healed")
}

func (w *simulatedWorld) disturbProcesses() {
	set, slot := w.database, w.rng.IntN(len(w.slots))
	primary := max(set.Primary(), 0)
	other, third := (primary+1)%3, (primary+2)%3
	kind := w.rng.IntN(17)
	if w.lateReads && w.rng.IntN(2) == 0 {
		kind = 13 + w.rng.IntN(4) // what makes them late
	}
	w.note("fault", "kind", kind, "process", w.process(slot).ip, "primary", primary)
	switch kind {
	case 0:
		set.Kill(primary)
	case 1:
		set.Isolate(primary, true)
	case 2: // one process stays on the side of the old primary
		set.Isolate(primary, true)
		w.cut(slot, other, true, true)
		w.cut(slot, third, true, true)
	case 3:
		set.StepDown()
	case 4:
		set.Pause(primary, true)
	case 5: // no majority, and yet a primary
		set.StopReplication(other, true)
		set.StopReplication(third, true)
	case 6: // the next primary waits for a member that lags
		set.StopReplication(third, true)
		w.pause(time.Second)
		set.Kill(primary)
		set.Elect(other)
	case 7: // one direction, or both
		w.cut(slot, primary, w.rng.IntN(2) == 0, true)
	case 8:
		w.cut(slot, primary, true, w.rng.IntN(2) == 0)
	case 9: // between processes, in one direction
		w.network.SetLink(w.process(slot).host, w.process((slot+1)%len(w.slots)).host, simnet.LinkFaults{Cut: true})
	case 10:
		w.network.SetUsual(simnet.LinkFaults{Delay: 50 * time.Millisecond, Loss: 0.1})
	case 11:
		old := w.kill(slot, w.rng.IntN(2) == 0)
		w.pause(3 * time.Second)
		w.put(slot, w.boot(slot, old.clock.offset))
	case 12:
		w.replace(slot)
	case 13: // for longer than a write of unknown outcome is settled
		set.StopReplication(other, true)
		set.StopReplication(third, true)
		w.wait(answerBound + 5*time.Second)
	case 14, 15, 16:
		w.loseAcknowledgements()
	}
	w.process(slot).clock.set(w.drawStep())
}

// loseAcknowledgements lets a majority have what is written while the primary does not learn
// of it: the outcome of writes is unknown, and the next primary has them before it can show
// them. Acknowledgements are slow first, so that writes are under way when they stop.
func (w *simulatedWorld) loseAcknowledgements() {
	w.database.SetAcknowledge(400 * time.Millisecond)
	w.wait(2 * time.Second)
	w.database.SetAcknowledge(time.Hour)
	w.wait(insertTimeout)
	w.pause(time.Second)
	switch w.rng.IntN(3) {
	case 0:
		w.database.StepDown()
	case 1: // for longer than the driver looks for another primary
		w.database.Resign()
		w.wait(3 * time.Second)
	}
}

// cut cuts a process off from a member of the database: what it sends, what it would
// receive, or both.
func (w *simulatedWorld) cut(slot, member int, there, back bool) {
	p, m := w.process(slot).host, w.members[member]
	w.network.SetLink(p, m, simnet.LinkFaults{Cut: there})
	w.network.SetLink(m, p, simnet.LinkFaults{Cut: back})
}

func (w *simulatedWorld) disturbEmbedded() {
	kind := w.rng.IntN(5)
	w.note("fault", "kind", kind)
	switch kind {
	case 0, 1: // the power fails; what was not synced is lost, or a part of it
		w.kill(0, true)
		w.disk = w.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: w.rng.IntN(3) * 50, RNG: w.rng})
		w.put(0, w.boot(0, w.drawOffset()))
	case 2:
		w.replace(0)
	case 3:
		w.network.SetUsual(simnet.LinkFaults{Delay: 50 * time.Millisecond, Loss: 0.1})
	case 4:
		w.full.Store(true)
		w.pause(10 * time.Second)
		w.full.Store(false)
	}
	w.process(0).clock.set(w.drawStep())
}
