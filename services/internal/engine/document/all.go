package document

import (
	"context"
	"fmt"
	"slices"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// EditError names the refused one of several edits.
type EditError struct {
	// Index is the position of the edit, from 0.
	Index int
	// Err is the fault it was refused with.
	Err error
}

func (e *EditError) Error() string { return fmt.Sprintf("edit %d: %v", e.Index, e.Err) }

func (e *EditError) Unwrap() error { return e.Err }

// EditAll applies edits of distinct documents, all or none. It returns when they
// are durable. All are evaluated before any is written; the first one that
// cannot be applied refuses all, with an [*EditError]. Faults are those of Edit. A key
// belongs to one edit, unless OnceForAll is set.
func (s *Service) EditAll(ctx context.Context, edits []Edit) error {
	if len(edits) == 0 {
		return nil
	}
	keys := make([]string, len(edits))
	for i, edit := range edits {
		keys[i] = edit.Key
	}
	sorted := slices.Compact(slices.Sorted(slices.Values(keys)))
	if len(sorted) < len(keys) {
		return fault.New(fault.Internal, "Several edits of one document at once")
	}
	if err := s.admitCaller(); err != nil {
		return err
	}
	defer s.callers.Add(-1)
	call := s.options.Traces.NewCall(ctx)
	s.options.Traces.NoteQueued(call)
	release, err := s.acquireTurns(ctx, sorted)
	if err != nil {
		return err
	}
	defer release()
	trace := s.beginTrace(call)
	defer trace.Record(call)
	return s.retryConflicts(ctx, trace, func() error {
		documents, err := s.readDocuments(ctx, keys)
		trace.EndStep(stepRead, err)
		if err != nil {
			return err
		}
		if known, err := findSharedKey(documents, edits); known || err != nil {
			return err
		}
		writes, err := s.evaluateAll(ctx, documents, edits)
		trace.EndStep(stepDecide, nil)
		if err != nil {
			return err
		}
		// From here on the write continues even if the caller's context ends.
		return s.putWrites(s.ctx, trace, 1, writes)
	})
}

// findSharedKey reports whether a document has the key of all edits.
func findSharedKey(documents []Document, edits []Edit) (known bool, err error) {
	for i, edit := range edits {
		if !edit.OnceForAll || edit.Once == nil {
			continue
		}
		if known, err := findKey(documents[i].Keys, edit.Once); known || err != nil {
			return known, err
		}
	}
	return false, nil
}

// evaluateAll returns the writes that edits come to. An edit that changes
// nothing is a write too: it makes sure that it still changes nothing when the
// others take effect.
func (s *Service) evaluateAll(ctx context.Context, documents []Document, edits []Edit) ([]Write, error) {
	id := newWriteID()
	writes := make([]Write, len(edits))
	for i, edit := range edits {
		before := documents[i]
		p := makePlan(before, []*editItem{{Value: &editRequest{edit: edit}}}, func(e Edit, d Document) ([]byte, error) { return s.evaluations.run(ctx, e, d) })
		if err := p.verdicts[0].err; err != nil {
			return nil, &EditError{Index: i, Err: err}
		}
		writes[i] = p.buildWrite(edit.Key, id)
	}
	return writes, nil
}
