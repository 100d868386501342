package app

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// The announcements of polls (section 6 of the contract) while processes end around the moment
// at which each is due: just before, at it or just after. No viewer votes. Clients that resume
// follow events, and a webhook that fails now and then receives them.
//
// A poll has four transitions, far enough apart to be announced one by one: its first
// configuration, its start, another configuration, which is acknowledged by a process that
// may end at once, and its end. What must hold:
//
//  1. No client receives an announcement twice, nor one after a later one, as long as it
//     resumes at the process that it left; after a resync event it may receive again what it
//     knew, and nothing older.
//  2. Each transition has reached each client before the next: by its event, or by a resync
//     event, after which the client reads the poll. It has come by its event, and within
//     announcedWithin, where the client's stream was open from before the transition on,
//     whichever other processes ended meanwhile.
//  3. The webhook receives every transition of a poll at least once and in order, each with one
//     id and one body.
//
// ACCLAIM_SIM_SEED tries one seed alone, with its log under -v; ACCLAIM_SIM_WORLDS sets how
// many are tried.
func TestAnnouncementsOverRestarts(t *testing.T) {
	seeds := []uint64{0, embeddedShare - 1} // one over each store
	if worlds, err := strconv.ParseUint(os.Getenv("ACCLAIM_SIM_WORLDS"), 10, 64); err == nil {
		for seed := range worlds / announcedShare {
			seeds = append(seeds, embeddedShare+seed)
		}
	}
	log := io.Discard
	if seed, err := strconv.ParseUint(os.Getenv("ACCLAIM_SIM_SEED"), 10, 64); err == nil {
		seeds, log = []uint64{seed}, t.Output()
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			registry := filepath.Join(t.TempDir(), "extensions.yaml")
			if err := os.WriteFile(registry, []byte(simulatedRegistry+announcedSinks), 0o600); err != nil {
				t.Fatal(err)
			}
			cryptotest.SetGlobalRandom(t, seed)
			synctest.Test(t, func(t *testing.T) {
				playAnnouncements(newSimulatedWorld(t, seed, registry, slog.New(slog.NewTextHandler(log, nil))))
			})
		})
	}
}

const (
	// announcedShare is the share of the worlds of a simulation that are played here, too: one
	// of so many, for one lasts longer.
	announcedShare = 20
	announcedPolls = 3
	announcedSinks = `  sinks: [{name: hook, webhook: {url: "http://10.3.0.1/hook", secrets: [{value: aG9vay1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}}]
`
	// announcedWithin limits the time from a transition to its event in a stream that is open: a
	// second, and another where the poll's owner has just ended.
	announcedWithin = 2 * time.Second
	// betweenTransitions is longer than a lease of a sink's queue outlives its process.
	betweenTransitions = 50 * time.Second
)

// announcement describes what a poll_update event or a read tells of a poll.
type announcement struct {
	ID, Prompt string
	Status     contract.Status
}

// transition is an announcement and the time at which it is due.
type transition struct {
	announcement
	at time.Time
}

// announcedWorld is a simulated world with clients that follow announcements.
type announcedWorld struct {
	*simulatedWorld
	due       map[string][]transition // in order, by the ids of polls
	listeners []*announcementListener
	hook      *announcementHook
}

func playAnnouncements(of *simulatedWorld) {
	w := &announcedWorld{simulatedWorld: of, due: map[string][]transition{}}
	for i := range w.slots {
		<-w.process(i).opened
		w.process(i).clock.set(0) // that of announcements is the bubble's
	}
	w.hook = startAnnouncementHook(w)
	w.startListeners()
	w.wait(recoveryBound)
	for n := range announcedPolls {
		w.playPoll(fmt.Sprint("poll", n))
	}
	w.stopListeners()
	for _, l := range w.listeners {
		l.check(w.due)
	}
	w.hook.check(w.due)
	w.hook.close()
	w.clients.close()
	for i := range w.slots {
		p := w.process(i)
		if err := p.Close(w.t.Context()); err != nil {
			w.t.Errorf("close: %v", err)
		}
		p.cancel()
		p.sinks.CloseIdleConnections()
	}
	w.ended.Wait()
	w.wait(answerBound) // for connections to processes that vanished to be given up
}

