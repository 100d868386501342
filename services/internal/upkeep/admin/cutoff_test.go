package admin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/engine/rewrite"
	"github.com/acclaim-dev/acclaim/services/internal/store/pebblestore"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/admin"
	"github.com/acclaim-dev/acclaim/services/ranking"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// Retention, an erasure and a purge run over the embedded store while a viewer after the other
// votes, and the machine fails before a step of the disk: the process is killed, or the power
// fails and what was not synced is lost, or a part of it. What is found then has every
// acknowledged vote and each figure, and the same maintenance again finishes.
//
// ACCLAIM_SIM_SEED gives the losses of a run again.
func TestMaintenanceIsCutOffAtAnyStep(t *testing.T) {
	seed, err := strconv.ParseUint(os.Getenv("ACCLAIM_SIM_SEED"), 10, 64)
	if err != nil {
		seed = rand.Uint64()
	}
	for name, m := range map[string]maintenance{
		"retention": {run: (*cutOff).retain, allow: (*cutOff).allowAged, want: (*cutOff).wantRetained},
		"erasure":   {run: (*cutOff).erase, allow: (*cutOff).allowAll, want: (*cutOff).wantErased},
		"purge":     {run: (*cutOff).purge, allow: (*cutOff).allowOld, want: (*cutOff).wantPurged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			disks := cutMaintenanceOff(t, m, seed)
			t.Logf("ACCLAIM_SIM_SEED=%d: the machine failed at %d steps", seed, len(disks))
			if len(disks) < 20 {
				t.Error("those are too few to tell")
			}
			for step, d := range disks {
				if checkCutOff(t, m, d); t.Failed() {
					t.Fatalf("step %d", step)
				}
			}
		})
	}
}

const (
	// leaver is the viewer to erase, of the first extension alone.
	leaver = "leaving-viewer"
	// aged viewers have voted before the period of retention, young ones within.
	agedViewers, youngViewers = 3, 2
)

// maintenance is one kind of it: run does it, allow checks what is found after it was cut off
// and want what it leaves when it is complete.
type maintenance struct {
	run         func(c *cutOff) error
	allow, want func(c *cutOff)
}

// failedDisk has the files that a machine leaves when it fails before a step of its disk.
type failedDisk struct {
	*vfs.MemFS
	acknowledged, sent int // votes
	clock              time.Time
}

// cutOff is a machine that runs maintenance.
type cutOff struct {
	*aged
	disk *vfs.MemFS
	// late is the number of votes of viewers that came meanwhile.
	late int
}

