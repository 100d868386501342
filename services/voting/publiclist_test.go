package voting

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/api/verifiable"
	"github.com/acclaim-dev/acclaim/services/internal/engine/rewrite"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

var listedPoll = Poll{Environment: "production", Extension: "ext", Channel: "77", ID: "p"}

// listWorld is a poll with a list of public entries over a store, and all leaves that it ever had.
type listWorld struct {
	t      *testing.T
	store  *storetest.Memory
	polls  *Service
	leaves [][]byte
	tree   verifiable.TreeID
	nonces int
}

func newListWorld(t *testing.T) *listWorld {
	w := &listWorld{t: t, store: storetest.NewMemory()}
	w.restart()
	t.Cleanup(func() { _ = w.polls.Close(context.WithoutCancel(t.Context())) })
	return w
}

func (w *listWorld) restart() {
	w.t.Helper()
	if w.polls != nil {
		w.must(w.polls.Close(w.t.Context()))
	}
	w.polls = NewService(w.store, stream.SystemClock(), stream.Options{SnapshotTail: 1 << 10})
	w.polls.ListVotes(func(Poll) {})
}

func (w *listWorld) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *listWorld) configure(c Config) error {
	c.Verifiable, c.Prompt = true, "Lunch?"
	c.DistinctOptionsPerUser, c.TotalVotesPerUser, c.VotesPerOption = max(1, c.DistinctOptionsPerUser), max(1, c.TotalVotesPerUser), max(1, c.VotesPerOption)
	_, _, err := w.polls.Change(w.t.Context(), listedPoll, Change{Config: c})
	return err
}

func (w *listWorld) vote(id string, value int64) (*Listed, error) {
	w.nonces++
	nonce := verifiable.NonceHash{byte(w.nonces), byte(w.nonces >> 8)}
	tally, err := w.polls.Cast(w.t.Context(), listedPoll, Submission{Voter: Voter{OpaqueID: id}, Value: value, Count: 1, Nonce: &nonce}, false)
	return tally.Listed, err
}

// check reads all leaves from the log and compares them with the head, with those of the last check,
// and with a recount by the checker.
func (w *listWorld) check() (*List, *verifiable.Fold) {
	w.t.Helper()
	l, err := w.polls.ReadResult(w.t.Context(), listedPoll)
	w.must(err)
	if l.Tree != w.tree {
		w.leaves, w.tree = nil, l.Tree
	}
	var leaves [][]byte
	w.must(w.polls.Leaves(w.t.Context(), l, 0, l.Entries.N, func(index int64, data []byte) {
		if index != int64(len(leaves)) {
			w.t.Fatalf("leaf %d comes at %d", index, len(leaves))
		}
		leaves = append(leaves, append([]byte{}, data...))
	}))
	fold, tree := verifiable.NewFold(), verifiable.Frontier{}
	for i, leaf := range leaves {
		if i < len(w.leaves) && string(leaf) != string(w.leaves[i]) {
			w.t.Fatalf("leaf %d was %x and is %x", i, w.leaves[i], leaf)
		}
		fold.Apply(leaf)
		tree.Append(leaf)
	}
	w.leaves = leaves
	if got := tree.Tree(); got != l.Entries {
		w.t.Fatalf("the leaves give %v, the head is %v", got, l.Entries)
	}
	if len(fold.Findings) > 0 {
		w.t.Fatalf("findings: %v", fold.Findings)
	}
	root, sums, err := verifiable.BallotTree(fold.Ballots()).Root()
	w.must(err)
	if l.Sums != nil && *l.Sums != sums {
		w.t.Fatalf("the sums are %v, counted %v", *l.Sums, sums)
	}
	if l.Ballots != nil && *l.Ballots != (tlog.Tree{N: int64(len(fold.Ballots())), Hash: root}) {
		w.t.Fatalf("the ballots are %v, counted %v %v", *l.Ballots, len(fold.Ballots()), root)
	}
	if fold.Erasures != l.Erasures || fold.IsHidden() != l.Hidden {
		w.t.Fatalf("%d erasures, hidden %v; counted %d, %v", l.Erasures, l.Hidden, fold.Erasures, fold.IsHidden())
	}
	return l, fold
}

