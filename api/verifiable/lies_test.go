package verifiable_test

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"strings"
	"testing"

	"github.com/acclaim-dev/acclaim/api/verifiable"
)

// found has the kind that each of the three checks finds of a lie.
type found struct{ receipt, audit, monitor verifiable.FindingKind }

// lie is something that a server does, and what its viewers find.
type lie struct {
	do   func(s *story)
	want found
}

// lies has those that show in one copy of the site.
func lies() map[string]lie {
	return map[string]lie{
		"nothing": {func(s *story) { s.end() }, found{}},
		"drops a vote": {func(s *story) {
			s.poll.remove(s.alice)
			s.end()
		}, found{verifiable.FoundTreeForked, verifiable.FoundUnknownVoter, verifiable.FoundTreeForked}},
		"counts a vote less": {func(s *story) {
			s.end()
			l := s.poll.newest
			sums := *l.Sums
			sums.Count, sums.Slots[1] = verifiable.NewInt128(2), verifiable.Int128{}
			l.Sums, l.Prev = &sums, s.poll.prev
			s.log = s.log[:len(s.log)-1]
			l.Prev--
			s.poll.signLeaf(l)
		}, found{verifiable.FoundBallotProof, verifiable.FoundSums, ""}},
		"doubles a vote": {func(s *story) {
			e := s.poll.entry("alice", 1)
			e.Voter = int64(len(s.poll.leaves))
			s.poll.add(e)
			s.end()
		}, found{verifiable.FoundNonceTwice, verifiable.FoundNonceTwice, ""}},
		"changes a value": {func(s *story) {
			e := s.poll.entry("alice", 2)
			data, err := e.Encode()
			must(s.t, err)
			s.poll.leaves[s.alice] = data
			s.end()
		}, found{verifiable.FoundTreeForked, "", verifiable.FoundTreeForked}},
		"gives two voters one number": {func(s *story) {
			e := s.poll.entry("dave", 0)
			e.Voter = s.alice
			s.poll.add(e)
			s.end()
		}, found{verifiable.FoundVoteReplaced, "", ""}},
		"replaces a vote in the viewer's name, and shows no entries": {func(s *story) {
			e := s.poll.entry("alice", 0)
			e.HasNonce, e.Nonce, e.ByStaff = false, verifiable.NonceHash{}, true
			s.poll.add(e)
			s.poll.private = true
			s.end()
		}, found{verifiable.FoundBallotDiffers, "", ""}},
		"adds a vote after the close": {func(s *story) {
			s.end()
			s.poll.vote("dave", 2)
			s.poll.sign()
		}, found{verifiable.FoundVoteAfterClose, verifiable.FoundVoteAfterClose, ""}},
		"counts a vote after the close": {func(s *story) {
			s.end()
			s.poll.vote("dave", 2)
			l := s.poll.newest
			sums := *l.Sums
			sums.Count, sums.Slots[2] = verifiable.NewInt128(4), verifiable.NewInt128(2)
			sums.Sum, sums.Squares = verifiable.NewInt128(5), verifiable.NewInt128(9)
			l.Sums, l.Entries, l.Prev, l.Ballots = &sums, treeOf(s.poll.leaves), s.poll.prev, nil
			s.poll.signLeaf(l)
		}, found{verifiable.FoundVoteAfterClose, verifiable.FoundVoteAfterClose, verifiable.FoundFinalChanged}},
		"changes a weight after the close": {func(s *story) {
			s.end()
			s.poll.weigh("alice", 9)
			s.poll.sign()
		}, found{verifiable.FoundWeightAfter, verifiable.FoundWeightAfter, ""}},
		"changes the question under votes": {func(s *story) {
			c := lunch()
			c.Prompt = "What shall we never eat again?"
			s.poll.configure(c)
			s.end()
		}, found{verifiable.FoundQuestionChanged, verifiable.FoundQuestionChanged, ""}},
		"changes the rules of the list under votes": {func(s *story) {
			c := lunch()
			c.Version, c.MinVoters = 2, 51
			s.poll.configure(c)
			s.end()
		}, found{verifiable.FoundRulesChanged, verifiable.FoundRulesChanged, ""}},
		"writes the default rules of the list": {func(s *story) {
			c := lunch()
			c.Version, c.MinVoters, c.KeepDays = 2, 50, 30
			s.poll.configure(c)
			s.end()
		}, found{}},
		"keeps a list secret that it promised to publish": {func(s *story) {
			for i := range 50 {
				s.poll.vote(fmt.Sprint("voter ", i), 1)
			}
			s.end()
			s.poll.private, s.poll.shown = true, "never"
		}, found{verifiable.FoundWithheld, "", ""}},
		"keeps the list of few voters secret, as it said": {func(s *story) {
			s.end()
			s.poll.private, s.poll.shown = true, "never"
		}, found{}},
		"chooses an option that does not lead in a tie": {func(s *story) {
			s.poll.vote("dave", 1)
			s.end()
			c := lunch()
			c.TieBreak, c.Version = new(int64), 2
			s.poll.configure(c)
			s.poll.sign()
		}, found{verifiable.FoundTieBreak, verifiable.FoundTieBreak, ""}},
		"shows two audiences two trees": {func(s *story) {
			s.end()
			other := s.begin("lunch", lunch())
			other.vote("mallory", 0)
			other.close()
			other.sign()
		}, found{verifiable.FoundSecondTree, "", verifiable.FoundSecondTree}},
		"withholds a leaf": {func(s *story) {
			s.poll.now = &verifiable.NowShown{Size: int64(len(s.poll.leaves)), At: s.at + 11_000}
		}, found{verifiable.FoundLeafLate, verifiable.FoundLeafLate, ""}},
		"shows another result than it signed": {func(s *story) {
			s.end()
			s.poll.now = &verifiable.NowShown{Votes: verifiable.ShownVotes{Count: "3", Specific: nil, Sum: "4"}}
		}, found{verifiable.FoundShownResult, verifiable.FoundShownResult, ""}},
		"rewinds the poll to an older copy": {func(s *story) {
			s.poll.leaves = s.poll.leaves[:3]
			s.poll.sign()
		}, found{verifiable.FoundTreeRewound, "", verifiable.FoundTreeRewound}},
		"takes votes between end and close": {func(s *story) {
			c := lunch()
			c.EndsAt = s.at / 1000
			s.poll.configure(c)
			s.at += 60_000
			s.poll.vote("dave", 2)
			s.poll.sign()
			s.poll.weigh("dave", 1)
			s.end()
		}, found{verifiable.FoundLateClose, verifiable.FoundLateClose, ""}},
		"closes late without a vote in between, which is none": {func(s *story) {
			c := lunch()
			c.EndsAt = s.at/1000 + 2
			s.poll.configure(c)
			s.poll.sign()
			s.at += 60_000
			s.end()
		}, found{}},
		"overflows a weight": {func(s *story) {
			for range 3 {
				s.poll.weigh("carol", 1<<62)
				s.poll.weigh("carol", 1<<62)
			}
			s.end()
		}, found{verifiable.FoundOverflow, verifiable.FoundOverflow, ""}},
	}
}

