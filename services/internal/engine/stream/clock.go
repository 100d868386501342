package stream

import (
	"context"
	"time"
)

// Clock is the only source of time an engine has.
type Clock interface {
	// Now returns the wall clock's time. It may step backwards.
	Now() time.Time
	// Sleep waits for d, or until ctx is done and then returns its error.
	Sleep(ctx context.Context, d time.Duration) error
}

// SystemClock returns the clock of the machine.
func SystemClock() Clock { return systemClock{} }

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
