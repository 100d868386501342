// Command abuse shows that the program stays of use to ordinary viewers while
// others attack it: the real program with an embedded store, or with a database and
// other processes beside it, under a limit of open files and a memory budget, with
// voters, subscribers and receivers of sinks (the victims) beside one attack after
// the other. It compares what the victims experience, the program's memory and its
// descriptors before, during and ten seconds after each attack.
//
// It imports nothing of the program. The victims run in this process, each attack
// in a process of its own at the lowest priority, so that the load generator's own
// delays do not count against the program. The exit status is 1 when a row of the
// table fails.
package main

import (
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
	"text/tabwriter"

	"github.com/acclaim-dev/acclaim/hack/harness"
)

// runOptions are the command line, read.
type runOptions struct {
	attacks  []attackCase
	list     bool
	without  bool // take the defences out, one after the other
	dir      string
	progress io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "abuse:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	if len(args) > 0 && args[0] == attackCommand {
		return serveAttack(ctx, stdin, stdout)
	}
	o, err := parseOptions(args, stderr)
	if err != nil {
		return err
	}
	if o.list {
		return writeList(stdout, o.attacks)
	}
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "acclaim-abuse-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.dir)) }()
	}
	if o.without {
		rows, err := measureUndefended(ctx, o)
		if err != nil {
			return err
		}
		return writeUndefended(stdout, rows)
	}
	rows, err := measureAll(ctx, o)
	if err != nil {
		return err
	}
	return writeReport(stdout, rows)
}

func parseOptions(args []string, stderr io.Writer) (runOptions, error) {
	o := runOptions{attacks: attackCases(), progress: stderr}
	flags := flag.NewFlagSet("abuse", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.BoolVar(&o.without, "undefended", false, "show for each defence that its attack succeeds without it")
	flags.BoolVar(&o.list, "list", false, "list the attacks and end")
	flags.StringVar(&o.dir, "dir", "", "`directory` for the data and the logs, which are then kept (default the system's for temporary files)")
	only := flags.String("only", "", "comma-separated `names` of the attacks to run (default all)")
	slice := flags.String("slice", "1/1", "`part/parts` of the table to run, such as 2/4")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if *only == "" {
		attacks, err := harness.SelectSlice(o.attacks, *slice)
		o.attacks = attacks
		return o, err
	}
	o.attacks = nil
	for name := range strings.SplitSeq(*only, ",") {
		attack, err := findAttack(name)
		if err != nil {
			return o, err
		}
		o.attacks = append(o.attacks, attack)
	}
	return o, nil
}

func (o runOptions) includes(attack string) bool {
	return slices.ContainsFunc(o.attacks, func(a attackCase) bool { return a.name == attack })
}

func findAttack(name string) (attackCase, error) {
	all := attackCases()
	i := slices.IndexFunc(all, func(a attackCase) bool { return a.name == name })
	if i < 0 {
		return attackCase{}, fmt.Errorf("no attack %q; -list lists them", name)
	}
	return all[i], nil
}

func writeList(out io.Writer, attacks []attackCase) error {
	columns := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, a := range attacks {
		fmt.Fprintf(columns, "%s\t%s\n", a.name, a.what)
	}
	if err := columns.Flush(); err != nil {
		return err
	}
	uncovered, err := listUncovered(".")
	if err == nil && len(uncovered) > 0 {
		_, err = fmt.Fprintf(out, "\n%d operations are in no attack: %s\n", len(uncovered), strings.Join(uncovered, ", "))
	}
	return err
}
