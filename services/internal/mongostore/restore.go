package mongostore

import (
	"context"
	"fmt"
	"math"

	"github.com/acclaim-dev/acclaim/services/internal/document"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Restore stores a document as it was in another store, its version and write id
// included. Where one was ever written it stores nothing and returns
// [document.ErrConflict].
//
// The place of version 1 is then taken too, so that a first write is refused from
// here on. One that was made between the look at the document and that is an
// error: nobody may write the document meanwhile. Readers see the newest version
// alone, and the placeholder is never that.
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
	restored := document.Write{Key: key, Expect: d.Version - 1, ID: d.ID, Body: d.Body}
	err := s.insert(ctx, restored, markOf([]document.Write{restored}))
	if err != nil || d.Version == 1 {
		return err
	}
	return s.claim(ctx, key, d)
}

// claim takes the place of version 1 for a document that was restored.
func (s *Store) claim(ctx context.Context, key string, d document.Document) error {
	placeholder := document.Write{Key: key, ID: d.ID, Body: []byte("{}")}
	if err := s.insert(ctx, placeholder, markOf([]document.Write{placeholder})); err != nil {
		return fmt.Errorf("%s was restored at version %d while it was written: %w", key, d.Version, unknown(err))
	}
	return nil
}
