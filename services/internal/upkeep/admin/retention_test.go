package admin_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/engine/rewrite"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/admin"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/transfer"
	"github.com/acclaim-dev/acclaim/services/message"
	"github.com/acclaim-dev/acclaim/services/ranking"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// stepClock moves when a test or a sleep moves it.
type stepClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *stepClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *stepClock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func (c *stepClock) Sleep(ctx context.Context, d time.Duration) error {
	c.pass(d)
	return ctx.Err()
}

// aged is a store whose extensions have retention periods.
type aged struct {
	*testing.T
	clock    *stepClock
	store    agedStore
	registry func() *tenant.Registry
	d        *domains
	worker   *admin.RetentionWorker
}

// agedStore is a store that an export can be imported into.
type agedStore interface {
	wholeStore
	transfer.Target
}

func newAged(t *testing.T, registry string) *aged {
	t.Helper()
	parsed, err := tenant.Parse([]byte(registry))
	if err != nil {
		t.Fatal(err)
	}
	a := &aged{
		T:        t,
		clock:    &stepClock{now: time.UnixMilli(1e12)},
		store:    storetest.NewMemory(),
		registry: func() *tenant.Registry { return parsed },
	}
	a.open()
	t.Cleanup(a.close)
	return a
}

// open starts engines that know nothing of the store yet.
func (a *aged) open() {
	a.d = newDomains(a.store, a.clock, stream.Options{Exclusive: true, SnapshotTail: 1})
	a.worker = a.workerOf(a.d.table)
}

func (a *aged) workerOf(table admin.Domains) *admin.RetentionWorker {
	return admin.NewRetentionWorker(a.store, table, a.registry, a.clock, slog.New(slog.DiscardHandler))
}

func (a *aged) close() {
	a.Helper()
	if err := a.d.close(context.WithoutCancel(a.Context())); err != nil {
		a.Error(err)
	}
}

func (a *aged) must(err error) {
	a.Helper()
	if err != nil {
		a.Fatal(err)
	}
}

const agedStreams = 2 // of each kind, one of them of an extension that keeps everything

func agedExtension(i int) string { return []string{"forgetful", "elephant"}[i] }

func agedPoll(i int) voting.Poll {
	return voting.Poll{Environment: "production", Extension: agedExtension(i), Channel: "1", ID: "default"}
}

func agedBuffer(i int) accumulation.Buffer {
	return accumulation.Buffer{Environment: "production", Extension: agedExtension(i), Name: "default"}
}

func agedQuestion(i int) ranking.Question {
	return ranking.Question{Environment: "production", Extension: agedExtension(i), Channel: "1", ID: "default"}
}

// use makes some viewers do everything.
func (a *aged) use(from, to int) {
	a.Helper()
	for n := from; n < to; n++ {
		for i := range agedStreams {
			id := fmt.Sprint("viewer-", n)
			_, err := a.d.polls.Vote(a.Context(), agedPoll(i), voting.Voter{OpaqueID: id}, int64(n), 1)
			a.must(err)
			a.must(a.d.buffers.Append(a.Context(), agedBuffer(i), accumulation.Submission{OpaqueID: id, Data: []byte("{}")}))
			_, err = a.d.questions.Submit(a.Context(), agedQuestion(i), id, fmt.Sprint("key-", n%3))
			a.must(err)
		}
	}
}

// figures returns the values that retention must not change.
func (a *aged) figures() (all []string) {
	a.Helper()
	for i := range agedStreams {
		tally, err := a.d.polls.Tally(a.Context(), agedPoll(i), voting.Voter{OpaqueID: "viewer-0"})
		a.must(err)
		board, err := a.d.questions.Board(a.Context(), agedQuestion(i), ranking.Visible, 10)
		a.must(err)
		all = append(all, string(tally.AppendJSON(nil)), fmt.Sprint(board.Scores))
	}
	return all
}

