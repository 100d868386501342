package publish

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/api/verifiable"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/resultlog"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// memoryMark is a mark that a test can move.
type memoryMark struct {
	mu       sync.Mutex
	text     []byte
	requests []string
}

func (m *memoryMark) Load(context.Context) (Marked, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, "load")
	return Marked{Checkpoint: m.text}, nil
}

func (m *memoryMark) Replace(_ context.Context, old Marked, text []byte) (Marked, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, "replace")
	if string(old.Checkpoint) != string(m.text) {
		return Marked{}, ErrMarkChanged
	}
	m.text = text
	return Marked{Checkpoint: text}, nil
}

// movedClock runs ahead by what a test says.
type movedClock struct {
	mu    sync.Mutex
	ahead time.Duration
}

func (c *movedClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

func (c *movedClock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

func (*movedClock) Sleep(ctx context.Context, d time.Duration) error {
	return stream.SystemClock().Sleep(ctx, d)
}

func testKey() ed25519.PrivateKey {
	seed := sha256.Sum256([]byte("a key of tests"))
	return ed25519.NewKeyFromSeed(seed[:])
}

// world is a process over a store, whose rounds of reports a test begins.
type world struct {
	t     *testing.T
	store *storetest.Memory
	clock *movedClock
	mark  *memoryMark
	keyed [2]ed25519.PrivateKey // the present key and the earlier one, in place of testKey
	polls *voting.Service
	log   *resultlog.Service
	*Publisher
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, store: storetest.NewMemory(), clock: &movedClock{}, mark: &memoryMark{}}
	w.start()
	return w
}

func (w *world) start() {
	w.polls = voting.NewService(w.store, w.clock, stream.Options{})
	w.log = resultlog.NewService(w.store, w.clock, stream.Options{SnapshotTail: 1 << 12})
	polls, log := w.polls, w.log
	w.t.Cleanup(func() {
		_ = polls.Close(context.WithoutCancel(w.t.Context()))
		_ = log.Close(context.WithoutCancel(w.t.Context()))
	})
	if w.keyed[0] == nil {
		w.keyed[0] = testKey()
	}
	w.Publisher = newPublisher(Options{
		Polls: w.polls, Log: w.log, Key: w.keyed[0], EarlierKey: w.keyed[1], Origin: "votes.example/acclaim", Mark: w.mark, Clock: w.clock, Logger: slog.New(slog.DiscardHandler),
	})
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func pollNamed(id string) voting.Poll {
	return voting.Poll{Environment: "production", Extension: "ext", Channel: "77", ID: id}
}

func (w *world) configure(id string, c voting.Config) {
	w.t.Helper()
	c.Verifiable, c.Prompt, c.Options = true, "Lunch?", []string{"tea", "cake"}
	c.DistinctOptionsPerUser, c.TotalVotesPerUser, c.VotesPerOption = 1, 1, 1
	_, _, err := w.polls.Change(w.t.Context(), pollNamed(id), voting.Change{Config: c})
	w.must(err)
}

func nonceOf(voter string, value int64) (nonce verifiable.Nonce) {
	copy(nonce[:], fmt.Sprint(voter, value, "-0123456789abcdef"))
	return nonce
}

func (w *world) vote(id, voter string, value int64) {
	w.t.Helper()
	hash := verifiable.HashNonce(pollNamed(id).PublicName().Key(), nonceOf(voter, value))
	_, err := w.polls.Cast(w.t.Context(), pollNamed(id), voting.Submission{Voter: voting.Voter{OpaqueID: voter}, Value: value, Count: 1, Nonce: &hash}, true)
	w.must(err)
}

func (w *world) round() {
	w.t.Helper()
	w.must(w.reportOnce(w.t.Context()))
	w.clock.pass(2 * time.Second) // what is signed is looked at again
}

func (w *world) end(id string) {
	w.t.Helper()
	w.configure(id, voting.Config{Schedule: contract.Schedule{EndsAt: w.clock.Now().Unix() + 1}})
	w.round()
	w.round()
	w.round()
}

// ReadFile reads the files of the site as a checker does.
func (s site) ReadFile(ctx context.Context, path string) ([]byte, error) {
	if rest, ok := strings.CutPrefix(path, "log/"); ok {
		file, err := s.Publisher.ReadFile(ctx, rest)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", fs.ErrNotExist, err)
		}
		return file.Data, nil
	}
	id := strings.Split(path, "/")[3]
	proved, err := s.Prove(ctx, pollNamed(id))
	if err != nil || proved == nil {
		return nil, fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return json.Marshal(struct {
		Name verifiable.PollName `json:"name"`
		*Proved
	}{pollNamed(id).PublicName(), proved})
}

// site shows a world to checkers.
type site struct{ *world }

func (w *world) keys() verifiable.Keys {
	w.t.Helper()
	vkey, err := w.VerifierKey(w.t.Context())
	w.must(err)
	keys, err := verifiable.ParseKeys([]string{vkey})
	w.must(err)
	return keys
}

func (w *world) receipt(id, voter string, value int64) (*verifiable.ReceiptReport, []byte) {
	w.t.Helper()
	text, err := w.MakeReceipt(w.t.Context(), pollNamed(id), voting.Voter{OpaqueID: voter})
	w.must(err)
	r, err := verifiable.ParseReceipt(text)
	w.must(err)
	nonce := nonceOf(voter, value)
	r.Nonce = &nonce
	return w.check(r.Text()), r.Text()
}

func (w *world) check(text []byte) *verifiable.ReceiptReport {
	w.t.Helper()
	report, err := verifiable.VerifyReceipt(w.t.Context(), text, verifiable.ReceiptCheck{Keys: w.keys(), Source: site{w}})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.t.Fatal(err)
	}
	return report
}

// A voter's receipt shows that the vote is recorded and, after the end, counted; an auditor's recount
// gives the signed result, and a monitor finds nothing.
func TestVotesAreChecked(t *testing.T) {
	w := newWorld(t)
	monitor := (*verifiable.Monitor)(nil)
	for _, visibility := range []voting.Visibility{"", voting.VisibleAfterClose} {
		id := "poll" + string(visibility)
		w.configure(id, voting.Config{ResultsVisibility: visibility, ShowCount: true})
		for i := range 300 {
			w.vote(id, fmt.Sprint("v", i), int64(i%2))
			if i%97 == 0 {
				w.round()
			}
		}
		w.vote(id, "v7", 0) // changed
		w.round()
		if monitor == nil {
			monitor = verifiable.NewMonitor(w.keys())
		}
		w.must(monitor.Update(t.Context(), site{w}))
		report, early := w.receipt(id, "v8", 0)
		if report.Recorded.Answer != verifiable.Yes || report.Question != "Lunch?" || report.Vote == "" || report.Counted.Answer != verifiable.Unknown || len(report.Findings) > 0 {
			t.Errorf("%s: before the end: %+v", id, report)
		}
		w.end(id)
		for _, report := range []*verifiable.ReceiptReport{w.check(early), first(w.receipt(id, "v7", 0))} {
			if report.Recorded.Answer != verifiable.Yes || report.Counted.Answer != verifiable.Yes || len(report.Findings) > 0 {
				t.Errorf("%s: after the end: %+v", id, report)
			}
		}
		audit, err := verifiable.Audit(t.Context(), site{w}, w.keys(), pollNamed(id).PublicName().ResultPath())
		w.must(err)
		if !audit.Final || len(audit.Findings) > 0 || audit.Votes != 301 || audit.Voters != 300 || audit.Sums.Count.String() != "300" {
			t.Errorf("%s: the audit is %+v", id, audit)
		}
		w.must(monitor.Update(t.Context(), site{w}))
		if len(monitor.Findings) > 0 {
			t.Errorf("%s: the monitor found %v", id, monitor.Findings)
		}
	}
}

func first[A, B any](a A, _ B) A { return a }

// Reopening, a reset and another list leave a log in which nothing contradicts anything.
func TestListsFollowOneAnother(t *testing.T) {
	w := newWorld(t)
	w.configure("p", voting.Config{})
	w.vote("p", "a", 1)
	w.round()
	monitor := verifiable.NewMonitor(w.keys())
	w.end("p")
	w.must(monitor.Update(t.Context(), site{w}))
	w.configure("p", voting.Config{}) // opens it again
	w.vote("p", "b", 1)
	w.round()
	w.must(monitor.Update(t.Context(), site{w}))
	w.must(w.polls.Reset(t.Context(), pollNamed("p")))
	w.configure("p", voting.Config{ResultsVisibility: voting.VisibleAfterVote, ShowCount: true})
	w.vote("p", "a", 0)
	w.round()
	_, kept := w.receipt("p", "a", 0)
	w.must(monitor.Update(t.Context(), site{w}))
	w.must(w.polls.Reset(t.Context(), pollNamed("p"))) // within a hidden phase
	w.configure("p", voting.Config{})
	w.vote("p", "c", 1)
	w.round()
	w.end("p")
	w.must(monitor.Update(t.Context(), site{w}))
	if len(monitor.Findings) > 0 {
		t.Errorf("the monitor found %v", monitor.Findings)
	}
	if report := w.check(kept); report.Recorded.Answer != verifiable.Yes || report.Counted.Answer == verifiable.Yes {
		t.Errorf("a vote that was deleted: %+v", report)
	}
	if report, _ := w.receipt("p", "c", 1); report.Counted.Answer != verifiable.Yes {
		t.Errorf("the last vote: %+v", report)
	}
}

// copyStore returns a copy of the store as it is, without snapshots.
func (w *world) copyStore() *storetest.Memory {
	w.t.Helper()
	var chunks []stream.Chunk
	for name, err := range w.store.Streams(w.t.Context(), "") {
		w.must(err)
		for chunk, err := range w.store.Chunks(w.t.Context(), name, 0) {
			w.must(err)
			chunks = append(chunks, chunk)
		}
	}
	return storetest.NewMemoryOf(chunks...)
}

// What is not public is withheld, and what is not there is not made.
func TestFiles(t *testing.T) {
	w := newWorld(t)
	w.configure("p", voting.Config{ResultsVisibility: voting.VisibleAfterClose, ShowCount: true})
	w.vote("p", "a", 1)
	w.round()
	list, err := w.polls.ReadList(t.Context(), pollNamed("p"), voting.Voter{})
	w.must(err)
	tree := "t/" + list.Tree.String() + "/"
	var withheld *Withheld
	if _, err := w.ReadFile(t.Context(), tree+"tile/entries/000.p/4"); !errors.As(err, &withheld) || withheld.Reason != withheldHidden {
		t.Errorf("hidden entries: %v", err)
	}
	for _, path := range []string{"checkpoint", "vkeys", "tile/0/000.p/2", "tile/entries/000.p/2", tree + "checkpoint", tree + "tile/0/000.p/4"} {
		if file, err := w.ReadFile(t.Context(), path); err != nil || len(file.Data) == 0 || file.Immutable != strings.Contains(path, "tile") {
			t.Errorf("%s: %+v, %v", path, file, err)
		}
	}
	for _, path := range []string{
		"", "tile", "tile/0/000", "tile/0/000.p/3", "tile/0/0", "tile/8/0/000.p/1", "tile/-1/000.p/1", "tile/1/000.p/1", "tile/0/000.p/0", "tile/9/000.p/1", "tile/63/000.p/1", "tile/0/x001/000.p/1",
		tree, tree + "tile/0/000.p/5", tree + "ballots/4/2", "t/" + strings.ToUpper(list.Tree.String()) + "/checkpoint", "t/00/checkpoint", "t/" + strings.Repeat("0", 32) + "/checkpoint",
	} {
		if _, err := w.ReadFile(t.Context(), path); fault.KindOf(err) != fault.NotFound {
			t.Errorf("%s: %v", path, err)
		}
	}
	w.end("p")
	list, err = w.polls.ReadList(t.Context(), pollNamed("p"), voting.Voter{})
	w.must(err)
	if _, err := w.ReadFile(t.Context(), fmt.Sprintf("%stile/entries/000.p/%d", tree, list.Entries.N)); !errors.As(err, &withheld) || withheld.Reason != withheldSmall {
		t.Errorf("the entries of one voter: %v", err)
	}
	if file, err := w.ReadFile(t.Context(), fmt.Sprintf("%sballots/%d/3", tree, list.Entries.N)); err != nil || len(file.Data) == 0 {
		t.Errorf("the ballot: %v", err)
	}
	if report, _ := w.receipt("p", "a", 1); report.Counted.Answer != verifiable.Yes {
		t.Errorf("a vote of a small poll: %+v", report)
	}
}

// A publisher signs no second history: where the store lacks what the mark says was signed, or there
// is no mark, a new log begins, which names the old one.
func TestNewLogsInPlaceOfForks(t *testing.T) {
	for name, break_ := range map[string]func(w *world, before *storetest.Memory){
		"rolled back":  func(w *world, before *storetest.Memory) { w.store = before },
		"without mark": func(w *world, _ *storetest.Memory) { w.mark.text = nil },
		"another mark": func(w *world, _ *storetest.Memory) { w.mark.text = []byte("other\n1\n") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.configure("p", voting.Config{})
			w.vote("p", "a", 1)
			w.round()
			before := w.copyStore()
			w.vote("p", "b", 1)
			w.round()
			keys, old := w.keys(), w.signed
			break_(w, before)
			w.start()
			w.round()
			w.round()
			s, err := w.signLog(t.Context(), 0)
			w.must(err)
			if s.origin == old.origin || s.tree.N != 2 {
				t.Fatalf("the log goes on as %s with %d leaves", s.origin, s.tree.N)
			}
			var begin verifiable.LogLeaf
			w.must(w.log.Leaves(t.Context(), 0, 1, func(_ int64, data []byte) { begin, err = verifiable.ParseLogLeaf(data) }))
			if err != nil || begin.OldOrigin != old.origin || begin.Old.N > old.tree.N || keys.Origin() != old.origin {
				t.Errorf("the log begins with %+v, %v", begin, err)
			}
			if report, _ := w.receipt("p", "a", 1); report.Recorded.Answer != verifiable.Yes {
				t.Errorf("a receipt of the new log: %+v", report)
			}
		})
	}
}

// Two processes that report and sign at the same time make one log and the same bytes.
func TestTwoSigners(t *testing.T) {
	w := newWorld(t)
	w.configure("p", voting.Config{})
	second := &world{t: t, store: w.store, clock: w.clock, mark: w.mark}
	second.start()
	for i := range 20 {
		w.vote("p", fmt.Sprint("v", i), 1)
		second.queue.add(pollNamed("p"))
		var both sync.WaitGroup
		both.Go(func() { _ = w.reportOnce(t.Context()) })
		both.Go(func() { _ = second.reportOnce(t.Context()) })
		both.Wait()
	}
	w.round()
	second.round()
	a, err := w.signLog(t.Context(), 0)
	w.must(err)
	b, err := second.signLog(t.Context(), 0)
	w.must(err)
	if string(a.checkpoint) != string(b.checkpoint) {
		t.Errorf("two checkpoints:\n%s\n%s", a.checkpoint, b.checkpoint)
	}
	if w.refused.Load()+second.refused.Load() > 0 {
		t.Error("a report was refused")
	}
	monitor := verifiable.NewMonitor(w.keys())
	w.must(monitor.Update(t.Context(), site{w}))
	w.must(monitor.Update(t.Context(), site{second}))
	if len(monitor.Findings) > 0 {
		t.Errorf("the monitor found %v", monitor.Findings)
	}
}

// A poll that was restored from an older copy is signed no more.
func TestContradictionsAreRefused(t *testing.T) {
	w := newWorld(t)
	w.configure("p", voting.Config{})
	w.vote("p", "a", 1)
	before := w.copyStore()
	w.vote("p", "b", 1)
	w.round()
	// Another process has the poll as it was, and the log as it is.
	polls := voting.NewService(before, w.clock, stream.Options{})
	defer func() { _ = polls.Close(context.WithoutCancel(t.Context())) }()
	other := newPublisher(Options{Polls: polls, Log: w.log, Key: testKey(), Origin: w.Origin, Mark: w.mark, Clock: w.clock, Logger: w.Logger})
	other.queue.add(pollNamed("p"))
	w.must(other.reportOnce(t.Context()))
	if other.refused.Load() != 1 {
		t.Errorf("%d reports were refused", other.refused.Load())
	}
	for i, voter := range []string{"c", "d"} { // as long as the signed list, and longer
		hash := verifiable.NonceHash{byte(i)}
		_, err := polls.Cast(t.Context(), pollNamed("p"), voting.Submission{Voter: voting.Voter{OpaqueID: voter}, Value: 1, Count: 1, Nonce: &hash}, false)
		w.must(err)
		w.must(other.reportOnce(t.Context()))
		if got := other.refused.Load(); got != int64(2+i) {
			t.Errorf("with %s, %d reports were refused", voter, got)
		}
	}
}

