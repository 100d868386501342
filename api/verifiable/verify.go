package verifiable

import (
	"context"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

// Answer is the answer to a question about a vote.
type Answer string

// The answers.
const (
	Yes     Answer = "yes"
	No      Answer = "no"
	Unknown Answer = "unknown"
)

// Verdict answers a question about a vote, with the reason in plain words.
type Verdict struct {
	Answer Answer `json:"answer"`
	Text   string `json:"text"`
}

// ReceiptReport has the verdicts about a receipt.
type ReceiptReport struct {
	Name     PollName `json:"name"`
	Question string   `json:"question"`
	Vote     string   `json:"vote"` // the option, and how many times
	Index    int64    `json:"index"`
	Voter    int64    `json:"voter"`
	At       int64    `json:"at"` // when the log had it, Unix milliseconds

	Recorded Verdict  `json:"recorded"`
	Counted  Verdict  `json:"counted"`
	Same     Verdict  `json:"same"` // the same for all
	Findings findings `json:"findings"`
}

// ReceiptCheck has what a check of a receipt may use beside the key. Without Source it finds only
// whether the vote is recorded.
type ReceiptCheck struct {
	Keys    Keys
	Source  Source
	Policy  *Policy  // of witnesses
	Monitor *Monitor // the state of a monitor that the viewer trusts
}

// VerifyReceipt checks a receipt in five steps. The error is about a text that is no receipt, and about
// files that the check needs and does not get; the report then has the verdicts so far.
func VerifyReceipt(ctx context.Context, text []byte, c ReceiptCheck) (*ReceiptReport, error) {
	r, err := ParseReceipt(text)
	if err != nil {
		return nil, err
	}
	v := &receiptState{ReceiptCheck: c, Receipt: r, report: &ReceiptReport{
		Name:     r.Name,
		Counted:  Verdict{Unknown, "Not checked."},
		Same:     Verdict{Unknown, "Not checked."},
		Findings: findings{},
	}}
	if !v.isRecorded() {
		return v.report, nil
	}
	if c.Source == nil {
		v.report.Counted.Text = "Not checked: this needs the address of the site."
		v.report.Same.Text = v.report.Counted.Text
		return v.report, nil
	}
	p, err := readPoll(ctx, c.Source, c.Keys, r.Name.ResultPath(), &v.report.Findings)
	if p != nil && err == nil {
		err = v.checkCounted(p)
	}
	if len(v.report.Findings) > 0 {
		sentence := v.report.Findings[0].Kind.Sentence()
		v.report.Counted, v.report.Same = Verdict{No, sentence}, Verdict{No, sentence}
		return v.report, err
	}
	if err == nil {
		err = v.checkSame(ctx, p)
	}
	return v.report, err
}

// receiptState is a check under way.
type receiptState struct {
	ReceiptCheck
	*Receipt
	report *ReceiptReport
	poll   LogLeaf
	log    tlog.Tree // of the receipt
	vote   Entry
	config Config
	// laterVotes counts the votes with the voter's number after this one; resetLater reports a reset.
	laterVotes int
	resetLater bool
}

func (v *receiptState) found(kind FindingKind, format string, args ...any) {
	v.report.Findings.add(kind, format, args...)
}

// isRecorded takes the steps 1 to 3.
func (v *receiptState) isRecorded() bool {
	v.checkProofs()
	if len(v.report.Findings) > 0 {
		v.report.Recorded = Verdict{No, v.report.Findings[0].Kind.Sentence()}
		return false
	}
	e := v.vote
	v.report.Question, v.report.Index, v.report.Voter, v.report.At = v.config.Prompt, v.Receipt.Vote.Index, e.Voter, v.poll.At
	v.report.Vote = v.config.option(e.Value)
	if e.Times > 1 {
		v.report.Vote += fmt.Sprintf(", %d times", e.Times)
	}
	switch {
	case v.Nonce == nil:
		v.report.Recorded = Verdict{Unknown, "This vote is recorded. The receipt lacks your secret: it does not show that the vote is yours."}
	case !e.HasNonce || HashNonce(v.Name.Key(), *v.Nonce) != e.Nonce:
		v.found(FoundOtherVote, "entry %d", v.Receipt.Vote.Index)
		v.report.Recorded = Verdict{No, FoundOtherVote.Sentence()}
		return false
	default:
		v.report.Recorded = Verdict{Yes, "Your vote is recorded as shown, and carries your secret. Compare question and option with what you chose."}
	}
	return true
}

func (v *receiptState) checkProofs() {
	var wrong *Finding
	if v.log, wrong = v.Poll.Check(v.Keys, v.Keys.Origin()); wrong != nil {
		v.found(wrong.Kind, "part poll: %s", wrong.Detail)
		return
	}
	var err error
	if v.poll, err = ParseLogLeaf(v.Poll.Extra); err != nil {
		v.found(FoundLogLeaf, "part poll: %v", err)
		return
	}
	if v.poll.Kind != LogPoll || v.poll.Poll != v.Name.Key() {
		v.found(FoundOtherPoll, "part poll")
		return
	}
	origin := TreeOrigin(v.Keys.Origin(), v.poll.Tree)
	for _, part := range v.parts()[:2] {
		tree, wrong := part.proof.Check(v.Keys, origin)
		if wrong != nil {
			v.found(wrong.Kind, "part %s: %s", part.name, wrong.Detail)
		} else if tree != v.poll.Entries {
			v.found(FoundTreeForked, "part %s: the tree of %d entries is not that of the log's leaf", part.name, tree.N)
		}
	}
	v.checkEntries()
}

// checkEntries compares the entries that the proofs show.
func (v *receiptState) checkEntries() {
	vote, err := parseLeaf(v.Receipt.Vote.Extra)
	if err != nil || !vote.entry.Kind.isVote() || vote.entry.Voter > v.Receipt.Vote.Index {
		v.found(FoundEntry, "part vote: %v", err)
	}
	config, err := parseLeaf(v.Receipt.Config.Extra)
	if err != nil || config.entry.Kind != EntryConfig {
		v.found(FoundEntry, "part config: %v", err)
	}
	if v.vote, v.config = vote.entry, config.entry.Settings; v.vote.Config != v.Receipt.Config.Index || v.vote.Config >= v.Receipt.Vote.Index {
		v.found(FoundOtherConfig, "the vote names entry %d, the receipt shows entry %d", v.vote.Config, v.Receipt.Config.Index)
	}
}

// checkCounted takes step 4.
func (v *receiptState) checkCounted(p *published) error {
	found := &v.report.Findings
	if err := p.join(v.log, "the receipt", found); err != nil {
		return err
	}
	if p.leafIndex < v.Poll.Index {
		v.found(FoundLogRewound, "the result is of leaf %d, the receipt of leaf %d", p.leafIndex, v.Poll.Index)
	}
	if len(*found) > 0 {
		return nil
	}
	if p.leaf.Tree != v.poll.Tree {
		return v.checkOtherTree(p)
	}
	if p.leaf.Entries.N < v.poll.Entries.N {
		v.found(FoundTreeRewound, "%d entries that it had are missing", v.poll.Entries.N-p.leaf.Entries.N)
		return nil
	}
	ok, err := p.files.contains(p.leaf.Entries, v.poll.Entries)
	if err != nil {
		return err
	}
	if !ok {
		v.found(FoundTreeForked, "sizes %d and %d", v.poll.Entries.N, p.leaf.Entries.N)
		return nil
	}
	p.checkShown(found)
	if len(*found) > 0 {
		return nil
	}
	if p.leaf.Status == TreeReset {
		v.report.Counted = Verdict{No, "The poll was reset: no earlier vote counts. The list of votes says so publicly."}
		return nil
	}
	if !p.leaf.Final {
		v.report.Counted = Verdict{Unknown, "The poll has no final result yet. Check again after its close."}
		return nil
	}
	if p.checkPromise(&v.config, found); len(*found) > 0 {
		return nil
	}
	return v.checkBallot(p)
}

// checkOtherTree looks in the log whether the receipt's tree was reset or ended before the new one began.
func (v *receiptState) checkOtherTree(p *published) error {
	ended := false
	err := p.logFiles.provenEntries(p.log, v.Poll.Index, p.leafIndex, func(data []byte) {
		l, err := ParseLogLeaf(data)
		if err == nil && l.Tree == v.poll.Tree {
			ended = l.Status == TreeReset || l.Status == TreeEnded
		}
	})
	if isReadError(err) {
		return err
	}
	if ended = ended && err == nil; !ended {
		v.found(FoundSecondTree, "%s is on your receipt, %s on display", v.poll.Tree, p.leaf.Tree)
		return nil
	}
	v.report.Counted = Verdict{No, "The poll was reset or deleted and begun again: your vote belongs to the earlier one. The log says so publicly."}
	return nil
}