// kept returns the viewers in the logs, and those in a buffer after a cursor.
func (a *aged) kept(i int, start int64) (votes, entries string) {
	a.Helper()
	var voters, submitters []string
	for record, err := range a.d.polls.Log(a.Context(), agedPoll(i), voting.Cursor{}) {
		a.must(err)
		voters = append(voters, record.Opaque)
	}
	for entry, err := range a.d.buffers.Entries(a.Context(), agedBuffer(i), start, nil) {
		a.must(err)
		submitters = append(submitters, entry.OpaqueID)
	}
	return strings.Join(voters, " "), strings.Join(submitters, " ")
}

func TestRetention(t *testing.T) {
	a := newAged(t, `
extensions:
- {clientID: forgetful, secrets: [{value: aC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}], retention: {logs: 2h, buffers: 3h, rankings: 2h, snapshots: 50h}}
- {clientID: elephant, secrets: [{value: aS1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}
`)
	a.use(0, 3)
	a.clock.pass(150 * time.Minute)
	a.use(3, 5)
	cursor := a.clock.Now().Add(-time.Hour).UnixMilli()
	before := a.figures()
	a.must(a.worker.RunOnce(t.Context(), false))
	check := func(when, wantVotes, wantEntries string) {
		t.Helper()
		if diff := cmp.Diff(before, a.figures()); diff != "" {
			t.Errorf("%s the figures have changed (-before +after):\n%s", when, diff)
		}
		if votes, entries := a.kept(0, 0); votes != wantVotes || entries != wantEntries {
			t.Errorf("%s the log is of %q, the buffer of %q", when, votes, entries)
		}
		if _, entries := a.kept(0, cursor); entries != "viewer-3 viewer-4" {
			t.Errorf("%s after the cursor there is %q", when, entries)
		}
		const all = "viewer-0 viewer-1 viewer-2 viewer-3 viewer-4"
		if votes, entries := a.kept(1, 0); votes != all || entries != all {
			t.Errorf("%s the other extension has %q and %q", when, votes, entries)
		}
	}
	const all, younger = "viewer-0 viewer-1 viewer-2 viewer-3 viewer-4", "viewer-3 viewer-4"
	check("when the votes are too old", younger, all)
	a.clock.pass(time.Hour)
	a.must(a.worker.RunOnce(t.Context(), false))
	check("when the entries are, too,", younger, younger)
	done := a.worker.Stats()
	a.must(a.worker.RunOnce(t.Context(), true))
	if again := a.worker.Stats(); again != done || done.Chunks != 9 || done.Bytes == 0 {
		t.Errorf("truncated %+v and then %+v", done, again)
	}
	a.close()
	a.open()
	check("after a restart", younger, younger)
	// The limit of one vote for each viewer holds for those whose votes are gone.
	if tally, err := a.d.polls.Vote(t.Context(), agedPoll(0), voting.Voter{OpaqueID: "viewer-0"}, 7, 1); err != nil ||
		!strings.Contains(string(tally.AppendJSON(nil)), `"sum":17,`) || !strings.Contains(string(tally.AppendJSON(nil)), `"count":5,`) {
		t.Errorf("voted again: %s, %v", tally.AppendJSON(nil), err)
	}
	before = a.figures()
	for range 2 { // the first truncates, after which the snapshots are new
		a.clock.pass(100 * time.Hour)
		a.must(a.worker.RunOnce(t.Context(), true))
	}
	if a.worker.Stats().Snapshots == 0 {
		t.Error("no snapshot was deleted")
	}
	if votes, entries := a.kept(0, 0); votes != "" || entries != "" {
		t.Errorf("in the end the log is of %q, the buffer of %q", votes, entries)
	}
	if diff := cmp.Diff(before, a.figures()); diff != "" {
		t.Errorf("in the end the figures have changed (-before +after):\n%s", diff)
	}
	a.wantSound()
}

