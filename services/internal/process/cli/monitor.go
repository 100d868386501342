package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/acclaim-dev/acclaim/api/terminal"
	"github.com/acclaim-dev/acclaim/api/verifiable"
)

// monitorFlags say which log to follow, and how.
type monitorFlags struct {
	keys   []string
	state  string
	every  time.Duration
	once   bool
	asJSON bool
}

func newMonitor() *cobra.Command {
	var f monitorFlags
	cmd := &cobra.Command{
		Use:     "monitor SITE",
		GroupID: voteGroup,
		Short:   "Follow a log of verifiable polls, and name what its server may not do",
		Long: `Monitor reads each record of a log once, and names:

  - two histories under one key, a log or a poll that becomes shorter
  - two lists of votes for one poll without a reset or an end between them
  - a final result that changes, times that go back, records without a meaning

One monitor of a log is enough for all its viewers, if its operator tells them. It reads no votes:
"acclaim audit" recounts a poll. It runs until it is interrupted, or with --once until it
has read what is there. --state keeps what it knows between runs: without it, a monitor that
starts again cannot notice a fork from before. A finding stays in the state.

` + siteHelp + `

Exit status 0: nothing is wrong.
Exit status 1: something is wrong; the lines WRONG name it.
Exit status 2: with --once, a file that the check needs could not be read; wrong flags.`,
		Example: `  acclaim monitor https://polls.example --key "$(cat polls.example.vkey)" --state polls.example.json`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.every <= 0 {
				return errors.New("--every must be positive")
			}
			m, err := f.open()
			if err != nil {
				return err
			}
			err = f.follow(cmd.Context(), m, openSite(args[0]), cmd.OutOrStdout(), cmd.ErrOrStderr())
			if len(m.Findings) > 0 {
				return foundProblems(len(m.Findings))
			}
			return err
		},
	}
	cmd.Flags().StringArrayVar(&f.keys, "key", nil, keysHelp)
	cmd.Flags().StringVar(&f.state, "state", "", "file that keeps the monitor's state between runs")
	cmd.Flags().DurationVar(&f.every, "every", 10*time.Second, "time between two looks")
	cmd.Flags().BoolVar(&f.once, "once", false, "look once")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print each look as a line of JSON")
	requireFlag(cmd, "key")
	return cmd
}

func (f *monitorFlags) open() (*verifiable.Monitor, error) {
	keys, err := verifiable.ParseKeys(f.keys)
	if err != nil || f.state == "" {
		return verifiable.NewMonitor(keys), err
	}
	m, err := readMonitor(f.state, keys)
	if errors.Is(err, fs.ErrNotExist) {
		return verifiable.NewMonitor(keys), nil
	}
	return m, err
}

// follow looks at the log until the context ends, or once.
func (f *monitorFlags) follow(ctx context.Context, m *verifiable.Monitor, site verifiable.Source, stdout, stderr io.Writer) error {
	ticker := time.NewTicker(f.every)
	defer ticker.Stop()
	shown := 0
	for {
		size := m.Log.Size
		unread := m.Update(ctx, site)
		if ctx.Err() != nil {
			return nil // interrupted
		}
		if m.Log.Size > size || len(m.Findings) > shown || f.once && unread == nil {
			if err := f.report(m, stdout, shown); err != nil {
				return err
			}
		}
		shown = len(m.Findings)
		if f.once {
			return unread
		}
		if unread != nil {
			_, _ = fmt.Fprintln(stderr, "not checked:", terminal.Plain(unread.Error()))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// monitorLine is one look in JSON.
type monitorLine struct {
	Size     int64                `json:"size"`
	Polls    int                  `json:"polls"`
	At       int64                `json:"at"`
	Findings []verifiable.Finding `json:"findings"`
}

// report prints what a look found, and stores the state. It leaves out findings printed before.
func (f *monitorFlags) report(m *verifiable.Monitor, stdout io.Writer, shown int) error {
	if err := f.save(m); err != nil {
		return err
	}
	line := monitorLine{m.Log.Size, len(m.Polls), m.At, m.Findings[shown:]}
	return writeReport(stdout, f.asJSON, line, func(b *strings.Builder) {
		fmt.Fprintf(b, "%d records, %d polls, the newest record of %s\n", line.Size, line.Polls, time.UnixMilli(line.At).UTC().Format(time.RFC3339))
		drawFindings(b, line.Findings)
	})
}

func (f *monitorFlags) save(m *verifiable.Monitor) (err error) {
	if f.state == "" {
		return nil
	}
	out, err := openOutput(f.state, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.discard()) }()
	if err := json.NewEncoder(out.file).Encode(m); err != nil {
		return err
	}
	return out.keepIf(true)
}