// step does something at random that may happen to a poll.
func (w *listWorld) step(r *rand.Rand, visibility *Visibility) {
	w.t.Helper()
	ctx, id := w.t.Context(), fmt.Sprint("v", r.IntN(40))
	switch n := r.IntN(100); {
	case n < 70:
		_, err := w.vote(id, int64(r.IntN(6)-2))
		w.refusedOnly(err, "poll is closed", "unacceptable vote")
	case n < 78:
		votes := []Submission{{Voter: Voter{OpaqueID: id}, Count: 1}, {Voter: Voter{OpaqueID: id}, Value: 3, Count: 1, ByStaff: true}, {Voter: Voter{OpaqueID: "new" + id}, Value: 3, Count: 1}}
		_, err := w.polls.VoteAll(ctx, listedPoll, votes, false, nil)
		w.refusedOnly(err)
	case n < 85:
		w.refusedOnly(w.polls.Modify(ctx, listedPoll, id, int64(r.IntN(5)-2)), "poll is closed")
	case n < 88:
		_, err := w.polls.Erase(ctx, listedPoll.Stream(), rewrite.Viewer{IDs: []string{id}})
		w.must(err)
	case n < 92:
		w.restart()
	case n < 97:
		c := Config{ResultsVisibility: *visibility, ShowCount: true, TotalVotesPerUser: int64(1 + r.IntN(2)*2), DistinctOptionsPerUser: 3, VotesPerOption: 3}
		if r.IntN(3) == 0 {
			c.EndsAt = time.Now().Unix() - 1
		}
		w.must(w.configure(c))
		w.must(w.polls.CloseList(ctx, listedPoll))
	default:
		*visibility = []Visibility{"", VisibleAfterClose, VisibleAfterVote}[r.IntN(3)]
		switch r.IntN(4) {
		case 0:
			w.must(w.polls.Reset(ctx, listedPoll))
			w.must(w.configure(Config{ResultsVisibility: *visibility, ShowCount: true}))
		case 1:
			w.must(w.polls.ClearVotes(ctx, listedPoll, Change{Patch: []byte(`{"showCount":true,"resultsVisibility":"always"}`)}))
			*visibility = ""
		}
	}
}

func (w *listWorld) refusedOnly(err error, reasons ...string) {
	w.t.Helper()
	if err == nil {
		return
	}
	for _, reason := range reasons {
		if refused, ok := errors.AsType[*fault.Error](err); ok && refused.Reason == reason {
			return
		}
	}
	w.t.Fatal(err)
}

// Whatever happens to a poll, the leaves that its log gives are those of its head and do not change,
// and a recount finds nothing and gives the same sums.
func TestListIsRecounted(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r, visibility := rand.New(rand.NewPCG(seed, 1)), Visibility("")
			w := newListWorld(t)
			w.must(w.configure(Config{}))
			for range 150 {
				w.step(r, &visibility)
				if r.IntN(10) == 0 {
					w.check()
				}
			}
			w.check()
		})
	}
}

// Leaves are read from any place, in any length.
func TestLeavesFromAnywhere(t *testing.T) {
	w := newListWorld(t)
	_, err := w.vote("before", 1)
	w.must(err)
	w.must(w.polls.Reset(t.Context(), listedPoll))
	w.must(w.configure(Config{}))
	for i := range 300 {
		_, err := w.vote(fmt.Sprint("v", i%200), 1)
		w.must(err)
	}
	l, _ := w.check()
	for from := int64(0); from < l.Entries.N; from += 7 {
		until, want := min(from+5, l.Entries.N), from
		w.must(w.polls.Leaves(t.Context(), l, from, until, func(index int64, data []byte) {
			if index != want || string(data) != string(w.leaves[index]) {
				t.Fatalf("leaf %d, want %d", index, want)
			}
			want++
		}))
		if want != until {
			t.Fatalf("%d leaves from %d", want-from, from)
		}
	}
	if err := w.polls.Leaves(t.Context(), l, l.Entries.N, l.Entries.N+1, func(int64, []byte) {}); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a leaf that is not there: %v", err)
	}
	hashes, err := w.polls.ListTile(t.Context(), l, 1, 0, 1)
	w.must(err)
	var tree verifiable.Frontier
	for _, leaf := range w.leaves[:256] {
		tree.Append(leaf)
	}
	if len(hashes) != 1 || hashes[0] != tree.Tree().Hash {
		t.Error("the tile of level 1 is not that of the leaves")
	}
}

// A voter's number is the index of its first entry, and a repeated vote goes on with it.
func TestListedPlaces(t *testing.T) {
	w := newListWorld(t)
	w.must(w.configure(Config{}))
	first, err := w.vote("a", 1)
	w.must(err)
	w.must(w.polls.Modify(t.Context(), listedPoll, "b", 2))
	other, err := w.vote("b", 1)
	w.must(err)
	again, err := w.vote("a", 2)
	w.must(err)
	if first.Index != 2 || first.Voter != 2 || other.Index != 4 || other.Voter != 3 || again.Index != 5 || again.Voter != 2 {
		t.Errorf("places %+v, %+v, %+v", *first, *other, *again)
	}
	w.restart()
	l, err := w.polls.ReadList(t.Context(), listedPoll, Voter{OpaqueID: "a"})
	w.must(err)
	if *l.Listed != *again {
		t.Errorf("the latest vote is at %+v, want %+v", *l.Listed, *again)
	}
}

