package publish

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/acclaim-dev/acclaim/api/verifiable"
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

// openLog begins a new log where there is none that this publisher may go on with.
func (p *Publisher) openLog(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.openLocked(ctx)
	return err
}

func (p *Publisher) openLocked(ctx context.Context) (resultlog.Log, error) {
	log, err := p.Log.Read(ctx)
	if err != nil {
		return log, err
	}
	if p.signed.isContinuedBy(log) {
		return p.handOver(ctx, log)
	}
	marked, err := p.loadMark(ctx)
	if err != nil {
		return log, err
	}
	// The log is read after the mark: another process may sign between the two, and a mark of more
	// than this one has read would look like a store that was rolled back.
	if log, err = p.Log.Read(ctx); err != nil {
		return log, err
	}
	goesOn, err := p.mayContinue(ctx, log, marked)
	if err == nil && goesOn {
		return p.handOver(ctx, log)
	}
	if err != nil {
		return log, err
	}
	if log.Origin != "" {
		p.Logger.Warn("the store lacks results that were signed, or has others: a new log begins", "old_origin", log.Origin, "size", log.Tree.N)
	}
	p.signed = nil
	p.again.Store(true)
	if log, err = p.Log.Begin(ctx, log.Origin, newOrigin(p.Origin)); err == nil {
		p.begun = log.Origin
		_, err = p.sign(ctx, log) // so that there is a mark
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

// isContinuedBy reports whether a log that was read is a later state of the one that was signed. The
// store's chain of chunks shows that it is the same one.
func (s *signedLog) isContinuedBy(log resultlog.Log) bool {
	return s != nil && s.origin == log.Origin && (log.Tree.N > s.tree.N || log.Tree == s.tree)
}

func (p *Publisher) loadMark(ctx context.Context) ([]byte, error) {
	if p.Mark == nil {
		return nil, nil
	}
	marked, err := p.Mark.Load(ctx)
	if err != nil {
		return nil, fmt.Errorf("the mark of the log was not read: %w", err)
	}
	return marked, nil
}

// mayContinue reports whether a log is ours and has all that the mark says was signed. A log that this
// publisher began and could not mark goes on, too: nothing of it was signed, and a mark that cannot be
// stored would make each round begin another one.
func (p *Publisher) mayContinue(ctx context.Context, log resultlog.Log, marked []byte) (bool, error) {
	if !p.isOurs(log.Origin) || p.signed != nil && p.signed.origin == log.Origin {
		return false, nil // what was signed is gone
	}
	if p.Mark == nil {
		return true, nil
	}
	signer, err := p.newSigner(log.Origin)
	if err != nil {
		return false, err
	}
	tree, ok := openMark(marked, signer, log)
	if !ok {
		return log.Origin == p.begun, nil
	}
	if tree.N > log.Tree.N {
		return false, nil
	}
	if tree.N == 0 || tree == log.Tree {
		return true, nil
	}
	root, err := tlog.TreeHash(tree.N, tlog.TileHashReader(log.Tree, p.logTiles(ctx)))
	return root == tree.Hash, err
}

// openMark returns the tree of a marked checkpoint, false for one of another key or log.
func openMark(marked []byte, signer *verifiable.Signer, log resultlog.Log) (tlog.Tree, bool) {
	tree, err := signer.Keys().Open(marked, log.Origin)
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
	log, err := p.openLocked(ctx)
	if err != nil {
		return nil, err
	}
	if s := p.signed; s != nil && s.origin == log.Origin && s.tree == log.Tree {
		again := *s
		again.at = now
		p.signed = &again
		return p.signed, nil
	}
	return p.sign(ctx, log)
}

// sign signs a log as it was read, and marks that before anyone sees it. Another process may have
// signed and marked more while this one was paused, so that it has set the mark back: then it signs
// and marks that, too.
func (p *Publisher) sign(ctx context.Context, log resultlog.Log) (*signedLog, error) {
	s, err := p.signOnce(ctx, log)
	if err != nil || p.Mark == nil {
		return s, err
	}
	later, err := p.Log.Read(ctx)
	if err != nil || later.Tree == log.Tree || !s.isContinuedBy(later) {
		return s, err
	}
	return p.signOnce(ctx, later)
}

func (p *Publisher) signOnce(ctx context.Context, log resultlog.Log) (*signedLog, error) {
	s := &signedLog{origin: log.Origin, tree: log.Tree, at: p.Clock.Now()}
	var err error
	if s.signer, err = p.newSigner(log.Origin); err != nil {
		return nil, err
	}
	if s.checkpoint, err = s.signer.Checkpoint(log.Origin, log.Tree); err != nil {
		return nil, err
	}
	if p.Mark != nil {
		if err := p.Mark.Store(ctx, s.checkpoint); err != nil {
			return nil, fmt.Errorf("the mark of the log was not stored: %w", err)
		}
	}
	p.signed = s
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
