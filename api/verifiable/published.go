package verifiable

import (
	"context"
	"errors"
	"io/fs"

	"golang.org/x/mod/sumdb/tlog"
)

// published holds the result that a site shows of a poll, checked against the log.
type published struct {
	log      tlog.Tree
	logFiles *treeFiles
	result   *Result
	// leaf is the newest one of the poll that the site shows.
	leaf      LogLeaf
	leafIndex int64
	files     *treeFiles // of the poll's tree
}

// readCheckpoint reads a checkpoint of the log. It returns false, with a finding, for one that
// none of the keys has signed.
func readCheckpoint(ctx context.Context, src Source, keys Keys, name string, found *findings) (tlog.Tree, bool, error) {
	data, err := read(ctx, src, logFolder+name)
	if err != nil {
		return tlog.Tree{}, false, err
	}
	tree, err := keys.Open(data, keys.Origin())
	if err != nil {
		found.add(FoundSignature, "%s: %v", logFolder+name, err)
	}
	return tree, err == nil, nil
}

// readPoll reads the log's checkpoint and the result at a path. It returns nil, with a finding, when
// they contradict each other or the keys.
func readPoll(ctx context.Context, src Source, keys Keys, path string, found *findings) (*published, error) {
	log, ok, err := readCheckpoint(ctx, src, keys, "checkpoint", found)
	if !ok {
		return nil, err
	}
	text, err := read(ctx, src, path)
	if err != nil {
		return nil, err
	}
	p := &published{log: log, logFiles: newTreeFiles(ctx, src, logFolder)}
	if p.result, err = ParseResult(text); err != nil {
		return nil, err
	}
	proof, err := ParseProof([]byte(p.result.Proved.Proof))
	if err != nil {
		return nil, err
	}
	proof.Extra = p.result.Proved.Leaf
	tree, wrong := proof.Check(keys, keys.Origin())
	if wrong != nil {
		found.add(wrong.Kind, "%s: %s", path, wrong.Detail)
		return nil, nil
	}
	if p.leaf, err = ParseLogLeaf(p.result.Proved.Leaf); err != nil {
		found.add(FoundLogLeaf, "leaf %d: %v", proof.Index, err)
		return nil, nil
	}
	if p.leaf.Kind != LogPoll || p.leaf.Poll != p.result.Name.Key() {
		found.add(FoundOtherPoll, "%s shows the log's leaf %d", path, proof.Index)
		return nil, nil
	}
	p.leafIndex, p.files = proof.Index, newTreeFiles(ctx, src, treeFolder(p.leaf.Tree))
	return p, p.join(tree, "the proof of the result", found)
}

// join compares a signed tree of the log with the newest one, and keeps the larger.
func (p *published) join(tree tlog.Tree, what string, found *findings) error {
	older, newer := tree, p.log
	if older.N > newer.N {
		older, newer = newer, older
	}
	ok, err := p.logFiles.contains(newer, older)
	if newer.N > p.log.N && errors.Is(err, fs.ErrNotExist) {
		found.add(FoundLogRewound, "%s: size %d, now the log has %d", what, newer.N, older.N)
		return nil
	}
	if err != nil {
		return err
	}
	if !ok {
		found.add(FoundLogForked, "%s: sizes %d and %d", what, older.N, newer.N)
	}
	p.log = newer
	return nil
}

// checkShown compares the results on display with the signed one.
func (p *published) checkShown(found *findings) {
	sums := p.leaf.Sums
	if sums == nil {
		return
	}
	if p.result.Proved.Sums == nil || *p.result.Proved.Sums != *sums {
		found.add(FoundShownResult, "the sums of result.json")
	}
	now := p.result.Now
	if now == nil {
		return
	}
	if p.leaf.Final && now.Votes.Count != "" && now.Votes.differs(sums) {
		found.add(FoundShownResult, "the newest votes of result.json: %s, signed are %s", now.Votes.Count, sums.Count)
	}
	if now.Size > p.leaf.Entries.N && now.At-p.leaf.At > lateLeaf {
		found.add(FoundLeafLate, "%d entries, %d of them signed", now.Size, p.leaf.Entries.N)
	}
}

// checkPromise compares what the site says about the entries of a final result with a signed
// configuration of it. Few voters, and an erasure while there were few, keep the entries secret.
func (p *published) checkPromise(c *Config, found *findings) {
	promised, ballots := c.promise(), p.leaf.Ballots
	if p.result.Entries != entriesNever || promised.entries == entriesNever || ballots == nil || p.leaf.Erasures > 0 {
		return
	}
	if ballots.N >= promised.minVoters {
		found.add(FoundWithheld, "%d voters, promised from %d on", ballots.N, promised.minVoters)
	}
}