// Truncated and redacted logs are exported and imported as they are.
func TestRetentionIsExported(t *testing.T) {
	a := newAged(t, `extensions: [{clientID: forgetful, secrets: [{value: aC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}], retention: {logs: 1h, buffers: 1h}}]`)
	a.use(0, 3)
	a.clock.pass(2 * time.Hour)
	a.use(3, 5)
	a.must(a.worker.RunOnce(t.Context(), true))
	e := admin.NewErasureService(a.store, a.d.table, a.store)
	_, err := e.Erase(t.Context(), agedExtension(0), admin.Target{Viewer: rewrite.Viewer{IDs: []string{"viewer-1", "viewer-4"}}}, func(int) {})
	a.must(err)
	before, file := a.figures(), a.export()
	if strings.Contains(file, "viewer-1") || strings.Contains(file, "viewer-4") || !strings.Contains(file, "viewer-3") {
		t.Errorf("the export is\n%s", file)
	}
	a.close()
	a.store = storetest.NewMemory()
	_, err = transfer.Import(t.Context(), strings.NewReader(file), a.store, func(context.Context, transfer.Scope) error { return nil })
	a.must(err)
	a.open()
	if diff := cmp.Diff(before[:2], a.figures()[:2]); diff != "" {
		t.Errorf("the figures have changed (-before +after):\n%s", diff)
	}
	a.wantSound()
	if a.export() != file {
		t.Error("the export of what was imported differs")
	}
}

// export exports the first extension.
func (a *aged) export() string {
	a.Helper()
	var file bytes.Buffer
	scope := transfer.Scope{Extension: agedExtension(0), Environments: []string{"production"}, Kinds: transfer.Kinds()}
	_, err := transfer.Export(a.Context(), a.store, scope, &file)
	a.must(err)
	return file.String()
}

// wantSound verifies the whole store.
func (a *aged) wantSound() {
	a.Helper()
	if v := verify(a.T, a.store); len(v.Problems) > 0 {
		a.Errorf("verify finds %+v", v.Problems)
	}
}

// Messages leave the logs of every extension after a day, and can still be read.
func TestMessagesAreTrimmed(t *testing.T) {
	a := newAged(t, `extensions: [{clientID: elephant, secrets: [{value: aC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}]`)
	feed := message.Feed{Environment: "sandbox", Extension: agedExtension(1), Channel: "1"}
	say := func(from, to int) {
		for n := from; n < to; n++ {
			a.must(a.d.feeds.Publish(t.Context(), feed, message.Message{To: "U1", Name: "tick", Data: fmt.Append(nil, n)}))
		}
	}
	say(0, 300)
	a.use(0, 1)
	a.clock.pass(23 * time.Hour)
	say(300, 310)
	a.must(a.worker.RunOnce(t.Context(), false))
	if chunks := a.worker.Stats().Chunks; chunks != 0 {
		t.Errorf("%d chunks were truncated too early", chunks)
	}
	a.clock.pass(2 * time.Hour)
	a.must(a.worker.RunOnce(t.Context(), false))
	if chunks := a.worker.Stats().Chunks; chunks != 300 {
		t.Errorf("%d chunks were truncated, want the messages of the first day alone", chunks)
	}
	a.close()
	a.open()
	page, err := a.d.feeds.Since(t.Context(), feed, 5)
	if err != nil || page.Last != 310 || len(page.Messages) != 256 || string(page.Messages[255].Data) != "309" {
		t.Errorf("%d messages of %d can be read, %v", len(page.Messages), page.Last, err)
	}
	a.wantSound()
}

// Run ends with its context, and first waits for a random time.
func TestRetentionRuns(t *testing.T) {
	a := newAged(t, `extensions: [{clientID: forgetful, secrets: [{value: aC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}], retention: {logs: 1h}}]`)
	a.use(0, 2)
	a.clock.pass(90 * time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	polls := a.d.table[voting.Kind]
	counted := &cancelling{Truncater: polls.Truncater, left: 3, cancel: cancel}
	polls.Truncater = counted
	a.workerOf(admin.Domains{voting.Kind: polls}).Run(ctx)
	if votes, _ := a.kept(0, 0); votes != "" || counted.left != 0 {
		t.Errorf("the log is of %q, %d checks were left", votes, counted.left)
	}
}

// cancelling cancels a context when a number of checks is used up.
type cancelling struct {
	admin.Truncater
	left   int
	cancel func()
}

func (c *cancelling) NeedsTruncation(ctx context.Context, name string, before time.Time) (bool, error) {
	if c.left--; c.left == 0 {
		c.cancel()
	}
	return c.Truncater.NeedsTruncation(ctx, name, before)
}
