package document

import (
	"context"
	"fmt"
	"slices"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// EditError says which of several edits was refused.
type EditError struct {
	// Index is that of the edit.
	Index int
	// Err is the fault it was refused with.
	Err error
}

func (e *EditError) Error() string { return fmt.Sprintf("edit %d: %v", e.Index, e.Err) }

func (e *EditError) Unwrap() error { return e.Err }

// EditAll applies edits of distinct documents, all or none. It returns when they
// are durable. All are evaluated before any is written; the first one that
// cannot be applied refuses all, with an [*EditError]. Faults are those of Edit.
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
	if err := s.admit(); err != nil {
		return err
	}
	defer s.callers.Add(-1)
	release, err := s.acquire(ctx, sorted)
	if err != nil {
		return err
	}
	defer release()
	return s.retry(ctx, func() error {
		documents, err := s.read(ctx, keys)
		if err != nil {
			return err
		}
		writes, err := evaluateAll(documents, edits)
		if err != nil {
			return err
		}
		// From here on the outcome matters more than the caller's patience.
		return s.put(s.ctx, writes)
	})
}

// evaluateAll returns the writes that edits come to. An edit that changes
// nothing is a write too: it makes sure that it still changes nothing when the
// others take effect.
func evaluateAll(documents []Document, edits []Edit) ([]Write, error) {
	id := newWriteID()
	writes := make([]Write, len(edits))
	for i, edit := range edits {
		body, err := edit.evaluate(documents[i])
		if err != nil {
			return nil, &EditError{Index: i, Err: err}
		}
		writes[i] = Write{Key: edit.Key, Expect: documents[i].Version, ID: id, Body: body}
	}
	return writes, nil
}
