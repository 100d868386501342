package storetest

import (
	"context"
	"time"
)

// Hasty is the clock of a [document.Service] that never waits.
type Hasty struct{}

// Sleep returns the error of a context that has ended.
func (Hasty) Sleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }
