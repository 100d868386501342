package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/acclaim-dev/acclaim/services/internal/stream"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/internal/transfer"
)

// The formats of an export.
const (
	formatJSONL = "jsonl"
	formatCSV   = "csv"
)

// exportFlags are what an export is of and where it goes.
type exportFlags struct {
	options
	scope       transfer.Scope
	environment string
	format      string
	output      string
}

func newExport() *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:     "export",
		GroupID: storeGroup,
		Short:   "Write what is stored of an extension as JSON Lines or CSV",
		Long: `Export writes the votes, accumulated entries, rankings and documents of an
extension, from either store, without holding more than a little in memory.

JSON Lines has one record on each line: for each chunk of a log with all that it
says, for each document. The first line says what was asked for, the last one counts
what was written. CSV has the same in a table, one kind at a time and a row for each
entry: who voted for what and when, who gave which answer. Text that a spreadsheet
would take for a formula (it begins with = + - @, a tab or a line end) gets an
apostrophe before it.

What "acclaim import" makes of either is the same bit for bit, hash chains, times
and entity tags included.

A database may be in use meanwhile: then each log is exported up to some chunk,
whole, and each document at some version. The embedded store must not be in use.

What is written names viewers, and holds the salt of their visualization ids:
keep it as you keep the store. A file is readable by its owner alone, and is there
only when it is whole.

The exit status is 0, or 1 where what is stored is not sound ("acclaim verify"
tells more), or 2 where it could not be read or the export not be written.`,
		Example: `  acclaim export --extension sample-extension -o sample.jsonl
  acclaim export --extension sample-extension | gzip > sample.jsonl.gz
  gunzip -c sample.jsonl.gz | acclaim import --mongodb-uri mongodb://127.0.0.1:27017/acclaim -

  # Who voted for 3, and when?
  acclaim export --extension sample-extension --kind votes | jq -r 'select(.record == "chunk") |
    .id as $id | .at as $at | .entries[] | select(.value == 3) | [$id, ($at / 1000 | todate), .opaque] | @tsv'

  acclaim export --extension sample-extension --kind rankings --format csv -o answers.csv
  acclaim import --data-dir elsewhere answers.csv`,
		Args: func(cmd *cobra.Command, args []string) error { return unreadable(cobra.NoArgs(cmd, args)) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			return statusOfTransfer(f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr()))
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return unreadable(err) })
	f.registerStore(cmd.Flags())
	cmd.Flags().StringVar(&f.scope.Extension, "extension", "", "client id of the extension")
	cmd.Flags().StringVar(&f.environment, "environment", "", "production or sandbox (default both)")
	cmd.Flags().StringSliceVar(&f.scope.Kinds, "kind", transfer.Kinds(), "what of it, separated by commas")
	cmd.Flags().StringVar(&f.format, "format", formatJSONL, formatJSONL+" or "+formatCSV)
	cmd.Flags().StringVarP(&f.output, "output", "o", "-", "file to write; - is the standard output")
	return cmd
}

// statusOfTransfer decides the exit status of export and import.
func statusOfTransfer(err error) error {
	for _, unsound := range []error{stream.ErrDamaged, transfer.ErrFile, transfer.ErrOther, errUnsound} {
		if errors.Is(err, unsound) {
			return exit{statusProblems, err}
		}
	}
	return unreadable(err)
}

func (f *exportFlags) run(ctx context.Context, out, progress io.Writer) (err error) {
	if err := f.complete(); err != nil {
		return err
	}
	a, closeIt, err := openArchive(ctx, f.options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeIt()) }()
	to, err := openOutput(f.output, out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.discard()) }()
	bar := newByteBar(progress, -1, "exporting", f.output != "-" || !isTerminal(out))
	w := io.MultiWriter(to, bar)
	export := transfer.Export
	if f.format == formatCSV {
		export = transfer.ExportCSV
	}
	totals, err := export(ctx, a, f.scope, w)
	if err = errors.Join(bar.Finish(), err, to.keepIf(err == nil)); err != nil {
		return err
	}
	if totals == (transfer.Totals{}) {
		_, err = fmt.Fprintf(progress, "nothing of that is stored of the extension %s\n", f.scope.Extension)
		return err
	}
	_, err = fmt.Fprintf(progress, "exported %s\n", sentence(totals))
	return err
}

// complete checks the flags and fills in what they leave open.
func (f *exportFlags) complete() error {
	f.scope.Environments = []string{string(tenant.Production), string(tenant.Sandbox)}
	if f.environment != "" {
		environment, err := tenant.ParseEnvironment(f.environment)
		if err != nil {
			return err
		}
		f.scope.Environments = []string{string(environment)}
	}
	for _, kind := range f.scope.Kinds {
		if !slices.Contains(transfer.Kinds(), kind) {
			return fmt.Errorf("--kind: %q is none of %s", kind, strings.Join(transfer.Kinds(), ", "))
		}
	}
	// Always in the same order, each once, so that equal stores give equal files.
	asked := f.scope.Kinds
	f.scope.Kinds = slices.DeleteFunc(transfer.Kinds(), func(kind string) bool { return !slices.Contains(asked, kind) })
	switch {
	case f.scope.Extension == "":
		return errors.New("--extension: say which, by its client id")
	case len(f.scope.Kinds) == 0:
		return errors.New("--kind: say what to export")
	case f.format != formatJSONL && f.format != formatCSV:
		return fmt.Errorf("--format: %q is neither %s nor %s", f.format, formatJSONL, formatCSV)
	case f.format == formatCSV && len(f.scope.Kinds) > 1:
		return fmt.Errorf("CSV holds one kind at a time: add --kind and one of %s", strings.Join(f.scope.Kinds, ", "))
	}
	return nil
}

// sentence tells what was exported or read.
func sentence(t transfer.Totals) string {
	return fmt.Sprintf("streams: %d, chunks: %d, entries: %d, documents: %d", t.Streams, t.Chunks, t.Entries, t.Documents)
}
