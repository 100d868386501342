package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/acclaim-dev/acclaim/services/internal/feed/sink"
	"github.com/acclaim-dev/acclaim/services/internal/process/app"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/transfer"
)

func newImport() *cobra.Command {
	var store storeFlags
	cmd := &cobra.Command{
		Use:     "import FILE",
		GroupID: storeGroup,
		Short:   "Store what export wrote, exactly",
		Long: `Import stores what "acclaim export" wrote as JSON Lines, in either store: every log with
its times, ids and hash chain, every document with its version. FILE may be - for the
standard input. Snapshots are not part of it: the services take new ones.

It checks each record before it stores it, and refuses a file that was changed or cut
off. It replaces nothing: it accepts a log or a document that the store already has, and
ends if it differs. It is idempotent: if it was killed, repeat it with the same file. No
program may serve the extension from that store during an import. Sinks do not deliver
imported data, only later changes.

At the end it verifies the data of the extension in the store, as "acclaim verify" does,
and prints the result.

It exits with 1 if the file is incomplete or changed, if the store holds other data
under a name of the file, or if the verification finds a problem.`,
		Example: `  acclaim import sample.jsonl
  gunzip -c sample.jsonl.gz | acclaim import --mongodb-uri mongodb://127.0.0.1:27017/acclaim -`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return importFile(cmd, store.config(), args[0])
		},
	}
	store.register(cmd.Flags())
	return cmd
}

func importFile(cmd *cobra.Command, config app.StoreConfig, name string) (err error) {
	ctx, out, progress := cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	in, size, err := openInput(name, cmd.InOrStdin())
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read
	store, closeStore, err := app.OpenStore(ctx, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStore()) }()
	bar := newByteBar(progress, size, "importing", true)
	result, err := importInto(ctx, store, io.TeeReader(in, bar))
	_ = bar.Exit() // a failure to draw it does not matter
	if err != nil {
		return err
	}
	v, err := verify(ctx, store, progress, result.Scope.Prefixes()...)
	if err != nil {
		return err
	}
	err = writeReport(out, false, nil, func(b *strings.Builder) {
		fmt.Fprintf(b, "read      %s\nstored    chunks: %d, documents: %d\n\n", formatTotals(result.Read), result.Chunks, result.Documents)
		writeVerification(b, v)
	})
	if err != nil {
		return err
	}
	return foundProblems(len(v.Problems))
}

// importInto stores an export. Its error says how much of it is stored.
func importInto(ctx context.Context, store app.Store, in io.Reader) (transfer.Result, error) {
	result, err := transfer.Import(ctx, in, store, func(ctx context.Context, scope transfer.Scope) error {
		return resetSinks(ctx, store, scope)
	})
	if err != nil {
		err = fmt.Errorf("%w\nstored of it: chunks: %d, documents: %d", err, result.Chunks, result.Documents)
	}
	return result, err
}

// resetSinks deletes the positions of the sinks, so that they do not deliver what an
// import stores.
func resetSinks(ctx context.Context, store app.Store, scope transfer.Scope) error {
	for _, environment := range scope.Environments {
		if err := sink.Reinitialize(ctx, store, environment, scope.Extension); err != nil {
			return fmt.Errorf("delete the positions of sinks: %w", err)
		}
	}
	return nil
}

// openInput opens a file, or the standard input for "-". The size is negative where it
// is not known.
func openInput(name string, standard io.Reader) (in io.ReadCloser, size int64, err error) {
	if name == "-" {
		return io.NopCloser(standard), -1, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, 0, err
	}
	size = -1
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		size = info.Size()
	}
	return file, size, nil
}
