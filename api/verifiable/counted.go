package verifiable

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"golang.org/x/mod/sumdb/tlog"
)

// checkBallot looks for the vote in a final result: by the proof of its ballot where the leaf has
// ballots, and by a recount where the entries are public.
func (v *receiptState) checkBallot(p *published) error {
	proved, err := v.readBallot(p)
	if err != nil || len(v.report.Findings) > 0 {
		return err
	}
	fold, err := p.recount(&v.report.Findings, v.seeLater)
	switch {
	case errors.Is(err, fs.ErrNotExist) && proved != nil:
		v.judge(proved, false)
		if why := p.whyNoEntries(); why != "" && len(v.report.Findings) == 0 {
			v.report.Counted.Text += " " + why
		}
		return nil
	case err != nil:
		v.report.Counted = Verdict{Unknown, "The site shows neither the proof of your ballot nor the list of votes."}
		return err
	}
	if len(v.report.Findings) > 0 {
		return nil
	}
	b := fold.ballotOf(v.vote.Voter)
	if v.resetLater {
		v.report.Counted = Verdict{No, "The poll was reset after your vote. The list of votes says so publicly."}
		return nil
	}
	if b == nil {
		v.found(FoundBallotMissing, "voter %d", v.vote.Voter)
		return nil
	}
	// A proof leads to the root that the recount gave, so that the two ballots are one.
	v.judge(b, true)
	return nil
}

// readBallot reads the proof of the voter's ballot. It returns nil where the leaf has no ballots.
func (v *receiptState) readBallot(p *published) (*Ballot, error) {
	tree := p.leaf.Ballots
	if tree == nil {
		return nil, nil
	}
	path := BallotPath(p.leaf.Tree, p.leaf.Entries.N, v.vote.Voter)
	data, err := p.files.src.ReadFile(p.files.ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &readError{path, err}
	}
	if p.leaf.Sums == nil {
		v.found(FoundLogLeaf, "leaf %d", p.leafIndex)
		return nil, nil
	}
	b, err := CheckBallotProof(data, v.vote.Voter, tree.N, tree.Hash, *p.leaf.Sums)
	if err != nil {
		v.found(FoundBallotProof, "voter %d: %v", v.vote.Voter, err)
		return nil, nil
	}
	return &b, nil
}

// seeLater names votes that came under the viewer's number after the receipt's.
func (v *receiptState) seeLater(index int64, e *Entry) {
	if index <= v.Receipt.Vote.Index {
		return
	}
	v.resetLater = v.resetLater || e.Kind == EntryReset
	if v.resetLater || !e.Kind.isVote() || e.Voter != v.vote.Voter {
		return
	}
	v.laterVotes++
	if e.Kind == EntrySet {
		v.found(FoundVoteReplaced, "entry %d", index)
	}
}

func (f *Fold) ballotOf(voter int64) *Ballot {
	known := f.voter(voter)
	if known == nil || len(known.choices) == 0 {
		return nil
	}
	w, _ := known.weight()
	return &Ballot{voter, w, known.choices}
}

// judge compares the ballot that counts with the vote of the receipt.
func (v *receiptState) judge(b *Ballot, recounted bool) {
	i := slices.IndexFunc(b.Choices, func(c Choice) bool { return c.Value == v.vote.Value })
	has := i >= 0 && b.Choices[i].Times >= v.vote.Times
	if v.vote.Kind == EntrySet {
		has = has && len(b.Choices) == 1 && b.Choices[i].Times == v.vote.Times
	}
	if !has {
		v.found(FoundBallotDiffers, "the ballot of voter %d is %s", b.Voter, v.config.describe(b.Choices))
		return
	}
	text := "Your vote is in the final result, once."
	if recounted {
		text += " Counting all votes gives the result on display."
	}
	if b.Weight != 1 {
		text += fmt.Sprintf(" Staff set its weight to %d.", b.Weight)
	}
	if v.laterVotes > 0 {
		text += fmt.Sprintf(" %d later votes have your voter number: check that you cast them.", v.laterVotes)
	}
	v.report.Counted = Verdict{Yes, text}
}

// option names the option with a value.
func (c *Config) option(value int16) string {
	if value >= 0 && int(value) < len(c.Options) {
		return fmt.Sprintf("%q (%d)", c.Options[value], value)
	}
	return fmt.Sprint(value)
}

func (c *Config) describe(choices []Choice) (text string) {
	for i, choice := range choices {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%d × %s", choice.Times, c.option(choice.Value))
	}
	return text
}

// checkSame takes step 5.
func (v *receiptState) checkSame(ctx context.Context, p *published) error {
	same := &v.report.Same
	if v.Policy == nil || !v.Policy.asksWitnesses() || v.Monitor == nil {
		same.Text = "Not shown: this needs witnesses that signed the log, and a monitor that read it."
		return nil
	}
	data, err := read(ctx, v.Source, logFolder+"witnessed")
	if errors.Is(err, fs.ErrNotExist) {
		same.Text = "Not shown: the site has no checkpoint that witnesses signed."
		return nil
	}
	if err != nil {
		return err
	}
	witnessed, err := v.Keys.Open(data, v.Keys.Origin())
	if err != nil {
		v.found(FoundSignature, "%switnessed: %v", logFolder, err)
		return nil
	}
	if !v.Policy.Accepts(data) || witnessed.N <= p.leafIndex {
		same.Text = "Not shown yet: too few witnesses have signed the log with this result."
		return nil
	}
	return v.compareLogs(p, witnessed, v.Monitor.Log.Tree())
}

// compareLogs compares the log of the site with those that witnesses and the monitor saw.
func (v *receiptState) compareLogs(p *published, witnessed, monitored tlog.Tree) error {
	same := &v.report.Same
	err := p.join(witnessed, "the witnesses' checkpoint", &v.report.Findings)
	if err == nil {
		err = p.join(monitored, "the monitor's state", &v.report.Findings)
	}
	switch {
	case err != nil:
		return err
	case len(v.report.Findings) > 0:
		*same = Verdict{No, "The log that this site shows is not the one that others saw."}
	case len(v.Monitor.Findings) > 0:
		*same = Verdict{No, "The monitor found: " + v.Monitor.Findings[0].String()}
	case monitored.N <= p.leafIndex:
		same.Text = "Not shown yet: the monitor has not read the log up to this result."
	default:
		*same = Verdict{Yes, "Witnesses signed the log with this result, and the monitor found one result of this poll."}
	}
	return nil
}
