// Command bench measures the program against its own ceiling: the same
// router, credential check, decoding and encoding, with answers of the same size
// and no storage behind them. Both run as processes of their own and are driven
// over loopback, in turns, so that a noisy machine disturbs both alike and the
// ratio stays meaningful.
//
// It imports nothing of the program and checks from outside that every count is
// exact. Missing a target is a finding, not a failure: the exit status is 1 only
// when a measurement could not be made or a count is wrong.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// benchOptions are the command line, read.
type benchOptions struct {
	rounds    int
	duration  time.Duration
	voters    int
	pollSize  int
	listeners int
	listed    int
	cases     []string
	dir       string
	replicas  bool
	side      bool
	mongodb   string
	json      bool
	profile   string
	progress  io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 {
		switch args[0] {
		case bareCommand:
			return serveBare(ctx, stdout)
		case peersCommand:
			return comparePeers(ctx, args[1:], stdout, stderr)
		case audienceCommand:
			return measureAudience(ctx, args[1:], stdout, stderr)
		case killCommand:
			return measureKill(ctx, args[1:], stdout, stderr)
		case idleCommand:
			return measureIdle(ctx, args[1:], stdout, stderr)
		case crowdCommand:
			return measureCrowd(ctx, args[1:], stdout, stderr)
		case listenCommand:
			return listenForParent(ctx, args[1:], os.Stdin, stdout)
		}
	}
	o, err := parseOptions(args, stderr)
	if err != nil {
		return err
	}
	r, err := measureAll(ctx, o)
	if err != nil {
		return err
	}
	if o.json {
		return r.writeJSON(stdout)
	}
	return r.writeTable(stdout)
}

func parseOptions(args []string, stderr io.Writer) (benchOptions, error) {
	o := benchOptions{progress: stderr}
	names := []string{updatesCase, gamesCase, matchesCase}
	for _, c := range cases() {
		names = append(names, c.name)
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.rounds, "rounds", 5, "measured `rounds` of each case, ceiling and program in turns")
	flags.DurationVar(&o.duration, "duration", 3*time.Second, "`length` of a round")
	flags.IntVar(&o.voters, "voters", 50_000, "`number` of distinct voters, signed in advance")
	flags.IntVar(&o.pollSize, "poll-size", 1_000_000, "`voters` of the poll whose memory and cold start are reported; 0 leaves it out")
	flags.IntVar(&o.listeners, "listeners", 10_000, "idle `listeners` whose memory and delays are reported; 0 leaves events out")
	flags.IntVar(&o.listed, "listed", 100_000, "configured `polls` whose list is read page by page; 0 leaves it out")
	flags.StringVar(&o.dir, "dir", "", "`directory` for the data, on the disk to be measured (default the system's for temporary files)")
	flags.BoolVar(&o.replicas, "replicas", true, "measure several programs over one database, too")
	flags.BoolVar(&o.side, "side-by-side", true, "measure one and three programs over a model of a database that takes inserts side by side, too")
	flags.StringVar(&o.mongodb, "mongodb-uri", "", "`server` for them, whose databases acclaim_bench_* are dropped (default $MONGODB_URI; hack/mongod without)")
	flags.BoolVar(&o.json, "json", false, "print JSON")
	flags.StringVar(&o.profile, "profile", "", "`file` for the CPU profile of the program in all rounds")
	selected := flags.String("cases", strings.Join(names, ","), "comma-separated `names` of the cases to run, may be empty")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.mongodb = cmp.Or(o.mongodb, os.Getenv("MONGODB_URI")) // no default that -help would print
	o.cases = strings.FieldsFunc(*selected, func(r rune) bool { return r == ',' })
	return o, o.validate(names, flags.Args())
}

func (o benchOptions) validate(names, rest []string) error {
	for _, name := range o.cases {
		if !slices.Contains(names, name) {
			return fmt.Errorf("no case %q; there are %s", name, strings.Join(names, ", "))
		}
	}
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q", rest[0])
	case o.rounds < 1 || o.duration <= 0 || o.pollSize < 0 || o.listeners < 0 || o.listed < 0:
		return errors.New("-rounds and -duration must be positive, -poll-size, -listeners and -listed not negative")
	case o.voters < 1_000:
		return errors.New("-voters must be at least 1000, so that no voter waits for its own vote")
	}
	return nil
}