// openCutOff starts the services over a disk.
func openCutOff(t *testing.T, clock time.Time, disk *vfs.MemFS, seen pebblestore.Disk) *cutOff {
	t.Helper()
	parsed, err := tenant.Parse([]byte(`
extensions:
- {clientID: forgetful, secrets: [{value: aC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}], retention: {logs: 2h, buffers: 2h, rankings: 2h}}
- {clientID: elephant, secrets: [{value: aS1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	store, err := pebblestore.OpenOn(seen, "/data")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutOff{disk: disk, aged: &aged{T: t, clock: &stepClock{now: clock}, store: store, registry: func() *tenant.Registry { return parsed }}}
	c.open()
	return c
}

// end ends the services and the store.
func (c *cutOff) end() {
	c.Helper()
	c.close()
	if store, ok := c.store.(io.Closer); ok {
		c.must(store.Close())
	}
}

// fill has viewers of two times use everything.
func (c *cutOff) fill() {
	c.Helper()
	c.use(0, agedViewers)
	_, err := c.d.polls.Vote(c.Context(), agedPoll(0), voting.Voter{OpaqueID: leaver}, 9, 1)
	c.must(err)
	c.must(c.d.buffers.Append(c.Context(), agedBuffer(0), accumulation.Submission{OpaqueID: leaver, Data: []byte("{}")}))
	_, err = c.d.questions.Submit(c.Context(), agedQuestion(0), leaver, "key-0")
	c.must(err)
	for _, id := range []string{"old1", "old2"} {
		_, err := c.d.polls.Vote(c.Context(), oldPoll(id), voting.Voter{OpaqueID: "viewer-0"}, 1, 1)
		c.must(err)
	}
	c.clock.pass(150 * time.Minute)
	c.use(agedViewers, agedViewers+youngViewers)
}

func oldPoll(id string) voting.Poll {
	p := agedPoll(0)
	p.ID = id
	return p
}

// cutMaintenanceOff runs maintenance once, beside voters, and returns copies of the disk before
// each step.
func cutMaintenanceOff(t *testing.T, m maintenance, seed uint64) (disks []failedDisk) {
	t.Helper()
	memory := vfs.NewCrashableMem()
	watched := &watchedDisk{FS: memory}
	c := openCutOff(t, time.UnixMilli(1e12), memory, watched)
	c.fill()
	var mu sync.Mutex
	var acknowledged, sent int
	vote, rng := make(chan struct{}, 1), rand.New(rand.NewPCG(seed, 17))
	watched.watch(func() {
		mu.Lock()
		defer mu.Unlock()
		lost := vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(3) * 50, RNG: rng}
		disks = append(disks, failedDisk{memory.CrashClone(lost), acknowledged, sent, c.clock.Now()})
		select {
		case vote <- struct{}{}:
		default:
		}
	})
	var voter sync.WaitGroup
	voted, stop := context.WithCancel(t.Context())
	voter.Go(func() {
		for {
			select {
			case <-voted.Done():
				return
			case <-vote:
			}
			mu.Lock()
			sent++
			mu.Unlock()
			if _, err := c.d.polls.Vote(t.Context(), agedPoll(0), voting.Voter{OpaqueID: fmt.Sprint("late-", sent)}, 0, 1); err != nil {
				t.Errorf("vote: %v", err)
			}
			mu.Lock()
			acknowledged++
			mu.Unlock()
		}
	})
	c.must(m.run(c))
	watched.watch(nil)
	stop()
	voter.Wait()
	c.late = sent
	m.want(c)
	c.end()
	return disks
}

// checkCutOff starts on what a machine has left.
func checkCutOff(t *testing.T, m maintenance, d failedDisk) {
	t.Helper()
	c := openCutOff(t, d.clock, d.MemFS, d.MemFS)
	defer c.end()
	c.late = c.lateVotes()
	if c.late < d.acknowledged || c.late > d.sent {
		t.Errorf("%d votes are there of %d acknowledged and %d sent", c.late, d.acknowledged, d.sent)
	}
	c.wantFigures()
	m.allow(c)
	c.must(m.run(c))
	m.want(c)
	c.wantSound()
	c.wantSingleVotes()
}

// lateVotes counts the votes that have come during the maintenance.
func (c *cutOff) lateVotes() int {
	c.Helper()
	votes, _ := c.kept(0, 0)
	return strings.Count(votes, "late-")
}

// wantFigures checks what no maintenance changes.
func (c *cutOff) wantFigures() {
	c.Helper()
	const viewers = agedViewers + youngViewers
	for i := range agedStreams {
		tally, err := c.d.polls.Tally(c.Context(), agedPoll(i), voting.Voter{OpaqueID: "viewer-0"})
		c.must(err)
		var found, want struct{ Count, Sum, Vote int }
		c.must(json.Unmarshal(tally.AppendJSON(nil), &found))
		want.Count, want.Sum = viewers, viewers*(viewers-1)/2
		if i == 0 {
			want.Count, want.Sum = want.Count+1+c.late, want.Sum+9
		}
		if found != want {
			c.Errorf("poll %d has %+v, want %+v", i, found, want)
		}
		board, err := c.d.questions.Board(c.Context(), agedQuestion(i), ranking.Visible, 10)
		c.must(err)
		all := map[string]int64{}
		for _, s := range board.Scores {
			all[s.Key] = s.Score
		}
		if diff := cmp.Diff(map[string]int64{"key-0": int64(3 - i), "key-1": 2, "key-2": 1}, all); diff != "" {
			c.Errorf("ranking %d (-want +got):\n%s", i, diff)
		}
	}
}

// wantSingleVotes has each viewer vote again, which must not count.
func (c *cutOff) wantSingleVotes() {
	c.Helper()
	for n := range agedViewers + youngViewers {
		_, err := c.d.polls.Vote(c.Context(), agedPoll(0), voting.Voter{OpaqueID: fmt.Sprint("viewer-", n)}, int64(n), 1)
		c.must(err)
	}
	c.wantFigures()
}

// wantLogs checks the log and the buffer of the first extension, where only the first gone
// entries may be missing, and those of the other one, where none is.
func (c *cutOff) wantLogs(gone int) {
	c.Helper()
	logged := []string{"viewer-0", "viewer-1", "viewer-2", leaver, "viewer-3", "viewer-4"}
	votes, entries := c.kept(0, 0)
	for what, found := range map[string][]string{"log": withoutLate(votes), "buffer": strings.Fields(entries)} {
		if missing := len(logged) - len(found); missing < 0 || missing > gone || !cmp.Equal(logged[missing:], anonymousLeaver(found)) {
			c.Errorf("the %s is of %q", what, found)
		}
	}
	const all = "viewer-0 viewer-1 viewer-2 viewer-3 viewer-4"
	if votes, entries := c.kept(1, 0); votes != all || entries != all {
		c.Errorf("the other extension has %q and %q", votes, entries)
	}
}

func withoutLate(votes string) (rest []string) {
	for id := range strings.FieldsSeq(votes) {
		if !strings.HasPrefix(id, "late-") {
			rest = append(rest, id)
		}
	}
	return rest
}

// anonymousLeaver returns ids with one for the viewer to erase, who has another when erased.
func anonymousLeaver(ids []string) (same []string) {
	for _, id := range ids {
		if strings.HasPrefix(id, "erased-") {
			id = leaver
		}
		same = append(same, id)
	}
	return same
}

func (c *cutOff) retain() error { return c.worker.RunOnce(c.Context(), true) }

func (c *cutOff) allowAged() { c.wantLogs(agedViewers + 1) }

func (c *cutOff) wantRetained() {
	c.Helper()
	c.wantFigures()
	c.wantLogs(agedViewers + 1)
	votes, entries := c.kept(0, 0)
	if young := "viewer-3 viewer-4"; strings.Join(withoutLate(votes), " ") != young || entries != young {
		c.Errorf("after retention the log is of %q, the buffer of %q", votes, entries)
	}
}

func (c *cutOff) erase() error {
	e := admin.NewErasureService(c.store, c.d.table, c.store)
	report, err := e.Erase(c.Context(), agedExtension(0), admin.Target{Viewer: rewrite.Viewer{IDs: []string{leaver}}}, func(int) {})
	if err == nil && len(report.Problems) > 0 {
		return fmt.Errorf("problems: %+v", report.Problems)
	}
	return err
}

func (c *cutOff) allowAll() { c.wantLogs(0) }

// wantErased also searches the files.
func (c *cutOff) wantErased() {
	c.Helper()
	c.wantFigures()
	c.wantLogs(0)
	if votes, entries := c.kept(0, 0); strings.Contains(votes+entries, leaver) {
		c.Errorf("the log is of %q, the buffer of %q", votes, entries)
	}
	files, err := c.disk.List("/data")
	c.must(err)
	for _, name := range files {
		content, err := c.disk.UnsafeGetFileDataBuffer(path.Join("/data", name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // Pebble has removed it meanwhile
		}
		c.must(err)
		if bytes.Contains(content, []byte(leaver)) {
			c.Errorf("%s has the viewer", name)
		}
	}
}

func (c *cutOff) purge() error {
	purges := admin.NewPurgeService(c.store, c.d.table, nil, c.clock.Now)
	report, err := purges.Purge(c.Context(), admin.PurgeFilter{
		Extension: agedExtension(0), Environment: tenant.Production, Prefix: "old", OlderThan: time.Hour,
	}, func(int) {})
	if err == nil && len(report.Problems) > 0 {
		return fmt.Errorf("problems: %+v", report.Problems)
	}
	return err
}

// oldVotes counts the votes of a poll to purge.
func (c *cutOff) oldVotes(id string) int {
	c.Helper()
	tally, err := c.d.polls.Tally(c.Context(), oldPoll(id), voting.Voter{OpaqueID: "nobody"})
	c.must(err)
	var found struct{ Count int }
	c.must(json.Unmarshal(tally.AppendJSON(nil), &found))
	return found.Count
}

func (c *cutOff) allowOld() {
	c.Helper()
	c.wantLogs(0)
	for _, id := range []string{"old1", "old2"} {
		if n := c.oldVotes(id); n > 1 {
			c.Errorf("%s has %d votes", id, n)
		}
	}
}

func (c *cutOff) wantPurged() {
	c.Helper()
	c.wantFigures()
	c.wantLogs(0)
	for _, id := range []string{"old1", "old2"} {
		if n := c.oldVotes(id); n != 0 {
			c.Errorf("%s has %d votes after the purge", id, n)
		}
	}
}
