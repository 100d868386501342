package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/acclaim-dev/acclaim/services/internal/boltstore"
	"github.com/acclaim-dev/acclaim/services/internal/sink"
	"github.com/acclaim-dev/acclaim/services/internal/transfer"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// errUnsound marks an import after which not all that is stored is sound.
var errUnsound = errors.New("problems found")

func newImport() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:     "import FILE",
		GroupID: storeGroup,
		Short:   "Store what export wrote, exactly",
		Long: `Import stores what "acclaim export" wrote as JSON Lines or CSV, in either store:
every log with its times, ids and hash chain, every document with its version. FILE
may be - for the standard input. Snapshots are made anew as the store is used.

It checks each record before it stores it and refuses a file that was changed or cut
off. It replaces nothing: where a log or a document of that name is there and the
same it is left alone, where it differs the import ends. So one that was killed can
be repeated with the same file and completes. Nothing may serve the extension from
that store meanwhile. Sinks tell other systems of nothing that was imported, only
of what changes afterwards.

At the end it verifies what the store has of the extension, as "acclaim verify"
does, and prints what that found.

The exit status is 0, or 1 where the file is not whole and unchanged, the store
holds something else or something is not sound, or 2 where the file could not be
read or the store not be written.`,
		Example: `  acclaim import sample.jsonl
  gunzip -c sample.jsonl.gz | acclaim import --mongodb-uri mongodb://127.0.0.1:27017/acclaim -`,
		Args: func(cmd *cobra.Command, args []string) error { return unreadable(cobra.ExactArgs(1)(cmd, args)) },
		RunE: func(cmd *cobra.Command, args []string) error {
			return statusOfTransfer(importFile(cmd.Context(), o, args[0], cmd))
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return unreadable(err) })
	o.registerStore(cmd.Flags())
	cmd.Flags().DurationVar(&o.halfLife, "decay-half-life", voting.HalfLife, "that of the processes that use the store")
	return cmd
}

func importFile(ctx context.Context, o options, name string, cmd *cobra.Command) (err error) {
	if err := o.checkHalfLife(); err != nil {
		return err
	}
	in, size, err := openInput(name, cmd.InOrStdin())
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read
	a, closeIt, err := archiveOf(ctx, o, boltstore.Open)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeIt()) }()
	bar := newByteBar(cmd.ErrOrStderr(), size, "importing", true)
	result, err := transfer.Import(ctx, io.TeeReader(in, bar), a, func(ctx context.Context, scope transfer.Scope) error {
		return forgetSinks(ctx, a, scope)
	})
	_ = bar.Exit() // it is only for show
	if err != nil {
		return fmt.Errorf("%w\nstored of it: chunks: %d, documents: %d", err, result.Chunks, result.Documents)
	}
	r, err := replayAll(ctx, a, o.halfLife, cmd.ErrOrStderr(), result.Scope.Prefixes()...)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(cmd.OutOrStdout(), "read      %s\nstored    chunks: %d, documents: %d\n\n", sentence(result.Read), result.Chunks, result.Documents); err != nil {
		return err
	}
	if err := r.write(cmd.OutOrStdout()); err != nil {
		return err
	}
	if n := len(r.Problems); n > 0 {
		return fmt.Errorf("%w: %d", errUnsound, n)
	}
	return nil
}

// forgetSinks makes sure that other systems are not told of all that an import stores.
func forgetSinks(ctx context.Context, a archive, scope transfer.Scope) error {
	for _, environment := range scope.Environments {
		if err := sink.Forget(ctx, a, environment, scope.Extension); err != nil {
			return fmt.Errorf("forget what sinks know: %w", err)
		}
	}
	return nil
}

// openInput opens a file, or the standard input for "-". The size is negative
// where it is not known.
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
