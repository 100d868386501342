package document

import (
	"context"
	"errors"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/batchtrace"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

const (
	// settleAttempts limits how often a write of unknown outcome is read back. With the
	// pauses in between that takes a second or two.
	settleAttempts = 8
	// settleTimeout limits how long that takes where the store answers slowly or not at
	// all, as a database without a majority does: each attempt then takes seconds.
	settleTimeout = 15 * time.Second
)

// putWrites is Store.Put with an outcome that is known: nil, ErrConflict or a fault,
// and only a fault of kind fault.Uncertain leaves it open after all. The writes serve a
// number of calls.
func (s *Service) putWrites(ctx context.Context, trace *batchtrace.Batch, calls int, writes []Write) error {
	err := s.store.Put(ctx, writes...)
	trace.EndStep(stepWrite, err).Describe(calls, len(writes), sizeOf(writes))
	if err != nil && !errors.Is(err, ErrConflict) && !fault.NothingStored(err) {
		err = s.settle(ctx, writes, err)
		trace.EndStep(stepSettle, err)
	}
	if err == nil {
		for _, w := range writes {
			s.options.Changed(w.Key, w.Expect+1)
		}
	}
	return err
}

// settle finds out, or brings about, the outcome of writes whose Put failed with cause.
func (s *Service) settle(ctx context.Context, writes []Write, cause error) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	if errors.Is(cause, ErrIncomplete) {
		return s.completeWrites(ctx, writes, cause)
	}
	return s.settleWrites(ctx, writes, cause)
}

// completeWrites repeats writes until all are stored or some never can be: a store
// without transactions may have stored only some. A caller gets ErrConflict only when
// none of them is stored: then another writer overtook the first, and the store begins
// no other before the first.
func (s *Service) completeWrites(ctx context.Context, writes []Write, cause error) error {
	pauses := newPauses(5*time.Millisecond, time.Second)
	for range settleAttempts {
		err := s.store.Put(ctx, writes...)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, ErrPartial):
			return fault.Wrap(fault.Uncertain, err, "Only some of the documents were written")
		case errors.Is(err, ErrConflict) && s.readBack(ctx, writes[:1]) == lost:
			return ErrConflict
		}
		s.refuseWaiting(writes, err)
		if s.clock.Sleep(ctx, pauses.NextBackOff()) != nil {
			break
		}
	}
	return fault.Wrap(fault.Uncertain, cause, "It is not known whether all documents were written")
}

// settleWrites finds out what became of writes whose Put failed with cause. Where they
// have left no trace it repeats them: they have the same id and expect the same
// versions, so that of the two at most one can take effect, however late the first
// arrives.
func (s *Service) settleWrites(ctx context.Context, writes []Write, cause error) error {
	pauses := newPauses(5*time.Millisecond, time.Second)
	for range settleAttempts {
		switch s.readBack(ctx, writes) {
		case stored:
			return nil
		case lost:
			return ErrConflict
		case absent:
			if s.store.Put(ctx, writes...) == nil {
				return nil
			}
		}
		if s.clock.Sleep(ctx, pauses.NextBackOff()) != nil {
			break
		}
	}
	return fault.Wrap(fault.Uncertain, cause, "It is not known whether the document was written")
}

// refuseWaiting refuses the edits that wait behind writes of unknown outcome, if err
// reports that the store is unavailable: to settle the outcome may take long. The
// caller has the turn of the documents.
func (s *Service) refuseWaiting(writes []Write, err error) {
	if !fault.NothingStored(err) {
		return
	}
	for _, w := range writes {
		s.mu.Lock()
		l := s.queues[w.Key]
		s.mu.Unlock()
		for _, it := range l.queue.Clear() {
			it.Value.err = fault.Wrap(fault.Unavailable, err, "The documents are away")
			it.Finish()
		}
	}
}

// writeTrace is the finding about writes that are stored all or none, after reading
// back.
type writeTrace int

const (
	unknown writeTrace = iota
	stored             // they took effect
	absent             // they have not taken effect, but still could
	lost               // they did not and never will
)

// readBack reads the documents back. In a store that writes several at once, any one
// of them decides for all.
func (s *Service) readBack(ctx context.Context, writes []Write) writeTrace {
	keys := make([]string, len(writes))
	for i, w := range writes {
		keys[i] = w.Key
	}
	documents, err := s.store.Get(ctx, keys...)
	if err != nil {
		s.refuseWaiting(writes, err)
		return unknown
	}
	var open, taken, passed int
	for i, w := range writes {
		switch {
		case documents[i].ID == w.ID:
			return stored
		case documents[i].Version <= w.Expect:
			open++
		case documents[i].Version == w.Expect+1:
			taken++
		default:
			passed++ // The write that took this version can no longer be found.
		}
	}
	switch {
	case taken > 0, open > 0 && passed > 0:
		return lost
	case open > 0:
		return absent
	}
	return unknown
}
