// Command scale measures the operator with many Polls: the real program against
// a real API server and the real voting service, each a process of its own, and
// no kubelet. It reports how long it takes until all Polls are ready, what that
// costs both servers in requests, how much memory it takes, what looking at
// everything again writes (nothing), and how long a new Poll waits while the
// others exist.
//
// It uses the programs through their public interfaces and imports the API types
// alone. It reports a figure that is worse than promised; the exit status is 1 when
// a measurement fails.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/schollz/progressbar/v3"
	"github.com/spf13/pflag"
	"golang.org/x/term"
	ctrl "sigs.k8s.io/controller-runtime"
)

// options are the command line, read.
type options struct {
	polls, extensions int
	probes            int
	reportInterval    time.Duration
	shared            bool
	operatorFlags     []string
	progress          *os.File
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := options{progress: os.Stderr}
	f := pflag.CommandLine
	f.IntVar(&o.polls, "polls", 10_000, "Polls to declare")
	f.IntVar(&o.extensions, "extensions", 100, "Extensions to divide them among")
	f.IntVar(&o.probes, "probes", 100, "new Polls declared one by one to measure how long each waits")
	f.DurationVar(&o.reportInterval, "report-interval", 0, "reportInterval of the Polls: counts the reports of one interval and measures nothing else once all are ready; 0 is none")
	f.BoolVar(&o.shared, "shared", false, "declare Extensions and Polls in another namespace than the Backend's")
	f.StringSliceVar(&o.operatorFlags, "operator-flags", nil, "further flags of the operator")
	pflag.Parse()
	ctrl.SetLogger(logr.Discard())
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "acclaim-scale-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	o.logf("building the programs and starting the servers")
	w, err := newWorld(ctx, o, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	r, err := measureAll(ctx, w)
	if err != nil {
		return err
	}
	return r.write(out)
}

// logf tells the one who waits what is being done.
func (o options) logf(format string, args ...any) {
	_, _ = fmt.Fprintf(o.progress, "scale: "+format+"\n", args...) // a failure to report progress cannot be reported
}

// newProgressBar returns a progress bar that is seen on a terminal only.
func (o options) newProgressBar(what string, steps int) *progressbar.ProgressBar {
	return progressbar.NewOptions(steps,
		progressbar.OptionSetWriter(o.progress),
		progressbar.OptionSetDescription(what),
		progressbar.OptionShowCount(),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetVisibility(term.IsTerminal(int(o.progress.Fd()))))
}