// playPoll lets a poll pass through its transitions, and processes end around each but the
// first.
func (w *announcedWorld) playPoll(id string) {
	starts := time.Now().Truncate(time.Second).Add(betweenTransitions)
	changes := starts.Add(betweenTransitions)
	ends := changes.Add(betweenTransitions)
	w.expect(id, "first", contract.Pending, time.Now())
	w.configure(0, id, "first", starts, ends)
	w.expect(id, "first", contract.Active, starts)
	w.endProcesses(id, starts)
	w.until(changes)
	slot := w.rng.IntN(len(w.slots))
	w.expect(id, "second", contract.Active, time.Now())
	w.configure(slot, id, "second", starts, ends)
	w.endProcesses(id, time.Now())
	w.expect(id, "second", contract.Expired, ends)
	w.endProcesses(id, ends)
	w.until(ends.Add(betweenTransitions))
}

func (w *announcedWorld) expect(id, prompt string, status contract.Status, at time.Time) {
	w.due[id] = append(w.due[id], transition{announcement{id, prompt, status}, at})
}

func (w *announcedWorld) until(at time.Time) { w.wait(time.Until(at)) }

func (w *announcedWorld) configure(slot int, id, prompt string, starts, ends time.Time) {
	body := fmt.Sprintf(`{"id":%q,"config":{"prompt":%q,"startsAt":%d,"endsAt":%d}}`, id, prompt, starts.Unix(), ends.Unix())
	if f, why := w.clients.send(slot, http.MethodPost, "/vote_config", roleOf(asBroadcaster), asBroadcaster, body, nil); f != stored {
		w.t.Fatalf("configure %s: %s", id, why)
	}
}

// endProcesses ends some processes around a time, and starts others in their place.
func (w *announcedWorld) endProcesses(id string, at time.Time) {
	offsets := []time.Duration{-700 * time.Millisecond, -time.Millisecond, 0, time.Microsecond, time.Millisecond, 400 * time.Millisecond}
	offset, back := offsets[w.rng.IntN(len(offsets))], []time.Duration{0, 300 * time.Millisecond, 4 * time.Second}[w.rng.IntN(3)]
	how := w.rng.IntN(3)
	if left := time.Until(at.Add(offset)); left > 0 {
		w.wait(left)
	}
	slots := w.drawSlots(id)
	w.note("processes end", "poll", id, "at", at, "offset", offset, "how", how, "slots", slots, "back", back)
	if how == 0 {
		for _, slot := range slots {
			w.replace(slot)
			w.process(slot).clock.set(0)
		}
		return
	}
	for _, slot := range slots {
		w.kill(slot, how == 1)
	}
	if w.disk != nil { // which a process that ends has for itself
		w.disk = w.disk.CrashClone(vfs.CrashCloneCfg{RNG: w.rng})
	}
	w.wait(back)
	for _, slot := range slots {
		w.put(slot, w.boot(slot, 0))
	}
}

// drawSlots returns the place of a poll's owner, another one, or all.
func (w *announcedWorld) drawSlots(id string) (slots []int) {
	owner := 0
	for i := range w.slots {
		backend, ok := w.process(i).services.store.(*databaseBackend)
		if ok && backend.node.Peers(voting.Kind).Owner(voting.Poll{Environment: "production", Extension: "simulated", Channel: "1", ID: id}.Stream()) == nil {
			owner = i
		}
	}
	switch w.rng.IntN(3) {
	case 0:
		return []int{owner}
	case 1:
		return []int{(owner + 1) % len(w.slots)}
	}
	for i := range w.slots {
		slots = append(slots, i)
	}
	return slots
}
