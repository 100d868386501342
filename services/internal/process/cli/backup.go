package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/acclaim-dev/acclaim/services/internal/process/app"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/backup"
)

// backupFlags hold the store to back up and the number of backups to keep.
type backupFlags struct {
	store       storeFlags
	environment string
	keep        int
}

func newBackup() *cobra.Command {
	var f backupFlags
	cmd := &cobra.Command{
		Use:     "backup FOLDER|s3://BUCKET/PREFIX",
		GroupID: storeGroup,
		Short:   "Export all extensions into a folder or a bucket",
		Long: `Backup writes an export of each extension in the store, as "acclaim export" does, into a
folder with the time as its name: FOLDER/20261123T031700Z. Each extension has a file,
compressed by gzip. SHA256SUMS has the checksums for "sha256sum --check". The folder
appears when it is complete and on the disk. With --keep only the newest backups stay.

In S3-compatible object storage a backup is complete when it has SHA256SUMS, which is
written last. Endpoint, region and credentials come from the same sources as for the
tools of AWS: AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY,
a credentials file, or the role of the pod or the machine.

The store may be in use. If a running program has an embedded store open, the backup
reads a checkpoint, so it shows one moment; run it as the program's user. A backup of a
database in use does not show one moment: logs can differ by some minutes. If the
program restarts or a database elects a primary, the backup begins again, up to eight
times. One process at a time may write to a folder or a prefix.

A backup names viewers, and holds the salt of their visualization ids: protect it as you
protect the store.

It exits with 1, and removes no backup, if something is damaged ("acclaim verify" names
all of it), or if the store is empty while there are backups: its data is more likely
lost than deleted.`,
		Example: `  acclaim backup --keep 7 /backups
  acclaim backup --keep 7 s3://backups/acclaim --mongodb-uri mongodb://127.0.0.1:27017/acclaim`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), args[0], time.Now())
		},
	}
	f.store.register(cmd.Flags())
	cmd.Flags().StringVar(&f.environment, "environment", "", "production or sandbox (default both)")
	cmd.Flags().IntVar(&f.keep, "keep", 0, "number of backups to keep; 0 keeps all")
	return cmd
}

func (f *backupFlags) run(ctx context.Context, out, progress io.Writer, location string, now time.Time) (err error) {
	environments, err := chooseEnvironments(f.environment)
	if err != nil {
		return err
	}
	if f.keep < 0 {
		return fmt.Errorf("--keep: %d is not a number of backups", f.keep)
	}
	storage, err := backup.OpenStorage(location)
	if err != nil {
		return err
	}
	var r backup.Report
	err = app.ReadStore(ctx, f.store.config(), tellWaiting(progress), func(ctx context.Context, store app.Store) (err error) {
		r, err = backup.Create(ctx, store, storage, environments, now)
		return err
	})
	if err != nil {
		return err
	}
	if r.Name == "" {
		_, err = fmt.Fprintln(out, "nothing is stored, so there is no backup")
		return err
	}
	if _, err = fmt.Fprintf(out, "backup %s: extensions: %d, %s, bytes: %d\n", r.Name, r.Extensions, formatTotals(r.Totals), r.Bytes); err != nil || f.keep == 0 {
		return err
	}
	removed, err := backup.Prune(ctx, storage, f.keep, now)
	for _, name := range removed {
		_, printErr := fmt.Fprintf(out, "removed %s\n", name)
		err = errors.Join(err, printErr)
	}
	return err
}
