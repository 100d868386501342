package main

import (
	"context"
	"fmt"
	"io"
	"time"
)

// report tells the user what is going on, and how long it takes.
type report struct {
	w     io.Writer
	began time.Time
}

func newReport(w io.Writer) *report {
	return &report{w: w, began: time.Now()}
}

// logf prints a line with the time since the beginning.
func (r *report) logf(format string, arguments ...any) {
	_, _ = fmt.Fprintf(r.w, "%6.1f s  %s\n", time.Since(r.began).Seconds(), fmt.Sprintf(format, arguments...))
}

// reportStep does what takes long and says so: when it begins, every half minute that
// it is not over, and how long it took.
func (r *report) reportStep(ctx context.Context, what string, do func() error) error {
	began := time.Now()
	r.logf("%s", what)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		ticker := time.NewTicker(30 * time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				r.logf("still %s", what)
			}
		}
	}()
	if err := do(); err != nil {
		return err
	}
	r.logf("%s took %.1f s", what, time.Since(began).Seconds())
	return nil
}
