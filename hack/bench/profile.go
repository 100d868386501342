package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/google/pprof/profile"
)

// profiler collects CPU profiles of the program under measurement. Every round is
// a little slower for it, so figures of such a run are not to be quoted.
type profiler struct {
	profiles []*profile.Profile
}

// start profiles a program for a time. stop waits for the profile and keeps it.
func (p *profiler) start(ctx context.Context, c *client, d time.Duration) (stop func() error) {
	if p == nil {
		return func() error { return nil }
	}
	done := make(chan error, 1)
	go func() {
		body, err := fetch(ctx, fmt.Sprintf("%s/debug/pprof/profile?seconds=%d", c.admin, max(1, int(d.Seconds()))), "")
		if err != nil {
			done <- err
			return
		}
		defer body.Close()
		one, err := profile.Parse(body)
		p.profiles = append(p.profiles, one)
		done <- err
	}()
	return func() error { return <-done }
}

// write merges what was collected into a file.
func (p *profiler) write(name string) (err error) {
	if len(p.profiles) == 0 {
		return errors.New("there is no profile to write")
	}
	merged, err := profile.Merge(p.profiles)
	if err != nil {
		return err
	}
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return merged.Write(file)
}
