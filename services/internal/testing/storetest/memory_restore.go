package storetest

import (
	"context"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Restore implements [Restorer].
func (m *Memory) Restore(ctx context.Context, key string, d document.Document) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if d.Version == 0 {
		return fault.New(fault.Invalid, "a document begins with version 1")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.documents[key].Version > 0 {
		return document.ErrConflict
	}
	m.documents[key] = d
	return nil
}