func TestLies(t *testing.T) {
	for name, c := range lies() {
		t.Run(name, func(t *testing.T) {
			s := tell(t)
			c.do(s)
			check := func(by string, got []verifiable.Finding, want verifiable.FindingKind) {
				for _, f := range got {
					t.Logf("%s: %s", by, f)
					if f.Kind.Sentence() == "" {
						t.Errorf("%s has no sentence", f.Kind)
					}
				}
				if len(got) > 0 && want == "" || want != "" && !strings.Contains(join(got), string(want)) {
					t.Errorf("%s found %v, want %q", by, kinds(got), want)
				}
			}
			report := s.verify(s.receipt)
			t.Logf("recorded: %s", report.Recorded.Text)
			t.Logf("counted: %s", report.Counted.Text)
			check("receipt", report.Findings, c.want.receipt)
			if c.want.receipt != "" && report.Counted.Answer == verifiable.Yes {
				t.Error("the vote is said to be counted")
			}
			if s.poll.private {
				s.poll.private = false // an auditor that is given the entries
			}
			check("audit", s.audit(s.poll).Findings, c.want.audit)
			check("monitor", s.publisher.monitor(s.monitor), c.want.monitor)
		})
	}
}

func join(list []verifiable.Finding) string {
	var b strings.Builder
	for _, f := range list {
		b.WriteString(string(f.Kind) + " ")
	}
	return b.String()
}