// Entries are withheld as the configuration says, and the result says so too.
func TestWithheldEntries(t *testing.T) {
	for name, test := range map[string]struct {
		settings        contract.PollSettings
		few, many, done string // why they are withheld, with one voter, with two, and after the end
		shown           string // of the final result
	}{
		"close":   {contract.PollSettings{MinVoters: 2}, withheldSmall, withheldOpen, "", "close"},
		"live":    {contract.PollSettings{MinVoters: 2, Entries: "live"}, withheldSmall, "", "", "live"},
		"never":   {contract.PollSettings{MinVoters: 1, Entries: "never"}, withheldNever, withheldNever, withheldNever, "never"},
		"small":   {contract.PollSettings{MinVoters: 3, Entries: "live", KeepDays: 2}, withheldSmall, withheldSmall, withheldSmall, "never"},
		"default": {contract.PollSettings{}, withheldSmall, withheldSmall, withheldSmall, "never"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			look := func(want string) *Proved {
				t.Helper()
				w.round()
				list, err := w.polls.ReadList(t.Context(), pollNamed("p"), voting.Voter{})
				w.must(err)
				_, err = w.ReadFile(t.Context(), fmt.Sprintf("t/%s/tile/entries/000.p/%d", list.Tree, list.Entries.N))
				withheld, _ := errors.AsType[*Withheld](err)
				if want == "" && err != nil || want != "" && (withheld == nil || withheld.Reason != want) {
					t.Errorf("%d entries: %v, want %q", list.Entries.N, err, want)
				}
				proved, err := w.Prove(t.Context(), pollNamed("p"))
				w.must(err)
				return proved
			}
			w.configure("p", voting.Config{PollSettings: test.settings})
			w.vote("p", "a", 1)
			look(test.few)
			w.vote("p", "b", 1)
			if early := look(test.many); early.KeepUntil != 0 || early.Minimum != 0 {
				t.Errorf("the result of an open poll is %+v", early)
			}
			end := w.clock.Now().Unix() + 1
			w.configure("p", voting.Config{PollSettings: test.settings, Schedule: contract.Schedule{EndsAt: end}})
			w.round()
			w.round()
			days := cmp.Or(test.settings.KeepDays, 30)
			if final := look(test.done); final.Entries != test.shown || final.Minimum != 0 || final.KeepUntil < end+days*86400-2 || final.KeepUntil > end+days*86400+60 {
				t.Errorf("the result is %+v", final)
			}
			w.clock.pass(time.Duration(days) * 24 * time.Hour)
			if _, err := w.polls.Truncate(t.Context(), pollNamed("p").Stream(), w.clock.Now()); err != nil {
				t.Fatal(err)
			}
			if late, err := w.Prove(t.Context(), pollNamed("p")); err != nil || late.Minimum == 0 {
				t.Errorf("after retention, the result is %+v, %v", late, err)
			}
		})
	}
}

// A poll without receipts gives none.
func TestNoReceipts(t *testing.T) {
	w := newWorld(t)
	w.configure("p", voting.Config{PollSettings: contract.PollSettings{NoReceipts: true}})
	voter := voting.Voter{OpaqueID: "a"}
	_, err := w.polls.Cast(t.Context(), pollNamed("p"), voting.Submission{Voter: voter, Value: 1, Count: 1}, true)
	w.must(err)
	w.round()
	if _, err := w.MakeReceipt(t.Context(), pollNamed("p"), voter); !errors.Is(err, errNoReceipts) {
		t.Errorf("a receipt: %v", err)
	}
	if proved, err := w.Prove(t.Context(), pollNamed("p")); err != nil || proved == nil {
		t.Errorf("the result that anyone can recount: %v, %v", proved, err)
	}
}
