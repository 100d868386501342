package mongostore

import (
	"context"
	"fmt"
	"math"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Restore stores a document as it was in another store, its version and write id
// included. Where the document was ever written it stores nothing and returns
// [document.ErrConflict].
//
// It also inserts a placeholder for version 1, so that a first write is refused
// from then on. A first write in between is an error: no process may write the
// document meanwhile. Readers see the newest version alone, which the placeholder
// never is.
func (s *Store) Restore(ctx context.Context, key string, d document.Document) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if d.Version == 0 || d.Version > math.MaxInt64 {
		return fault.Newf(fault.Invalid, "a document cannot have version %d", d.Version)
	}
	s.several.RLock()
	defer s.several.RUnlock()
	switch newest, err := s.versionOf(ctx, key); {
	case err != nil:
		return err
	case newest > 0:
		return document.ErrConflict
	}
	restored := document.Write{Key: key, Expect: d.Version - 1, ID: d.ID, Body: d.Body, Keys: d.Keys}
	err := s.insertVersion(ctx, restored, markOf([]document.Write{restored}))
	if err != nil || d.Version == 1 {
		return err
	}
	return s.insertPlaceholder(ctx, key, d)
}

// insertPlaceholder inserts version 1 of a restored document.
func (s *Store) insertPlaceholder(ctx context.Context, key string, d document.Document) error {
	placeholder := document.Write{Key: key, ID: d.ID, Body: []byte("{}")}
	if err := s.insertVersion(ctx, placeholder, markOf([]document.Write{placeholder})); err != nil {
		return fmt.Errorf("%s was restored at version %d while it was written: %w", key, d.Version, withoutKind(err))
	}
	return nil
}
