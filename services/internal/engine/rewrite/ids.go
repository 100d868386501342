package rewrite

import (
	"context"
	"fmt"
	"strings"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

// VisitIDs calls visit with the ids of viewers that a stream holds, some of them several times:
// those of its entries, of its checkpoint, and of erasures that are not finished. It changes
// nothing.
func (r *Rewriter) VisitIDs(ctx context.Context, name string, visit func(id string)) error {
	visitOriginal := func(id string) {
		if id != "" && !strings.HasPrefix(id, erasedPrefix) {
			visit(id)
		}
	}
	x := &logRedaction{Rewriter: r, name: name, wanted: &stream.ControlRecord{Kind: stream.RecordErasing}}
	x.inspectEntry = func(ids []string) {
		for _, id := range ids {
			visitOriginal(id)
		}
	}
	x.inspect = func(_ *stream.Chunk, n *stream.ControlRecord) error {
		if n == nil {
			return nil
		}
		for _, naming := range n.Names {
			visitOriginal(naming.ID)
		}
		if !n.HasKind(stream.RecordCheckpoint) {
			return nil
		}
		return r.content.VisitCheckpointIDs(n, visitOriginal)
	}
	x.resetLog()
	if err := x.readLog(ctx); err != nil {
		return fmt.Errorf("look for viewers in %s: %w", name, err)
	}
	return nil
}
