package verifiable_test

import (
	"crypto/ed25519"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/acclaim-dev/acclaim/api/verifiable"
)

func (p *publisher) verify(receipt []byte) *verifiable.ReceiptReport {
	p.t.Helper()
	report, err := verifiable.VerifyReceipt(p.t.Context(), receipt, verifiable.ReceiptCheck{Keys: p.keys(), Source: source(p)})
	must(p.t, err)
	return report
}

func TestHiddenPoll(t *testing.T) {
	key, other := verifiable.SaltKey{1}, verifiable.SaltKey{2}
	hidden := func(t *testing.T) *story {
		s := &story{publisher: newPublisher(t)}
		c := lunch()
		c.ResultsVisibility, c.ShowCount = "afterClose", true
		s.poll = s.begin("secret", c)
		s.poll.hide(key)
		s.alice = s.poll.vote("alice", 1)
		s.poll.vote("bob", 0)
		s.poll.sign()
		s.receipt = s.poll.receipt("alice", s.alice)
		return s
	}
	t.Run("is counted after its reveal", func(t *testing.T) {
		s := hidden(t)
		report := s.verify(s.receipt)
		if report.Recorded.Answer != verifiable.Yes || report.Counted.Answer != verifiable.Unknown {
			t.Errorf("before the reveal: %+v", report)
		}
		s.poll.close()
		s.poll.reveal(key)
		s.poll.sign()
		if report := s.verify(s.receipt); report.Counted.Answer != verifiable.Yes {
			t.Errorf("after the reveal: %+v", report)
		}
		expect(t, s.audit(s.poll).Findings, "")
	})
	t.Run("names a key that does not fit", func(t *testing.T) {
		s := hidden(t)
		s.poll.close()
		s.poll.reveal(other)
		s.poll.sign()
		expect(t, s.audit(s.poll).Findings, verifiable.FoundWrongSaltKey)
		expect(t, s.verify(s.receipt).Findings, verifiable.FoundWrongSaltKey)
	})
	t.Run("names salts of another key", func(t *testing.T) {
		s := hidden(t)
		s.poll.hidden = &other
		s.poll.vote("carol", 2)
		s.poll.close()
		s.poll.reveal(key)
		s.poll.sign()
		expect(t, s.audit(s.poll).Findings, verifiable.FoundWrongSaltKey)
	})
	t.Run("reopens under a new key", func(t *testing.T) {
		s := hidden(t)
		s.poll.close()
		s.poll.reveal(key)
		s.poll.sign()
		s.poll.open()
		s.poll.hide(other)
		s.poll.vote("dave", 2)
		s.poll.close()
		s.poll.reveal(other)
		s.poll.sign()
		expect(t, s.audit(s.poll).Findings, "")
	})
}

func TestReceiptVerdicts(t *testing.T) {
	t.Run("one receipt for two voters", func(t *testing.T) {
		s := tell(t)
		report := s.verify(s.poll.receipt("bob", s.alice))
		expect(t, report.Findings, verifiable.FoundOtherVote)
		if report.Recorded.Answer != verifiable.No {
			t.Errorf("recorded: %+v", report.Recorded)
		}
	})
	t.Run("another value than the viewer chose", func(t *testing.T) {
		s := tell(t) // Alice chose 2, and the server records 1
		if report := s.verify(s.receipt); report.Question != "What is for lunch?" || report.Vote != `"Salad" (1)` {
			t.Errorf("the report shows %q, %q", report.Question, report.Vote)
		}
	})
	t.Run("without the site", func(t *testing.T) {
		s := tell(t)
		report, err := verifiable.VerifyReceipt(t.Context(), s.receipt, verifiable.ReceiptCheck{Keys: s.keys()})
		must(t, err)
		if report.Recorded.Answer != verifiable.Yes || report.Counted.Answer != verifiable.Unknown {
			t.Errorf("%+v", report)
		}
	})
	t.Run("without entries, by the ballot's proof", func(t *testing.T) {
		s := tell(t)
		s.poll.weigh("alice", 2)
		s.poll.private = true
		s.end()
		report := s.verify(s.receipt)
		if want := "Your vote is in the final result, once. Staff set its weight to 3."; report.Counted != (verifiable.Verdict{Answer: verifiable.Yes, Text: want}) {
			t.Errorf("counted: %+v", report.Counted)
		}
	})
	t.Run("without entries and proof", func(t *testing.T) {
		s := tell(t)
		s.poll.private = true
		s.end()
		files := s.files()
		delete(files, verifiable.BallotPath(s.poll.id, s.poll.newest.Entries.N, s.alice))
		report, err := verifiable.VerifyReceipt(t.Context(), s.receipt, verifiable.ReceiptCheck{Keys: s.keys(), Source: verifiable.Directory{FS: files}})
		if !errors.Is(err, fs.ErrNotExist) || report.Counted.Answer != verifiable.Unknown {
			t.Errorf("%v, %+v", err, report.Counted)
		}
	})
	t.Run("after a reset", func(t *testing.T) {
		s := tell(t)
		s.poll.reset()
		s.poll.sign()
		if report := s.verify(s.receipt); report.Counted.Answer != verifiable.No || len(report.Findings) > 0 {
			t.Errorf("at the reset: %+v", report)
		}
		s.poll.vote("dave", 1)
		s.end()
		if report := s.verify(s.receipt); report.Counted.Answer != verifiable.No || len(report.Findings) > 0 {
			t.Errorf("after the next close: %+v", report)
		}
	})
	t.Run("begun again", func(t *testing.T) {
		s := tell(t)
		s.poll.status = verifiable.TreeEnded
		s.poll.sign()
		s.begin("lunch", lunch()).sign()
		if report := s.verify(s.receipt); report.Counted.Answer != verifiable.No || len(report.Findings) > 0 {
			t.Errorf("%+v", report)
		}
	})
}

