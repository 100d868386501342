package document

import (
	"slices"

	"github.com/acclaim-dev/acclaim/services/internal/engine/batchtrace"
)

// The steps of a read or a batch of edits.
const (
	stepRead   = "read"   // the documents are read
	stepDecide = "decide" // the changes are evaluated, one after the other
	stepWrite  = "write"  // the new versions are stored
	stepSettle = "settle" // the outcome of a write is found out
	stepWait   = "wait"   // between two attempts
)

// beginTrace returns the trace of what begins now for a call, nil for one that is not
// sampled.
func (s *Service) beginTrace(call *batchtrace.Call) *batchtrace.Batch {
	if call == nil {
		return nil
	}
	return s.options.Traces.NewBatch()
}

// beginBatchTrace returns the trace of a batch that leaves its queue now, nil where no edit of
// it is sampled.
func (s *Service) beginBatchTrace(edits []*editItem) *batchtrace.Batch {
	i := slices.IndexFunc(edits, func(it *editItem) bool { return it.Value.call != nil })
	if i < 0 {
		return nil
	}
	return s.beginTrace(edits[i].Value.call)
}

// sizeOf returns how many bytes the bodies of writes have.
func sizeOf(writes []Write) (size int) {
	for i := range writes {
		size += len(writes[i].Body)
	}
	return size
}
