package document

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/acclaim-dev/acclaim/services/internal/engine/batchtrace"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// attempts limits how often a write is decided again after other processes were
// faster, before its callers get fault.Unavailable.
const attempts = 20

// retryConflicts calls try until it returns something else than ErrConflict, and pauses
// in between for a random time that grows to some 50 ms.
func (s *Service) retryConflicts(ctx context.Context, trace *batchtrace.Batch, try func() error) error {
	pauses := newPauses(time.Millisecond, 50*time.Millisecond)
	for range attempts {
		if err := try(); !errors.Is(err, ErrConflict) {
			return err
		}
		if err := s.clock.Sleep(ctx, pauses.NextBackOff()); err != nil {
			return fault.Wrap(fault.Unavailable, err, "The request ended before the document could be written")
		}
		trace.EndStep(stepWait, nil)
	}
	return fault.New(fault.Unavailable, "The document is being changed too often")
}

// newPauses returns pauses that grow from one length to another, each drawn at
// random from around the length it is due.
func newPauses(first, longest time.Duration) *backoff.ExponentialBackOff {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = first, longest
	return pauses
}

// commitBatch makes one new version of a document from a batch of edits and answers
// all of them.
func (s *Service) commitBatch(key string, edits []*editItem) {
	var p *batchPlan
	trace := s.beginBatchTrace(edits)
	err := s.retryConflicts(s.ctx, trace, func() error {
		documents, err := s.readDocuments(s.ctx, []string{key})
		trace.EndStep(stepRead, err)
		if err != nil {
			return err
		}
		p = makePlan(documents[0], edits, func(e Edit, before Document) ([]byte, error) { return s.evaluations.run(s.ctx, e, before) })
		trace.EndStep(stepDecide, nil)
		if p.changes == 0 {
			return nil
		}
		return s.putWrites(s.ctx, trace, len(edits), []Write{p.buildWrite(key, newWriteID())})
	})
	for i, edit := range edits {
		edit.Value.document, edit.Value.err = p.resultOf(i, err)
		edit.Finish()
	}
	for _, edit := range edits {
		trace.Record(edit.Value.call)
	}
}

func newWriteID() WriteID {
	var id WriteID
	rand.Read(id[:])
	return id
}