// whyNoEntries says why the site need not have all entries, "" where it should.
func (p *published) whyNoEntries() string {
	switch {
	case p.result.Entries == entriesNever:
		return "The list of votes is not public."
	case p.result.Minimum > 0:
		return "The site does not keep the whole list of votes any more."
	case p.result.Entries == entriesAfterClose && !p.leaf.Final:
		return "The list of votes is public only after the close."
	}
	return ""
}

// lateLeaf is the age of the newest leaf of a moving poll, in milliseconds, from which on it is a finding.
const lateLeaf = 10_000

// recount folds all entries of the leaf's tree, and compares what they give with the leaf. It reads
// them only in full, and calls visit with each.
func (p *published) recount(found *findings, visit func(index int64, e *Entry)) (*Fold, error) {
	fold, tree := NewFold(), Frontier{}
	err := p.files.entries(p.leaf.Entries.N, 0, p.leaf.Entries.N, func(index int64, data []byte) error {
		tree.Append(data)
		if e, ok := fold.Apply(data); ok {
			visit(index, &e)
		}
		return nil
	})
	if isReadError(err) {
		return nil, err
	}
	if err != nil {
		found.add(FoundRoot, "%v", err)
		return nil, nil
	}
	if got := tree.Tree(); got != p.leaf.Entries {
		found.add(FoundRoot, "%d entries", got.N)
	}
	p.compare(fold, found)
	return fold, p.checkClose(fold, found)
}

// checkClose looks for votes between the end of a poll and its late close: those that the log had
// only in a leaf from after the end.
func (p *published) checkClose(fold *Fold, found *findings) error {
	if fold.late == nil {
		return nil
	}
	first := p.leaf // with the last vote
	for first.Prev != NoLeaf {
		before := first
		err := p.logFiles.provenEntries(p.log, first.Prev, first.Prev+1, func(data []byte) {
			if l, err := ParseLogLeaf(data); err == nil && l.Tree == p.leaf.Tree && l.Entries.N <= first.Entries.N {
				before = l
			}
		})
		if isReadError(err) {
			return err
		}
		if before.Prev >= first.Prev {
			found.add(FoundLogLeaf, "leaf %d is not of the tree", first.Prev)
			return nil
		}
		if before.Entries.N <= fold.late.lastVote {
			break
		}
		first = before
	}
	if delay := first.At - fold.late.end; delay > closeDelay {
		found.add(FoundLateClose, "entry %d, in the log %d ms after the end", fold.late.lastVote, delay)
	}
	return nil
}

// compare compares the recount with the leaf.
func (p *published) compare(fold *Fold, found *findings) {
	if fold.Tree != p.leaf.Tree || fold.Poll != p.leaf.Poll {
		found.add(FoundBegin, "entry 0")
	}
	if fold.Erasures != p.leaf.Erasures {
		found.add(FoundErasures, "%d are listed, %d are signed", fold.Erasures, p.leaf.Erasures)
	}
	ballots := BallotTree(fold.Ballots())
	*found = append(*found, fold.Findings...)
	root, sums, err := ballots.Root()
	if err != nil {
		found.add(FoundOverflow, "%d ballots: %v", len(ballots), err)
		return
	}
	if p.leaf.Sums != nil && *p.leaf.Sums != sums {
		found.add(FoundSums, "counted: %s votes with the sum %s; signed: %s votes with the sum %s", sums.Count, sums.Sum, p.leaf.Sums.Count, p.leaf.Sums.Sum)
	}
	compareTieBreak(fold, &sums, found)
	if b := p.leaf.Ballots; b != nil && *b != (tlog.Tree{N: int64(len(ballots)), Hash: root}) {
		found.add(FoundBallotRoot, "%d ballots", len(ballots))
	}
	p.compareStatus(fold, found)
}

// compareTieBreak compares the decision of a tie, if there is one, with the sums of a closed poll.
func compareTieBreak(fold *Fold, sums *Sums, found *findings) {
	if c := fold.Settings; fold.Closed && !fold.Reset && c != nil && c.TieBreak != nil && !sums.IsTied(*c.TieBreak, len(c.Options)) {
		found.add(FoundTieBreak, "option %d", *c.TieBreak)
	}
}

// compareStatus compares the status of the leaf with the entries. A tree ends in any status.
func (p *published) compareStatus(fold *Fold, found *findings) {
	fits := true
	switch p.leaf.Status {
	case TreeOpen:
		fits = !fold.Closed
	case TreeClosed:
		fits = fold.Closed && !(p.leaf.Final && fold.IsHidden())
	case TreeReset:
		fits = fold.Reset
	}
	if !fits {
		found.add(FoundStatus, "leaf %d", p.leafIndex)
	}
}
