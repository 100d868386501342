package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/acclaim-dev/acclaim/api/terminal"
	"github.com/acclaim-dev/acclaim/services/internal/process/app"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/transfer"
)

// exportFlags select what to export and where to write it.
type exportFlags struct {
	store       storeFlags
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
		Short:   "Write everything an extension has stored, as JSON Lines or CSV",
		Long: `Export writes the polls, buffers, questions and documents of an extension, and its
roster: the viewers who share their user id. It reads either store, with little memory.

JSON Lines has one record on each line: a chunk of a log with all its entries, or a
document. The first line holds the request, the last line the totals. "acclaim import"
stores exactly the same again, including hash chains, times and entity tags.

CSV is for spreadsheets and cannot be imported. It is a table of one kind with a row for
each entry: which viewer voted for which value and when, or gave which answer. Text that
a spreadsheet would take for a formula (it begins with = + - @, a tab or a line end)
gets an apostrophe before it.

The store may be in use. If a running program has an embedded store open, the export
reads a checkpoint, so it shows one moment; run it as the program's user. An export of a
database in use does not show one moment: logs can differ by some minutes.

An export names viewers, and holds the salt of their visualization ids: protect it as
you protect the store. Only its owner can read a file, and it appears only when it is
complete.

Damaged data ends the export with exit code 1; "acclaim verify" names all damage. The
command refuses a folder that has lost data. With --damaged it exports the remaining
data; it cannot know what is missing.`,
		Example: `  acclaim export --extension sample-extension -o sample.jsonl
  acclaim export --extension sample-extension | gzip > sample.jsonl.gz
  gunzip -c sample.jsonl.gz | acclaim import --mongodb-uri mongodb://127.0.0.1:27017/acclaim -

  # Which viewers voted for 3, and when?
  acclaim export --extension sample-extension --kind poll | jq -r 'select(.record == "chunk") |
    .id as $id | .at as $at | .entries[] | select(.value == 3) | [$id, ($at / 1000 | todate), .opaque] | @tsv'

  acclaim export --extension sample-extension --kind question --format csv -o answers.csv`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.store.register(cmd.Flags())
	f.store.registerDamaged(cmd.Flags())
	cmd.Flags().StringVar(&f.scope.Extension, "extension", "", "client id of the extension")
	cmd.Flags().StringVar(&f.environment, "environment", "", "production or sandbox (default both)")
	cmd.Flags().StringSliceVar(&f.scope.Kinds, "kind", transfer.KindNames(), "kinds to export, separated by commas")
	cmd.Flags().StringVar(&f.format, "format", transfer.JSONL, transfer.JSONL+" or "+transfer.CSV)
	cmd.Flags().StringVarP(&f.output, "output", "o", "-", "file to write; - is the standard output")
	return cmd
}

func (f *exportFlags) run(ctx context.Context, out, progress io.Writer) (err error) {
	if err := f.complete(); err != nil {
		return err
	}
	var totals transfer.Totals
	err = app.ReadStore(ctx, f.store.config(), tellWaiting(progress), func(ctx context.Context, store app.Store) (err error) {
		totals, err = f.write(ctx, store, out, progress)
		return err
	})
	if err != nil {
		return err
	}
	if totals == (transfer.Totals{}) {
		_, err = fmt.Fprintf(progress, "nothing of that is stored of the extension %s\n", f.scope.Extension)
		return err
	}
	_, err = fmt.Fprintf(progress, "exported %s\n", formatTotals(totals))
	return err
}

// write writes the export of a store.
func (f *exportFlags) write(ctx context.Context, store app.Store, out, progress io.Writer) (totals transfer.Totals, err error) {
	to, err := openOutput(f.output, out)
	if err != nil {
		return totals, err
	}
	defer func() { err = errors.Join(err, to.discard()) }()
	bar := newByteBar(progress, -1, "exporting", f.output != "-" || !terminal.IsTerminal(out))
	totals, err = transfer.Write(ctx, store, f.scope, f.format, io.MultiWriter(to, bar))
	if err != nil && to.name == "" && to.begun {
		err = errors.New(err.Error()) // what was written stays, so this may not begin again
	}
	return totals, errors.Join(bar.Finish(), err, to.keepIf(err == nil))
}

// complete checks the flags and sets what they leave open.
func (f *exportFlags) complete() error {
	var err error
	if f.scope.Environments, err = chooseEnvironments(f.environment); err != nil {
		return err
	}
	switch {
	case f.scope.Extension == "":
		return errors.New("--extension is missing: the client id of the extension")
	case len(f.scope.Kinds) == 0:
		return errors.New("--kind is empty: name what to export")
	}
	if f.scope, err = f.scope.Complete(f.format); err != nil {
		return fmt.Errorf("--%w", err)
	}
	return nil
}

// chooseEnvironments returns the environment that a flag names, by default both.
func chooseEnvironments(flag string) ([]string, error) {
	if flag == "" {
		return []string{string(tenant.Production), string(tenant.Sandbox)}, nil
	}
	environment, err := tenant.ParseEnvironment(flag)
	return []string{string(environment)}, err
}

// formatTotals formats how much was exported or read.
func formatTotals(t transfer.Totals) string {
	return fmt.Sprintf("streams: %d, chunks: %d, entries: %d, documents: %d", t.Streams, t.Chunks, t.Entries, t.Documents)
}