// A list begins only without votes, shows every result in the end, and takes votes for the
// configuration that the voter saw.
func TestListRules(t *testing.T) {
	w := newListWorld(t)
	refused := func(err error, kind fault.Kind, reason string) {
		t.Helper()
		if failed, ok := errors.AsType[*fault.Error](err); !ok || failed.Kind != kind || failed.Reason != reason {
			t.Errorf("refused with %v, want %q", err, reason)
		}
	}
	_, err := w.vote("a", 1)
	w.must(err)
	refused(w.configure(Config{}), fault.Conflict, errListFixed.Error())
	w.must(w.polls.Reset(t.Context(), listedPoll))
	refused(w.configure(Config{ResultsVisibility: VisibleToStaff, ShowCount: true}), fault.Invalid, errListStaff.Error())
	refused(w.configure(Config{ResultsVisibility: VisibleAfterVote}), fault.Invalid, errListCount.Error())
	w.must(w.configure(Config{}))
	w.must(w.polls.Configure(t.Context(), listedPoll, DefaultConfig())) // ends it
	if l, _ := w.check(); l.Status != verifiable.TreeReset {
		t.Errorf("status %d after the list was switched off", l.Status)
	}
	w.must(w.configure(Config{}))
	_, err = w.vote("a", 1)
	w.must(err)
	refused(w.polls.Configure(t.Context(), listedPoll, DefaultConfig()), fault.Conflict, errListFixed.Error())
	refused(w.configure(Config{UserIDVoting: true}), fault.Conflict, errListFixed.Error())
	_, err = w.polls.Cast(t.Context(), listedPoll, Submission{Voter: Voter{OpaqueID: "b"}, Value: 1, Count: 1, Version: 1}, false)
	refused(err, fault.Mismatch, "configuration changed")
	w.must(w.configure(Config{Schedule: contract.Schedule{EndsAt: time.Now().Unix() - 1}}))
	w.must(w.polls.CloseList(t.Context(), listedPoll))
	if l, fold := w.check(); !l.Final || !fold.Closed || l.Ballots == nil {
		t.Errorf("the closed list is %+v", l.TreeHead)
	}
	refused(w.polls.Modify(t.Context(), listedPoll, "a", 1), fault.Invalid, "poll is closed")
}

// While results are hidden, the leaves of polls with different votes have the same sizes and say
// nothing, and their heads have no sums.
func TestHiddenLeavesSayNothing(t *testing.T) {
	w := newListWorld(t)
	w.must(w.configure(Config{ResultsVisibility: VisibleAfterClose, ShowCount: true}))
	_, err := w.vote("a", 1)
	w.must(err)
	l, fold := w.check()
	if l.Sums != nil || !fold.IsHidden() || !l.IsHidden(0, l.Entries.N) || l.IsHidden(0, 3) {
		t.Errorf("the hidden list is %+v", l.TreeHead)
	}
	if leaf := w.leaves[3]; len(leaf) != 1+16+40 || leaf[0] != 2 {
		t.Errorf("a hidden leaf is %x", leaf)
	}
	w.must(w.configure(Config{ResultsVisibility: VisibleAfterClose, ShowCount: true, Schedule: contract.Schedule{EndsAt: time.Now().Unix() - 1}}))
	w.must(w.polls.CloseList(t.Context(), listedPoll))
	if l, fold = w.check(); !l.Final || l.Sums == nil || fold.IsHidden() || l.IsHidden(0, l.Entries.N) {
		t.Errorf("the revealed list is %+v", l.TreeHead)
	}
}

// Retention keeps the entries of a list until its result was final for a month.
func TestListsAreNotTruncated(t *testing.T) {
	w := newListWorld(t)
	w.must(w.configure(Config{}))
	_, err := w.vote("a", 1)
	w.must(err)
	if done, err := w.polls.Truncate(t.Context(), listedPoll.Stream(), time.Now().Add(time.Hour)); err != nil || done.Chunks > 0 {
		t.Errorf("%d chunks of a list were truncated, %v", done.Chunks, err)
	}
	w.check()
	w.must(w.polls.Reset(t.Context(), listedPoll))
	if done, err := w.polls.Truncate(t.Context(), listedPoll.Stream(), time.Now().Add(time.Hour)); err != nil || done.Chunks == 0 {
		t.Errorf("%d chunks of a list that has ended were truncated, %v", done.Chunks, err)
	}
	l, err := w.polls.ReadListOf(t.Context(), listedPoll, w.tree)
	w.must(err)
	err = w.polls.Leaves(t.Context(), l, 0, 1, func(int64, []byte) {})
	if pruned, ok := errors.AsType[*Pruned](err); !ok || pruned.Minimum < 1 || pruned.Minimum > l.Entries.N || fault.KindOf(err) != fault.NotFound {
		t.Errorf("entries that were truncated: %v", err)
	}
}