// The third verdict takes a quorum of witnesses and a monitor.
func TestSameForEverybody(t *testing.T) {
	s := tell(t)
	s.end()
	files := s.files()
	seed := [32]byte{7}
	witness := ed25519.NewKeyFromSeed(seed[:])
	checkpoint, err := s.signer.Checkpoint(origin, treeOf(s.log))
	must(t, err)
	files["log/witnessed"] = &fstest.MapFile{Data: cosign(t, checkpoint, "witness.example", witness)}
	policy, err := verifiable.ParsePolicy("# one of two\nwitness a " + witnessKey("witness.example", witness) + "\n" +
		"witness b " + witnessKey("other.example", ed25519.NewKeyFromSeed(make([]byte, 32))) + " https://other.example\n" +
		"group g any a b\nquorum g\n")
	must(t, err)
	check := verifiable.ReceiptCheck{Keys: s.keys(), Source: verifiable.Directory{FS: files}, Policy: policy, Monitor: s.monitor}
	same := func() verifiable.Verdict {
		report, err := verifiable.VerifyReceipt(t.Context(), s.receipt, check)
		must(t, err)
		return report.Same
	}
	if got := same(); got.Answer != verifiable.Unknown {
		t.Errorf("the monitor has not seen the result: %+v", got)
	}
	s.publisher.monitor(s.monitor)
	if got := same(); got.Answer != verifiable.Yes {
		t.Errorf("with witness and monitor: %+v", got)
	}
	all, err := verifiable.ParsePolicy(strings.NewReplacer("any", "all").Replace("witness a " + witnessKey("witness.example", witness) + "\n" +
		"witness b " + witnessKey("other.example", ed25519.NewKeyFromSeed(make([]byte, 32))) + "\ngroup g any a b\nquorum g\n"))
	must(t, err)
	check.Policy = all
	if got := same(); got.Answer != verifiable.Unknown {
		t.Errorf("with one witness of two: %+v", got)
	}
	check.Policy = policy
	other := s.begin("lunch", lunch())
	other.sign()
	expect(t, s.publisher.monitor(s.monitor), verifiable.FoundSecondTree)
	check.Source = verifiable.Directory{FS: files} // what the other audience sees
	check.Monitor.Log = verifiable.Frontier{}
	if got := same(); got.Answer == verifiable.Yes {
		t.Errorf("with a monitor that found another tree: %+v", got)
	}
}

// An address may encode more characters than it has to; the result of another poll is a finding.
func TestResultAddress(t *testing.T) {
	s := tell(t)
	s.end()
	files := s.files()
	result := files[s.poll.name.ResultPath()]
	files["public/sample/1/l%75nch/result.json"], files["public/sample/1/dinner/result.json"] = result, result
	for path, want := range map[string]verifiable.FindingKind{
		"public/sample/1/l%75nch/result.json": "", "public/sample/1/dinner/result.json": verifiable.FoundOtherPoll,
	} {
		report, err := verifiable.Audit(t.Context(), verifiable.Directory{FS: files}, s.keys(), path)
		must(t, err)
		expect(t, report.Findings, want)
	}
	name := verifiable.PollName{Client: "sample", Poll: ".."}
	if got := name.ResultPath(); got != "public/sample/-/../result.json" {
		t.Errorf("the result is at %s", got)
	}
}
