package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/acclaim-dev/acclaim/api/terminal"
)

// watchInterval is the time between two looks at a poll.
const watchInterval = time.Second

func newPoll(s *session) *cobra.Command {
	command := &cobra.Command{
		Use: "poll", Short: "Watch polls", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	command.AddCommand(newPollWatch(s))
	return command
}

func newPollWatch(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "watch POLL",
		Short: "Show the results of a Poll while they change, until it ends",
		Long: `Watch asks the service for the results each second, and prints them when they have changed:
as bars that move on a terminal, else one after the other. It ends with the poll. It sees
results that are hidden from viewers.

You need the rights to pods/exec and pods/portforward in the namespace of the Backend.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			connection, err := s.connect()
			if err != nil {
				return err
			}
			ticker := time.NewTicker(watchInterval)
			defer ticker.Stop()
			w := watcher{
				open: func(ctx context.Context) (*remotePoll, error) { return connection.openPoll(ctx, args[0]) },
				next: ticker.C, screen: terminal.NewScreen(c.OutOrStdout()), errors: c.ErrOrStderr(),
			}
			if err = w.watch(c.Context()); c.Context().Err() != nil {
				return nil // the user has seen enough
			}
			return err
		},
	}
}

// watcher shows a poll until it ends. It opens the way to the service again when that ends,
// with a pod or a token.
type watcher struct {
	open   func(ctx context.Context) (*remotePoll, error)
	next   <-chan time.Time
	screen *terminal.Screen
	errors io.Writer
}

// watch returns nil after the poll has ended, or the error of the first attempt to open it.
func (w *watcher) watch(ctx context.Context) error {
	p, err := w.open(ctx)
	if err != nil {
		return err
	}
	defer func() { p.stop() }()
	shown := ""
	for {
		result, err := p.read(ctx)
		if picture := result.Draw(0); err == nil && picture != shown {
			shown = picture
			if err := w.screen.Show(result.Draw); err != nil {
				return err
			}
		}
		if err != nil && ctx.Err() == nil {
			p = w.openAgain(ctx, p, err)
		}
		if err == nil && result.Poll.Status == "expired" {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.next:
		}
	}
}

// openAgain returns another way to the service, or the one that failed where there is none.
func (w *watcher) openAgain(ctx context.Context, failed *remotePoll, cause error) *remotePoll {
	_, _ = fmt.Fprintf(w.errors, "%v; trying again\n", cause)
	p, err := w.open(ctx)
	if err != nil {
		return failed
	}
	failed.stop()
	return p
}

// read returns the poll as the service has it.
func (p *remotePoll) read(ctx context.Context) (r terminal.PollResult, err error) {
	if r.Poll, err = p.service.ReadPoll(ctx, p.PollID()); err == nil {
		r.Statistics, err = p.service.ReadStatistics(ctx, p.PollID())
	}
	return r, err
}
