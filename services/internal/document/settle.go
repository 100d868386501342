package document

import (
	"context"
	"errors"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// settleAttempts is how often a write of unknown outcome is looked for. With the
// pauses in between that takes a second or two.
const settleAttempts = 8

// put is Store.Put with an outcome that is known: nil, ErrConflict or a fault,
// and only a fault of kind fault.Uncertain leaves it open after all.
func (s *Service) put(ctx context.Context, writes []Write) error {
	err := s.store.Put(ctx, writes...)
	switch {
	case err == nil || errors.Is(err, ErrConflict) || notStored(err):
		return err
	case errors.Is(err, ErrIncomplete):
		return s.complete(ctx, writes, err)
	}
	return s.settle(ctx, writes, err)
}

// complete repeats writes of which a store without transactions may have stored
// some, until all are there or it is known that they never will be. A caller
// hears of ErrConflict only when none of them is there: then the first was
// overtaken, before which the store begins no other.
func (s *Service) complete(ctx context.Context, writes []Write, cause error) error {
	pauses := newPauses(5*time.Millisecond, time.Second)
	for range settleAttempts {
		err := s.store.Put(ctx, writes...)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, ErrPartial):
			return fault.Wrap(fault.Uncertain, err, "Only some of the documents were written")
		case errors.Is(err, ErrConflict) && s.look(ctx, writes[:1]) == lost:
			return ErrConflict
		}
		s.refuseWaiting(writes, err)
		if s.clock.Sleep(ctx, pauses.NextBackOff()) != nil {
			break
		}
	}
	return fault.Wrap(fault.Uncertain, cause, "It is not known whether all documents were written")
}

// notStored reports whether a failed write is certain to have stored nothing.
func notStored(err error) bool {
	kind := fault.KindOf(err)
	return kind == fault.Storage || kind == fault.Unavailable
}

// settle finds out what became of writes whose Put failed with cause. Where they
// have left no trace it repeats them: they bear the same id and expect the same
// versions, so that of the two at most one can take effect, however late the
// first arrives.
func (s *Service) settle(ctx context.Context, writes []Write, cause error) error {
	pauses := newPauses(5*time.Millisecond, time.Second)
	for range settleAttempts {
		switch s.look(ctx, writes) {
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

// refuseWaiting answers those whose edits wait behind writes of unknown fate, if
// err says that the store is away. To find out may take long, and they need not
// wait for it. The caller has the turn of the documents.
func (s *Service) refuseWaiting(writes []Write, err error) {
	if !notStored(err) {
		return
	}
	for _, w := range writes {
		s.mu.Lock()
		l := s.lanes[w.Key]
		s.mu.Unlock()
		for _, it := range l.queue.Clear() {
			it.Value.err = fault.Wrap(fault.Unavailable, err, "The documents are away")
			it.Finish()
		}
	}
}

// trace is what reading back tells of writes that are stored all or none.
type trace int

const (
	unknown trace = iota
	stored        // they took effect
	absent        // they have not taken effect, but still could
	lost          // they did not and never will
)

// look reads the documents back. Of a store that writes several at once, any of
// them tells of all.
func (s *Service) look(ctx context.Context, writes []Write) trace {
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
			passed++ // Whoever took the version in question can no longer be seen.
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
