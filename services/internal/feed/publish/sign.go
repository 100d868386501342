package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/acclaim-dev/acclaim/api/verifiable"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/resultlog"
)

// signedLog is the log with a signed checkpoint.
type signedLog struct {
	signer     *verifiable.Signer
	origin     string
	tree       tlog.Tree
	checkpoint []byte
	at         time.Time
}

// hasSigned reports whether this publisher has signed a log.
func (p *Publisher) hasSigned() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.signed != nil
}

// openLog begins a new log where there is none that this publisher may go on with.
func (p *Publisher) openLog(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.signed != nil {
		log, err := p.Log.Read(ctx)
		if err != nil || log.Origin == p.signed.origin && log.Tree.N >= p.signed.tree.N {
			return err // what is appended to the log is checked when it is signed
		}
	}
	_, err := p.sign(ctx) // so that there is a mark
	return err
}

// readLog returns the log as it is, if this publisher may go on with it, or a new one.
func (p *Publisher) readLog(ctx context.Context) (resultlog.Log, error) {
	since := int64(0)
	if p.signed != nil {
		since = p.signed.tree.N
	}
	log, err := p.Log.ReadSince(ctx, since)
	if err != nil || p.signed.isOf(log) {
		return log, err
	}
	if p.Mark != nil && (p.marked == nil || p.signed == nil || p.signed.origin != log.Origin) {
		if log, err = p.readMark(ctx, log.Origin); err != nil {
			return log, err
		}
	}
	goesOn, err := p.mayContinue(ctx, log)
	switch {
	case err != nil:
		return log, err
	case goesOn:
		return p.handOver(ctx, log)
	case p.isTaken(log):
		return log, p.refuseMark()
	}
	return p.beginLog(ctx, log)
}

// beginLog begins a log in place of the one that was read.
func (p *Publisher) beginLog(ctx context.Context, old resultlog.Log) (resultlog.Log, error) {
	if old.Origin != "" {
		p.Logger.Warn("the store lacks results that were signed, or has others: a new log begins", "old_origin", old.Origin, "size", old.Tree.N)
	}
	p.signed = nil
	p.again.Store(true)
	log, err := p.Log.Begin(ctx, old.Origin, newOrigin(p.Origin))
	if err == nil {
		p.begun = log.Origin
	}
	return log, err
}

// errMarkTaken stops signing: each of two logs with one mark would begin again whenever the other one had.
var errMarkTaken = fault.New(fault.Unavailable, "The mark of the log of results is that of another log")

// isTaken reports whether others, with another store or key, have marked a log since this publisher signed.
func (p *Publisher) isTaken(log resultlog.Log) bool {
	if p.signed == nil || p.Mark == nil {
		return false
	}
	if _, ok := p.openMark(p.marked, log.Origin); ok && p.isOurs(log.Origin) {
		return false
	}
	origin, _, _ := strings.Cut(string(p.marked.Checkpoint), "\n")
	return origin != p.signed.origin && verifiable.CheckOrigin(origin) == nil
}

func (p *Publisher) refuseMark() error {
	if !p.taken.Swap(true) {
		p.Logger.Error("results are not signed any more: other processes, with another store or key, have marked their log in the same place. Give each log a mark of its own, and then remove this one", "origin", p.signed.origin)
	}
	p.marked = nil // the next try reads it again
	return errMarkTaken
}

// readMark reads the mark, and then the log: another process may sign between the two, and a mark of
// more than the log would look like a store that was rolled back.
func (p *Publisher) readMark(ctx context.Context, origin string) (log resultlog.Log, err error) {
	marked, err := p.Mark.Load(ctx)
	if err != nil {
		return log, fmt.Errorf("the mark of the log was not read: %w", err)
	}
	tree, _ := p.openMark(&marked, origin)
	if log, err = p.Log.ReadSince(ctx, tree.N); err == nil {
		p.marked = &marked
	}
	return log, err
}

// handOver has the log name the present key where an earlier one signs beside it, so that
// monitors with the earlier one learn it.
func (p *Publisher) handOver(ctx context.Context, log resultlog.Log) (resultlog.Log, error) {
	if p.EarlierKey == nil {
		return log, nil
	}
	signer, err := p.newSigner(log.Origin)
	if err != nil || slices.Contains(log.Keys, signer.Key().String()) {
		return log, err
	}
	return p.Log.HandOver(ctx, signer.Key().String())
}

func (p *Publisher) newSigner(origin string) (*verifiable.Signer, error) {
	if p.EarlierKey == nil {
		return verifiable.NewSigner(origin, p.Key)
	}
	return verifiable.NewSigner(origin, p.Key, p.EarlierKey)
}

// isOf reports whether a log is as it was signed.
func (s *signedLog) isOf(log resultlog.Log) bool {
	return s != nil && s.origin == log.Origin && s.tree == log.Tree
}

