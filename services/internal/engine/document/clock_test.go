package document_test

import (
	"context"
	"sync/atomic"
	"time"
)

// clock counts the pauses and takes no time over them.
type clock struct{ pauses atomic.Int64 }

func newClock() *clock { return new(clock) }

func (c *clock) Sleep(ctx context.Context, _ time.Duration) error {
	c.pauses.Add(1)
	return ctx.Err()
}
