package document

import (
	"context"
	"runtime"

	"golang.org/x/sync/semaphore"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// defaultEvaluationBytes is the heap that all patches which are evaluated at one time
// may take together: 64 MiB, two of the heaviest bodies of 256 KiB.
const defaultEvaluationBytes = 64 << 20

// heavyWeight is the weight in bytes from which on a patch is heavy: some twenty operations,
// which may copy and move enough to keep a processor busy for 50 ms.
const heavyWeight = 8 << 10

// patchEvaluations bounds the heap and the processors of the patches that are evaluated at
// one time.
type patchEvaluations struct {
	capacity int64
	free     *semaphore.Weighted
	// heavy has a place for each heavy patch that is evaluated: for a quarter of the
	// processors, so that they delay nothing but one another.
	heavy *semaphore.Weighted
}

func newEvaluations(capacity int64) patchEvaluations {
	return patchEvaluations{capacity, semaphore.NewWeighted(capacity), semaphore.NewWeighted(int64(max(1, runtime.GOMAXPROCS(0)/4)))}
}

// run returns the body that an edit makes of a document. It waits until the heap
// which that takes is free, for a heavy patch also until it is its turn, and refuses a patch that alone takes more than all.
func (p patchEvaluations) run(ctx context.Context, e Edit, before Document) ([]byte, error) {
	weight := e.Change.weight()
	if weight == 0 {
		return e.applyTo(before)
	}
	if weight > p.capacity {
		return nil, fault.New(fault.TooLarge, "The patch has too many members and elements")
	}
	if weight >= heavyWeight {
		if err := p.heavy.Acquire(ctx, 1); err != nil {
			return nil, errTurn(err)
		}
		defer p.heavy.Release(1)
	}
	weight = min(weight+decodedWeight(before.Body)+copyFactor*int64(e.limit()), p.capacity)
	if err := p.free.Acquire(ctx, weight); err != nil {
		return nil, errTurn(err)
	}
	defer p.free.Release(weight)
	return e.applyTo(before)
}

func errTurn(err error) error {
	return fault.Wrap(fault.Unavailable, err, "The request ended before its turn")
}
