package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/boltstore"
	"github.com/acclaim-dev/acclaim/services/internal/mongostore"
	"github.com/acclaim-dev/acclaim/services/internal/mongotest"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/message"
	"github.com/acclaim-dev/acclaim/services/ranking"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// stepClock is moved by hand, and by whoever sleeps.
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

// aged is a store with services over it that keep what they are told to.
type aged struct {
	*testing.T
	dir   string
	clock *stepClock
	store *boltstore.Store
	d     *domains
	k     *keeper
}

func newAged(t *testing.T, registry string) *aged {
	t.Helper()
	parsed, err := tenant.Parse([]byte(registry))
	if err != nil {
		t.Fatal(err)
	}
	a := &aged{T: t, dir: t.TempDir(), clock: &stepClock{now: time.UnixMilli(1e12)}}
	a.open()
	a.k.registry = func() *tenant.Registry { return parsed }
	t.Cleanup(a.close)
	return a
}

func (a *aged) open() {
	a.Helper()
	store, err := boltstore.Open(a.dir)
	if err != nil {
		a.Fatal(err)
	}
	options := stream.Options{Exclusive: true, SnapshotTail: 1}
	a.store, a.d = store, &domains{
		voting:       voting.NewService(store, a.clock, options, voting.HalfLife),
		accumulation: accumulation.NewService(store, a.clock, options),
		ranking:      ranking.NewService(store, a.clock, options),
		messages:     message.NewService(store, a.clock, options),
	}
	k := newKeeper(store, a.d, a.clock)
	if k.logger = slog.New(slog.DiscardHandler); a.k != nil {
		k.registry = a.k.registry
	}
	a.k = k
}

