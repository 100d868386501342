package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/mod/sumdb/tlog"
	"golang.org/x/sync/errgroup"

	"github.com/acclaim-dev/acclaim/api/verifiable"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/feed/cosign"
)

// Witnessing has the witnesses that cosign the log.
type Witnessing struct {
	// Policy names them, and how many make a quorum.
	Policy *verifiable.Policy
	Client *cosign.Client
}

// cosignEvery is the time between two checkpoints that witnesses get: the newest one only.
const cosignEvery = 10 * time.Second

// errContradicted stops signing: the witness has evidence that this log was rolled back or copied.
var errContradicted = fault.New(fault.Unavailable, "A witness has signed another history of the log of results")

// cosigner asks the witnesses, one round at a time.
type cosigner struct {
	witnesses []verifiable.Witness
	origin    string  // of the log that sizes are of
	sizes     []int64 // of the log, as each witness signed it last
	done      tlog.Tree
}

// cosigned is a checkpoint that a quorum has signed.
type cosigned struct {
	origin     string
	tree       tlog.Tree
	checkpoint []byte
}

// cosign asks the witnesses until the context ends. It delays neither reports nor checkpoints.
func (p *Publisher) cosign(ctx context.Context) {
	c := &cosigner{witnesses: p.Witnesses.Policy.Witnesses()}
	for {
		if err := p.cosignOnce(ctx, c); err != nil && ctx.Err() == nil {
			p.unwitnessed.Add(1)
			p.Logger.Warn("not all witnesses signed the log of results; they are asked again", "error", err)
		}
		if p.Clock.Sleep(ctx, cosignEvery) != nil {
			return
		}
	}
}

// cosignOnce asks all witnesses for cosignatures of the newest checkpoint.
func (p *Publisher) cosignOnce(ctx context.Context, c *cosigner) error {
	if log, err := p.Log.Read(ctx); err != nil || log.Origin == "" {
		return err // a log begins with the first poll that has a list
	}
	s, err := p.signLog(ctx, 0)
	if err != nil {
		return err
	}
	if c.origin != s.origin {
		c.origin, c.sizes, c.done = s.origin, make([]int64, len(c.witnesses)), tlog.Tree{}
	}
	if c.done == s.tree {
		return nil
	}
	lines, errs := make([][]byte, len(c.witnesses)), make([]error, len(c.witnesses))
	var group errgroup.Group
	for i := range c.witnesses {
		group.Go(func() error {
			if lines[i], errs[i] = p.askWitness(ctx, s, &c.witnesses[i], &c.sizes[i]); errs[i] != nil {
				errs[i] = fmt.Errorf("%s: %w", c.witnesses[i].Name, errs[i])
			}
			return nil
		})
	}
	_ = group.Wait() // the errors are in errs
	checkpoint := slices.Concat(s.checkpoint, slices.Concat(lines...))
	if p.Witnesses.Policy.Accepts(checkpoint) {
		p.witnessed.Store(&cosigned{s.origin, s.tree, checkpoint})
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	c.done = s.tree
	return nil
}

// askWitness returns the cosignatures of one witness. It asks again where the witness has signed
// another size than known, such as after a lost answer.
func (p *Publisher) askWitness(ctx context.Context, s *signedLog, w *verifiable.Witness, known *int64) ([]byte, error) {
	for range 2 {
		proof, err := p.proveLog(ctx, s, *known)
		if err != nil {
			return nil, err
		}
		lines, err := p.Witnesses.Client.AddCheckpoint(ctx, w, *known, proof, s.checkpoint)
		conflict := (*cosign.Conflict)(nil)
		switch {
		case err == nil:
			*known = s.tree.N
			return lines, nil
		case errors.Is(err, cosign.ErrInconsistent):
			return nil, p.stopSigning(w, err)
		case !errors.As(err, &conflict):
			return nil, err
		case conflict.Size == *known && conflict.Size == s.tree.N:
			return nil, p.stopSigning(w, err) // with another root
		case conflict.Size > s.tree.N:
			return nil, p.checkAhead(ctx, s, w, conflict)
		}
		*known = conflict.Size
	}
	return nil, errors.New("another process asks the witness at the same time")
}

// checkAhead stops signing unless the log has as many leaves as a witness signed: another process may
// have signed more meanwhile.
func (p *Publisher) checkAhead(ctx context.Context, s *signedLog, w *verifiable.Witness, conflict *cosign.Conflict) error {
	log, err := p.Log.Read(ctx)
	if err != nil || log.Origin == s.origin && log.Tree.N >= conflict.Size {
		return errors.Join(err, conflict)
	}
	return p.stopSigning(w, conflict)
}

func (p *Publisher) stopSigning(w *verifiable.Witness, reason error) error {
	p.contradicted.Store(true)
	p.Logger.Error("results are not signed any more: the store lacks what a witness has signed. It was rolled back or copied", "witness", w.Name, "reason", reason)
	return reason
}

// proveLog proves that a signed log continues that of an older size.
func (p *Publisher) proveLog(ctx context.Context, s *signedLog, old int64) (tlog.TreeProof, error) {
	if old == 0 || old == s.tree.N {
		return nil, nil
	}
	tiles := tileSource(func(tile tlog.Tile) ([]byte, error) { return p.readLogTile(ctx, s.origin, tile) })
	return tlog.ProveTree(s.tree.N, old, tlog.TileHashReader(s.tree, tiles))
}

// newestCheckpoint returns the checkpoint of a signed log, with cosignatures if a quorum signed the
// same tree.
func (p *Publisher) newestCheckpoint(s *signedLog) []byte {
	if w := p.witnessed.Load(); w != nil && w.origin == s.origin && w.tree == s.tree {
		return w.checkpoint
	}
	return s.checkpoint
}

func (p *Publisher) readWitnessed() (File, error) {
	w := p.witnessed.Load()
	if w == nil {
		return File{}, errNoFile()
	}
	return File{Data: w.checkpoint}, nil
}
