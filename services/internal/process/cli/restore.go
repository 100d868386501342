package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/acclaim-dev/acclaim/services/internal/process/app"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/backup"
)

// restoreFlags select a backup.
type restoreFlags struct {
	store     storeFlags
	name      string
	extension string
}

func newRestore() *cobra.Command {
	var f restoreFlags
	cmd := &cobra.Command{
		Use:     "restore FOLDER|s3://BUCKET/PREFIX",
		GroupID: storeGroup,
		Short:   "Import the newest backup of a folder or a bucket, or another one",
		Long: `Restore imports what "acclaim backup" wrote, as "acclaim import" does: exactly, and
without replacing anything. It first compares all files of the backup with their
checksums. It is idempotent: repeated after an interruption, it finishes.

Restore into an empty store that no program serves yet: a store in which something else
was written meanwhile ends it. At the end it verifies all that the store has, as
"acclaim verify" does, and prints the result. Viewers that were erased after the backup
are there again: erase them again.

It exits with 1 if the backup is not complete and unchanged, if the store holds
something else under one of its names, or if something is not sound.`,
		Example: `  acclaim restore /backups --mongodb-uri mongodb://127.0.0.1:27017/restored
  acclaim restore /backups --name 20261123T031700Z --extension sample-extension`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.store.register(cmd.Flags())
	cmd.Flags().StringVar(&f.name, "name", "", "name of the backup (default the newest)")
	cmd.Flags().StringVar(&f.extension, "extension", "", "client id of the only extension to restore (default all)")
	return cmd
}

func (f *restoreFlags) run(ctx context.Context, location string, out, progress io.Writer) (err error) {
	storage, err := backup.OpenStorage(location)
	if err != nil {
		return err
	}
	b, err := backup.Open(ctx, storage, f.name)
	if err != nil {
		return err
	}
	extensions := b.Extensions
	if f.extension != "" {
		extensions = []string{f.extension}
	}
	store, closeStore, err := app.OpenStore(ctx, f.store.config())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStore()) }()
	for _, extension := range extensions {
		err := b.Read(ctx, extension, func(in io.Reader) error {
			result, err := importInto(ctx, store, in)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(out, "%s: read %s; stored chunks: %d, documents: %d\n", extension, formatTotals(result.Read), result.Chunks, result.Documents)
			return err
		})
		if err != nil {
			return fmt.Errorf("restore the extension %s from %s: %w", extension, b.Name, err)
		}
	}
	v, err := verify(ctx, store, progress, "")
	if err != nil {
		return err
	}
	err = writeReport(out, false, nil, func(text *strings.Builder) {
		fmt.Fprintf(text, "restored %s\n\n", b.Name)
		writeVerification(text, v)
	})
	if err != nil {
		return err
	}
	return foundProblems(len(v.Problems))
}