// mayContinue reports whether a log is ours and has all that was signed, as the mark and this publisher
// know it. A log goes on without a mark where that was lost while this publisher signs it, and where this
// one has begun it and could not mark it: nothing of it was signed, and each round would begin another one.
func (p *Publisher) mayContinue(ctx context.Context, log resultlog.Log) (bool, error) {
	if !p.isOurs(log.Origin) {
		return false, nil
	}
	signed := tlog.Tree{}
	if s := p.signed; s != nil && s.origin == log.Origin {
		signed = s.tree
	}
	if p.Mark != nil {
		tree, ok := p.openMark(p.marked, log.Origin)
		lost, begun := p.marked.Checkpoint == nil && signed.N > 0, log.Origin == p.begun && signed.N == 0
		if !ok && !lost && !begun {
			return false, nil
		}
		if tree.N > signed.N {
			signed = tree
		}
	}
	return p.hasTree(ctx, log, signed)
}

// hasTree reports whether a log continues a tree.
func (p *Publisher) hasTree(ctx context.Context, log resultlog.Log, tree tlog.Tree) (bool, error) {
	switch {
	case tree.N == 0 || tree.N > log.Tree.N:
		return tree.N == 0, nil
	case log.Since.N == tree.N:
		return log.Since == tree, nil
	case log.Tree.N == tree.N:
		return log.Tree == tree, nil
	}
	root, err := tlog.TreeHash(tree.N, tlog.TileHashReader(log.Tree, p.logTiles(ctx)))
	return root == tree.Hash, err
}

// openMark returns the tree of a marked checkpoint, false for none, or one of another key or log.
func (p *Publisher) openMark(m *Marked, origin string) (tlog.Tree, bool) {
	signer, err := p.newSigner(origin)
	if err != nil {
		return tlog.Tree{}, false
	}
	tree, err := signer.Keys().Open(m.Checkpoint, origin)
	return tree, err == nil
}

// signLog returns the log with a checkpoint that is at most checkpointFor old, and has at least some
// number of leaves if the log has.
func (p *Publisher) signLog(ctx context.Context, least int64) (*signedLog, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.contradicted.Load() {
		return nil, errContradicted
	}
	now := p.Clock.Now()
	if s := p.signed; s != nil && s.tree.N >= least {
		if age := now.Sub(s.at); age >= 0 && age < checkpointFor { // a clock may be set back
			return s, nil
		}
	}
	s, err := p.sign(ctx)
	if err != nil && ctx.Err() == nil {
		p.failed.Add(1)
	}
	return s, err
}

// sign signs the log as it is. Where another process has replaced the mark meanwhile, such as while this
// one was paused, it looks at both again.
func (p *Publisher) sign(ctx context.Context) (*signedLog, error) {
	var changed error
	for range markTries {
		log, err := p.readLog(ctx)
		if err != nil {
			return nil, err
		}
		s, err := p.signAs(ctx, log)
		if err == nil {
			p.signed = s
			p.taken.Store(false)
		}
		if changed = err; !errors.Is(err, ErrMarkChanged) {
			return s, err
		}
	}
	return nil, changed
}

// signAs signs a log as it was read, and marks that before anyone sees it.
func (p *Publisher) signAs(ctx context.Context, log resultlog.Log) (*signedLog, error) {
	s := &signedLog{origin: log.Origin, tree: log.Tree, at: p.Clock.Now()}
	if p.signed.isOf(log) {
		s.signer, s.checkpoint = p.signed.signer, p.signed.checkpoint
		return s, nil
	}
	var err error
	if s.signer, err = p.newSigner(log.Origin); err != nil {
		return nil, err
	}
	if s.checkpoint, err = s.signer.Checkpoint(log.Origin, log.Tree); err != nil || p.Mark == nil {
		return s, err
	}
	old := *p.marked
	p.marked = nil
	if bytes.Equal(old.Checkpoint, s.checkpoint) {
		return s, nil // of another process, which may mark the next one, too
	}
	marked, err := p.Mark.Replace(ctx, old, s.checkpoint)
	if err != nil {
		return nil, fmt.Errorf("the mark of the log was not stored: %w", err)
	}
	p.marked = &marked
	return s, nil
}

// VerifierKey returns the key that checks the log, with which everyone who checks has to begin.
func (p *Publisher) VerifierKey(ctx context.Context) (string, error) {
	s, err := p.signLog(ctx, 0)
	if err != nil {
		return "", err
	}
	return s.signer.Key().String(), nil
}

// checkpointOf signs the tree of a poll.
func (s *signedLog) checkpointOf(leaf verifiable.LogLeaf) ([]byte, error) {
	return s.signer.Checkpoint(verifiable.TreeOrigin(s.origin, leaf.Tree), leaf.Entries)
}

// keysText is the content of the file of verifier keys.
func (s *signedLog) keysText() []byte {
	var text strings.Builder
	for _, key := range s.signer.Keys() {
		text.WriteString(key.String() + "\n")
	}
	return []byte(text.String())
}
