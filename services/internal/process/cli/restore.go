package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/acclaim-dev/acclaim/services/internal/process/app"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/backup"
)

// restoreFlags select a backup.
type restoreFlags struct {
	store      storeFlags
	name       string
	before     string
	extensions []string
	claim      string
}

func newRestore() *cobra.Command {
	var f restoreFlags
	cmd := &cobra.Command{
		Use:     "restore FOLDER|s3://BUCKET/PREFIX",
		GroupID: storeGroup,
		Short:   "Import the newest backup of a folder or a bucket, or another one",
		Long: `Restore imports what "acclaim backup" wrote, as "acclaim import" does: exactly, and
without replacing anything. It first compares all files of the backup with their
checksums. It is idempotent: repeat it after an interruption, and it finishes.

Restore into an empty store that no program serves yet: it ends if another program
writes into the store. At the end it verifies everything in the store, as "acclaim
verify" does, and prints the result.

It also repeats erasures of viewers that came after the backup. It finds them in the
lists of the backup, of newer backups beside it, and of the store. If it cannot read the
list of a newer backup, it restores nothing and names that backup: repair it, or move it
elsewhere.

With --claim it restores only into an empty store, and only once: it records the name
there. After an interruption it continues under the same name, with the same backup, and
refuses another name.

It exits with 1 if the backup is incomplete or changed, if the store holds other data
under one of its names, or if the verification finds a problem; with 3 if a store to
claim is not empty.`,
		Example: `  acclaim restore /backups --mongodb-uri mongodb://127.0.0.1:27017/restored
  acclaim restore /backups --name 20261123T031700Z --extension sample-extension`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.store.register(cmd.Flags())
	cmd.Flags().StringVar(&f.name, "name", "", "name of the backup (default the newest)")
	cmd.Flags().StringVar(&f.before, "before", "", "restore the newest backup that had begun at this time, as 2026-11-23T03:17:00Z")
	cmd.Flags().StringArrayVar(&f.extensions, "extension", nil, "client id of an extension to restore, repeated for several (default all)")
	cmd.Flags().StringVar(&f.claim, "claim", "", "name of this restore, for which an empty store is claimed")
	cmd.MarkFlagsMutuallyExclusive("name", "before")
	return cmd
}

// chooseName returns the name of the backup, empty for the newest.
func (f *restoreFlags) chooseName(ctx context.Context, storage backup.Storage) (string, error) {
	if f.before == "" {
		return f.name, nil
	}
	at, err := time.Parse(time.RFC3339, f.before)
	if err != nil {
		return "", fmt.Errorf("--before: %w", err)
	}
	return backup.NewestBefore(ctx, storage, at)
}

// open opens the backup to restore and the store, which it claims if it is to.
func (f *restoreFlags) open(ctx context.Context, location string) (b *backup.Backup, store app.Store, closeStore func() error, err error) {
	storage, err := backup.OpenStorage(location)
	if err != nil {
		return nil, nil, nil, err
	}
	name, err := f.chooseName(ctx, storage)
	if err != nil {
		return nil, nil, nil, err
	}
	if b, err = backup.Open(ctx, storage, name); err != nil {
		return nil, nil, nil, err
	}
	if store, closeStore, err = app.OpenStore(ctx, f.store.config()); err != nil || f.claim == "" {
		return b, store, closeStore, err
	}
	claimed, err := backup.Claim(ctx, store, f.claim, b.Name)
	if err == nil && claimed != b.Name {
		b, err = backup.Open(ctx, storage, claimed)
	}
	if err != nil {
		return nil, nil, nil, errors.Join(err, closeStore())
	}
	return b, store, closeStore, nil
}

func (f *restoreFlags) run(ctx context.Context, location string, out, progress io.Writer) (err error) {
	b, store, closeStore, err := f.open(ctx, location)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStore()) }()
	extensions := b.Extensions
	if len(f.extensions) > 0 {
		extensions = f.extensions
	}
	return restoreInto(ctx, b, store, extensions, out, progress)
}

// restoreInto restores extensions of a backup and verifies all that the store has.
func restoreInto(ctx context.Context, b *backup.Backup, store app.Store, extensions []string, out, progress io.Writer) error {
	erasures, err := b.Erasures(ctx)
	if err != nil {
		return err
	}
	for _, extension := range extensions {
		if err := restoreExtension(ctx, b, store, extension, out); err != nil {
			return fmt.Errorf("restore the extension %s from %s: %w", extension, b.Name, err)
		}
	}
	problems, err := applyErasures(ctx, b, store, erasures, extensions, out)
	if err != nil {
		return err
	}
	v, err := verify(ctx, store, progress, "")
	if err != nil {
		return err
	}
	err = writeReport(out, false, nil, func(text *strings.Builder) {
		fmt.Fprintf(text, "restored %s\n\n", b.Name)
		writeVerification(text, v)
		writeProblems(text, problems)
	})
	if err != nil {
		return err
	}
	return foundProblems(len(v.Problems) + len(problems))
}

// restoreExtension imports an extension, unless an earlier process has done so and has begun to
// erase viewers from it.
func restoreExtension(ctx context.Context, b *backup.Backup, store app.Store, extension string, out io.Writer) error {
	done, err := b.IsImported(ctx, store, extension)
	if err != nil {
		return err
	}
	if done {
		_, err = fmt.Fprintf(out, "%s: imported before\n", extension)
		return err
	}
	return b.Read(ctx, extension, func(in io.Reader) error {
		result, err := importInto(ctx, store, in)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "%s: read %s; stored chunks: %d, documents: %d\n", extension, formatTotals(result.Read), result.Chunks, result.Documents)
		return err
	})
}
