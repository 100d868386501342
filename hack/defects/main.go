// Command defects shows that the tests still find the defects that this project had or
// nearly had. It brings each back, by an edit of one expression in a test build, and
// demands that the test named beside it fails. A defect that no longer applies, or does
// not compile, fails as well: the code has changed, and so must the row of the table.
//
// It imports nothing of the program.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/acclaim-dev/acclaim/hack/harness"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "defects:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	flags := flag.NewFlagSet("defects", flag.ContinueOnError)
	flags.SetOutput(stderr)
	list := flags.Bool("list", false, "list the defects and end")
	only := flags.String("only", "", "`text` in the names of the defects to bring back (default all)")
	slice := flags.String("slice", "1/1", "`part/parts` of the table to run, such as 2/4")
	if err := flags.Parse(args); err != nil {
		return err
	}
	cases, err := selectCases(defectCases(), *slice, *only)
	if err != nil {
		return err
	}
	if *list {
		return writeList(stdout, cases)
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "acclaim-defects-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	return bringBack(ctx, cases, root, dir, stdout)
}

// selectCases returns the defects of a slice whose names have a text.
func selectCases(all []defectCase, slice, only string) (selected []defectCase, err error) {
	part, err := harness.SelectSlice(all, slice)
	if err != nil {
		return nil, err
	}
	for _, d := range part {
		if strings.Contains(d.name, only) {
			selected = append(selected, d)
		}
	}
	if len(selected) == 0 {
		return nil, fmt.Errorf("no defect %q; -list lists them", only)
	}
	return selected, nil
}

func writeList(out io.Writer, cases []defectCase) error {
	columns := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, d := range cases {
		fmt.Fprintf(columns, "%s\t%s\t%s\n", d.name, d.folder, d.test)
	}
	return columns.Flush()
}