// Votes that are submitted together are reported for signing, as single ones are.
func TestVotesTogetherAreReported(t *testing.T) {
	w := newListWorld(t)
	w.must(w.configure(Config{}))
	var moved []Poll
	w.polls.ListVotes(func(p Poll) { moved = append(moved, p) })
	verdicts, err := w.polls.VoteAll(t.Context(), listedPoll, []Submission{{Voter: Voter{OpaqueID: "U1"}, Count: 1}, {Voter: Voter{OpaqueID: "U2"}, Count: 1}}, false, nil)
	w.must(err)
	if len(moved) != 1 || moved[0] != listedPoll || verdicts.Listed[1].Index != verdicts.Listed[0].Index+1 {
		t.Errorf("reported %v, listed at %v", moved, verdicts.Listed)
	}
}

// rulesOf makes a configuration with rules of a list.
func rulesOf(rules contract.PollSettings) Config { return Config{PollSettings: rules} }

// What becomes public of a list is fixed by the first vote: no change publishes afterwards what voters were
// promised to keep secret, or keeps secret what they were promised to see.
func TestRulesOfAListAreFixed(t *testing.T) {
	w := newListWorld(t)
	if err := w.configure(Config{ResultsVisibility: VisibleAfterClose, ShowCount: true, PollSettings: contract.PollSettings{Entries: "live"}}); !errors.Is(err, errListLive) {
		t.Errorf("live entries of hidden results: %v", err)
	}
	promised := contract.PollSettings{Entries: "live", MinVoters: 60, KeepDays: 7, NoReceipts: true}
	w.must(w.configure(Config{}))
	w.must(w.configure(rulesOf(promised))) // there are no votes
	_, err := w.polls.Cast(t.Context(), listedPoll, Submission{Voter: Voter{OpaqueID: "a"}, Value: 1, Count: 1}, false)
	w.must(err)
	for name, change := range map[string]func(*contract.PollSettings){
		"entries":   func(s *contract.PollSettings) { s.Entries = "" },
		"minVoters": func(s *contract.PollSettings) { s.MinVoters = 59 },
		"keepDays":  func(s *contract.PollSettings) { s.KeepDays = 8 },
		"receipts":  func(s *contract.PollSettings) { s.NoReceipts = false },
	} {
		other := promised
		change(&other)
		if err := w.configure(rulesOf(other)); !errors.Is(err, errRulesFixed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := w.configure(Config{ResultsVisibility: VisibleAfterClose, ShowCount: true, PollSettings: promised}); !errors.Is(err, errListLive) {
		t.Errorf("hidden results of a list that is live: %v", err)
	}
	w.must(w.configure(Config{PollSettings: promised, Schedule: contract.Schedule{EndsAt: time.Now().Unix() + 100}})) // the others may
	w.restart()
	l, err := w.polls.ReadList(t.Context(), listedPoll, Voter{})
	w.must(err)
	if want := (ListRules{Entries: "live", MinVoters: 60, Keep: 7 * 24 * time.Hour, NoReceipts: true}); l.Rules() != want {
		t.Errorf("the rules are %+v", l.Rules())
	}
	w.must(w.polls.Reset(t.Context(), listedPoll))
	w.must(w.configure(Config{}))
	old, err := w.polls.ReadListOf(t.Context(), listedPoll, l.Tree)
	w.must(err)
	if def := (&Config{}).listRules(); old.Rules() != def || !old.IsSmall() {
		t.Errorf("the list that has ended has the rules %+v", old.Rules())
	}
	w.must(w.configure(Config{PollSettings: contract.PollSettings{MinVoters: 50, KeepDays: 30, Entries: "close"}}))
	_, err = w.vote("a", 1)
	w.must(err)
	w.must(w.configure(Config{})) // the same rules
}

// A poll without receipts takes no secret of a voter, and tells no voter the place of the vote.
func TestNoReceipts(t *testing.T) {
	w := newListWorld(t)
	moved := 0
	w.polls.ListVotes(func(Poll) { moved++ })
	w.must(w.configure(rulesOf(contract.PollSettings{NoReceipts: true})))
	if _, err := w.vote("a", 1); !errors.Is(err, errNoNonce) {
		t.Errorf("a vote with a secret: %v", err)
	}
	moved = 0
	vote := Submission{Voter: Voter{OpaqueID: "a"}, Value: 1, Count: 1}
	tally, err := w.polls.Cast(t.Context(), listedPoll, vote, false)
	w.must(err)
	verdicts, err := w.polls.VoteAll(t.Context(), listedPoll, []Submission{vote}, false, nil)
	w.must(err)
	l, err := w.polls.ReadList(t.Context(), listedPoll, vote.Voter)
	w.must(err)
	if tally.Listed != nil || verdicts.Listed[0] != nil || l.Listed != nil {
		t.Errorf("voters learn the places of their votes: %v, %v, %v", tally.Listed, verdicts.Listed, l.Listed)
	}
	if l.Entries.N != 4 || moved != 2 {
		t.Errorf("%d entries, reported %d times", l.Entries.N, moved)
	}
	w.check()
}

// A list whose voter was erased while it was small stays secret, however many vote later.
func TestErasedWhileSmall(t *testing.T) {
	for name, test := range map[string]struct {
		before int
		small  bool
	}{"one too few": {2, true}, "enough": {3, false}} {
		t.Run(name, func(t *testing.T) {
			w := newListWorld(t)
			w.must(w.configure(rulesOf(contract.PollSettings{MinVoters: 3})))
			vote := func(n int) {
				for i := range n {
					_, err := w.vote(fmt.Sprint(n, "v", i), 1)
					w.must(err)
				}
			}
			vote(test.before)
			_, err := w.polls.Erase(t.Context(), listedPoll.Stream(), rewrite.Viewer{IDs: []string{fmt.Sprint(test.before, "v0")}})
			w.must(err)
			vote(20)
			for range 2 {
				if l, _ := w.check(); l.IsSmall() != test.small || l.Erasures != 1 {
					t.Errorf("small is %v, with %d voters and %d erasures", l.IsSmall(), l.Voters, l.Erasures)
				}
				for range 1100 { // so that there is a snapshot
					_, err := w.vote("20v1", 1)
					w.must(err)
				}
				w.restart()
			}
		})
	}
}

// Entries stay for the days that the poll says.
func TestKeepDays(t *testing.T) {
	for days, keeps := range map[int64]bool{1: false, 0: true} {
		w := newListWorld(t)
		ahead := &aheadClock{Clock: stream.SystemClock()}
		w.must(w.polls.Close(t.Context()))
		w.polls = NewService(w.store, ahead, stream.Options{})
		w.polls.ListVotes(func(Poll) {})
		w.must(w.configure(rulesOf(contract.PollSettings{KeepDays: days})))
		_, err := w.vote("a", 1)
		w.must(err)
		w.must(w.configure(Config{PollSettings: contract.PollSettings{KeepDays: days}, Schedule: contract.Schedule{EndsAt: time.Now().Unix() - 1}}))
		w.must(w.polls.CloseList(t.Context(), listedPoll))
		ahead.ahead = 25 * time.Hour
		kept, err := w.polls.keepsList(t.Context(), listedPoll.Stream())
		w.must(err)
		if kept != keeps {
			t.Errorf("with %d days, the entries are kept after a day: %v", days, kept)
		}
	}
}

// aheadClock runs ahead.
type aheadClock struct {
	stream.Clock
	ahead time.Duration
}

func (c *aheadClock) Now() time.Time { return c.Clock.Now().Add(c.ahead) }

// Beside an earlier release, which would leave the settings out, a list and its rules are refused.
func TestListsBesideAnEarlierRelease(t *testing.T) {
	s := NewService(storetest.NewMemory(), stream.SystemClock(), stream.Options{PeersRead: func(l stream.Level) bool { return l < stream.LevelVerifiable }})
	t.Cleanup(func() { _ = s.Close(context.WithoutCancel(t.Context())) })
	s.ListVotes(func(Poll) {})
	whole := DefaultConfig()
	whole.Verifiable = true
	changes := []Change{{Config: whole}}
	for _, text := range []string{`{"verifiable":true}`, `{"entries":"never"}`, `{"minVoters":1}`, `{"keepDays":1}`, `{"noReceipts":true}`} {
		changes = append(changes, Change{Patch: []byte(text)})
	}
	for _, change := range changes {
		if _, _, err := s.Change(t.Context(), listedPoll, change); !errors.Is(err, errListSeed) {
			t.Errorf("%+v %s: %v", change.Config, change.Patch, err)
		}
	}
}