// The log itself lies: nothing is wrong with any one copy of it.
func TestLyingLog(t *testing.T) {
	t.Run("cloned with its key", func(t *testing.T) {
		s := tell(t)
		clone := s.clone()
		s.poll.sign()
		s.receipt = s.poll.receipt("alice", s.alice)
		s.publisher.monitor(s.monitor)
		other := clone.polls[0]
		other.remove(int64(len(other.leaves)) - 1)
		other.vote("mallory", 0)
		other.sign()
		other.vote("trent", 0)
		other.sign()
		expect(t, clone.verify(s.receipt).Findings, verifiable.FoundLogForked)
		expect(t, clone.monitor(s.monitor), verifiable.FoundLogForked)
	})
	t.Run("rewound to an old copy", func(t *testing.T) {
		s := tell(t)
		old := s.clone()
		s.poll.sign()
		s.receipt = s.poll.receipt("alice", s.alice)
		s.publisher.monitor(s.monitor)
		expect(t, old.verify(s.receipt).Findings, verifiable.FoundLogRewound)
		expect(t, old.monitor(s.monitor), verifiable.FoundLogRewound)
	})
	t.Run("shows other records than it signed", func(t *testing.T) {
		s := tell(t)
		s.end()
		files := s.files()
		path := "log/tile/entries/000.p/3"
		files[path].Data[len(files[path].Data)-1] ^= 1
		must(t, s.monitor.Update(t.Context(), verifiable.Directory{FS: files}))
		expect(t, s.monitor.Findings, verifiable.FoundLogEntries)
	})
	t.Run("shows a viewer the end of a tree that it did not sign", func(t *testing.T) {
		s := tell(t)
		s.end()
		signed, err := s.poll.newest.Encode()
		must(t, err)
		ended := s.poll.newest
		ended.Status, ended.Final = verifiable.TreeEnded, false
		forged, err := ended.Encode()
		must(t, err)
		s.begin("lunch", lunch()).sign()
		files := s.files()
		bundle := files["log/tile/entries/000.p/4"]
		bundle.Data = bytes.Replace(bundle.Data, signed, forged, 1)
		report, err := verifiable.VerifyReceipt(t.Context(), s.receipt, verifiable.ReceiptCheck{Keys: s.keys(), Source: verifiable.Directory{FS: files}})
		must(t, err)
		expect(t, report.Findings, verifiable.FoundSecondTree)
	})
	t.Run("holds sums that overflow", func(t *testing.T) {
		s := tell(t)
		s.end()
		leaf := s.log[len(s.log)-1]
		sums := s.poll.newest.Sums.Append(nil)
		at := bytes.Index(leaf, sums)
		leaf[at] = 0x40 // the count is 2^126
		expect(t, s.publisher.monitor(s.monitor), verifiable.FoundLogLeaf)
	})
	t.Run("goes back in time", func(t *testing.T) {
		s := tell(t)
		s.at -= 3_600_000
		s.end()
		expect(t, s.publisher.monitor(s.monitor), verifiable.FoundLogLeaf)
	})
	t.Run("is signed by another key", func(t *testing.T) {
		s := tell(t)
		seed := [32]byte{1}
		other, err := verifiable.NewSigner(origin, ed25519.NewKeyFromSeed(seed[:]))
		must(t, err)
		s.signer, other = other, s.signer
		s.end()
		m := verifiable.NewMonitor(verifiable.Keys{other.Key()})
		expect(t, s.publisher.monitor(m), verifiable.FoundSignature)
	})
}