func (a *aged) close() {
	a.Helper()
	ctx := context.WithoutCancel(a.Context())
	if err := a.d.close(ctx); err != nil {
		a.Error(err)
	}
	if err := a.store.Close(); err != nil {
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

// use has some viewers do everything.
func (a *aged) use(from, to int) {
	a.Helper()
	for n := from; n < to; n++ {
		for i := range agedStreams {
			id := fmt.Sprint("viewer-", n)
			_, err := a.d.voting.Vote(a.Context(), agedPoll(i), voting.Voter{OpaqueID: id}, int64(n), 1)
			a.must(err)
			a.must(a.d.accumulation.Append(a.Context(), agedBuffer(i), accumulation.Submission{OpaqueID: id, Data: []byte("{}")}))
			_, err = a.d.ranking.Submit(a.Context(), agedQuestion(i), id, fmt.Sprint("key-", n%3))
			a.must(err)
		}
	}
}

// figures are what must not change.
func (a *aged) figures() (all []string) {
	a.Helper()
	for i := range agedStreams {
		tally, err := a.d.voting.Tally(a.Context(), agedPoll(i), voting.Voter{OpaqueID: "viewer-0"})
		a.must(err)
		scores, err := a.d.ranking.Top(a.Context(), agedQuestion(i), 10)
		a.must(err)
		all = append(all, string(tally.AppendJSON(nil)), fmt.Sprint(scores))
	}
	return all
}

// kept returns who is in the logs, and in a buffer after a cursor.
func (a *aged) kept(i int, start int64) (votes, entries string) {
	a.Helper()
	var voters, submitters []string
	for record, err := range a.d.voting.Log(a.Context(), agedPoll(i), voting.Cursor{}) {
		a.must(err)
		voters = append(voters, record.Opaque)
	}
	for entry, err := range a.d.accumulation.Entries(a.Context(), agedBuffer(i), start, nil) {
		a.must(err)
		submitters = append(submitters, entry.OpaqueID)
	}
	return strings.Join(voters, " "), strings.Join(submitters, " ")
}

func TestRetention(t *testing.T) {
	a := newAged(t, `
extensions:
- {clientID: forgetful, secrets: [{value: aA==}], retention: {logs: 2h, buffers: 3h, rankings: 2h, snapshots: 50h}}
- {clientID: elephant, secrets: [{value: aQ==}]}
`)
	a.use(0, 3)
	a.clock.pass(150 * time.Minute)
	a.use(3, 5)
	cursor := a.clock.Now().Add(-time.Hour).UnixMilli()
	before := a.figures()
	a.must(a.k.pass(t.Context(), false))
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
	a.must(a.k.pass(t.Context(), false))
	check("when the entries are, too,", younger, younger)
	chunks, bytes, _ := a.k.counts()
	if a.must(a.k.pass(t.Context(), true)); a.k.chunks.Load() != chunks || chunks != 9 || bytes == 0 {
		t.Errorf("%d and then %d chunks were trimmed, %d bytes", chunks, a.k.chunks.Load(), bytes)
	}
	a.close()
	a.open()
	check("after a restart", younger, younger)
	// The limit of one vote for each viewer holds for those whose votes are gone.
	if tally, err := a.d.voting.Vote(t.Context(), agedPoll(0), voting.Voter{OpaqueID: "viewer-0"}, 7, 1); err != nil ||
		!strings.Contains(string(tally.AppendJSON(nil)), `"sum":17,`) || !strings.Contains(string(tally.AppendJSON(nil)), `"count":5,`) {
		t.Errorf("voted again: %s, %v", tally.AppendJSON(nil), err)
	}
	before = a.figures()
	a.clock.pass(100 * time.Hour)
	a.must(a.k.pass(t.Context(), true))
	if _, _, snapshots := a.k.counts(); snapshots == 0 {
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

// What was trimmed and redacted goes into another store as it is.
func TestRetentionIsExported(t *testing.T) {
	a := newAged(t, `extensions: [{clientID: forgetful, secrets: [{value: aA==}], retention: {logs: 1h, buffers: 1h}}]`)
	a.use(0, 3)
	a.clock.pass(2 * time.Hour)
	a.use(3, 5)
	a.must(a.k.pass(t.Context(), true))
	e := newEraser(a.store, a.d, voting.HalfLife)
	_, err := e.erase(t.Context(), agedExtension(0), whom{Viewer: stream.Viewer{IDs: []string{"viewer-1", "viewer-4"}}}, func(int) {})
	a.must(err)
	before := a.figures()
	a.close()
	file, problem, status := runTransfer(t, nil, "export", "--extension", agedExtension(0), "--data-dir", a.dir)
	if status != 0 || strings.Contains(file, "viewer-1") || strings.Contains(file, "viewer-4") || !strings.Contains(file, "viewer-3") {
		t.Errorf("export: status %d, %s\n%s", status, problem, file)
	}
	a.dir = t.TempDir()
	if _, problem, status := runTransfer(t, strings.NewReader(file), "import", "-", "--data-dir", a.dir); status != 0 {
		t.Errorf("import: status %d, %s", status, problem)
	}
	a.open()
	if diff := cmp.Diff(before[:2], a.figures()[:2]); diff != "" {
		t.Errorf("the figures have changed (-before +after):\n%s", diff)
	}
	a.wantSound()
	if again, _, _ := runTransferOf(a); again != file {
		t.Error("the export of what was imported is another")
	}
}

// runTransferOf exports what a store holds, which is closed meanwhile.
func runTransferOf(a *aged) (out, problem string, status int) {
	a.close()
	defer a.open()
	return runTransfer(a.T, nil, "export", "--extension", agedExtension(0), "--data-dir", a.dir)
}

// wantSound verifies the whole store.
func (a *aged) wantSound() {
	a.Helper()
	a.close()
	out, status := runVerify(a.T, "--data-dir", a.dir)
	if a.open(); status != 0 {
		a.Errorf("verify: status %d\n%s", status, out)
	}
}

// Messages leave the logs of every extension after a day, and stay at hand.
func TestMessagesAreTrimmed(t *testing.T) {
	a := newAged(t, `extensions: [{clientID: elephant, secrets: [{value: aA==}]}]`)
	feed := message.Feed{Environment: "sandbox", Extension: agedExtension(1), Channel: "1"}
	say := func(from, to int) {
		for n := from; n < to; n++ {
			a.must(a.d.messages.Publish(t.Context(), feed, message.Message{To: "U1", Name: "tick", Data: fmt.Append(nil, n)}))
		}
	}
	say(0, 300)
	a.use(0, 1)
	a.clock.pass(23 * time.Hour)
	say(300, 310)
	a.must(a.k.pass(t.Context(), false))
	if chunks, _, _ := a.k.counts(); chunks != 0 {
		t.Errorf("%d chunks were trimmed too early", chunks)
	}
	a.clock.pass(2 * time.Hour)
	a.must(a.k.pass(t.Context(), false))
	if chunks, _, _ := a.k.counts(); chunks != 300 {
		t.Errorf("%d chunks were trimmed, want the messages of the first day alone", chunks)
	}
	a.close()
	a.open()
	page, err := a.d.messages.Since(t.Context(), feed, 5)
	if err != nil || page.Last != 310 || len(page.Messages) != 256 || string(page.Messages[255].Data) != "309" {
		t.Errorf("%d messages of %d are at hand, %v", len(page.Messages), page.Last, err)
	}
	a.wantSound()
}

// A pass ends with its context, and a look at everything begins after a while.
func TestRetentionRuns(t *testing.T) {
	a := newAged(t, `extensions: [{clientID: forgetful, secrets: [{value: aA==}], retention: {logs: 1h}}]`)
	a.use(0, 2)
	a.clock.pass(90 * time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	trims := &cancelling{trimmer: a.d.voting, after: 3, cancel: cancel}
	a.k.domains[voting.Kind] = trims
	a.k.run(ctx)
	if votes, _ := a.kept(0, 0); votes != "" || trims.after != 0 {
		t.Errorf("the log is of %q, %d looks were left", votes, trims.after)
	}
}

// cancelling cancels a context at the nth look.
type cancelling struct {
	trimmer
	after  int
	cancel func()
}

func (c *cancelling) Trimmable(ctx context.Context, name string, before time.Time) (bool, error) {
	if c.after--; c.after == 0 {
		c.cancel()
	}
	return c.trimmer.Trimmable(ctx, name, before)
}

// Two programs share a database; votes arrive at both while two keepers take out all
// that is there. Nothing that was counted is lost or counted again.
func TestRetentionWhileVotesArrive(t *testing.T) {
	uri := mongotest.Patient(mongotest.Start(t))
	f := startFleet(t, []string{uri}, 2)
	const voters, rounds = 6, 20
	var all sync.WaitGroup
	var votes sync.WaitGroup
	for v := range voters {
		votes.Go(func() {
			for i := range rounds { // each votes twice, the second time instead of the first
				header := signViewer(t, fmt.Sprintf("U-%d-%d", v, i/2), "")
				if f, why := send(f.any(v+i), http.MethodPost, "/vote", header, `{"value":1}`, nil); f != stored {
					t.Errorf("a vote failed: %s", why)
				}
			}
		})
	}
	parsed, err := tenant.Parse([]byte(`extensions: [{clientID: sample-extension, secrets: [{value: aA==}], retention: {logs: 1h}}]`))
	if err != nil {
		t.Fatal(err)
	}
	var trimmed atomic.Uint64
	for range 2 {
		all.Go(func() {
			store, err := mongostore.Open(t.Context(), uri)
			if err != nil {
				t.Error(err)
				return
			}
			d := &domains{voting: voting.NewService(store, stream.SystemClock(), stream.Options{}, voting.HalfLife)}
			k := newKeeper(store, d, &stepClock{now: time.Now().Add(2 * time.Hour)})
			k.registry, k.logger = func() *tenant.Registry { return parsed }, slog.New(slog.DiscardHandler)
			for i := range 5 {
				if i == 4 {
					votes.Wait() // so that there is something to trim for the last, at least
				}
				if err := k.pass(t.Context(), true); err != nil {
					t.Error(err)
				}
			}
			chunks, _, _ := k.counts()
			trimmed.Add(chunks)
			if err := errors.Join(d.close(t.Context()), store.Close(context.WithoutCancel(t.Context()))); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for i := range 2 {
		var tally struct{ Count int }
		if f, why := send(f.any(i), http.MethodGet, "/vote", sign(t, "backend", ""), "", &tally); f != stored || tally.Count != voters*rounds/2 {
			t.Errorf("%d votes are counted, want %d %s", tally.Count, voters*rounds/2, why)
		}
	}
	if trimmed.Load() == 0 {
		t.Error("nothing was trimmed")
	}
	if out, status := runVerify(t, "--mongodb-uri", uri); status != 0 {
		t.Errorf("verify: status %d\n%s", status, out)
	}
}
