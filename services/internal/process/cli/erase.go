package cli

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/acclaim-dev/acclaim/services/internal/process/app"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/admin"
)

// eraseFlags name the viewer to erase.
type eraseFlags struct {
	store                   storeFlags
	extension, user, opaque string
	dropData, only, asJSON  bool
}

func newErase() *cobra.Command {
	var flags eraseFlags
	cmd := &cobra.Command{
		Use:     "erase",
		GroupID: storeGroup,
		Short:   "Erase a viewer from everything an extension has stored",
		Long: `Erase replaces the ids of one viewer by random names in every log of an extension, in
production and in the sandbox, and deletes the viewer's state. All results and cursors
stay the same. Verify reports how many chunks were redacted and still finds every other
change. A viewer who returns is a new viewer.

One id is enough. Ids that were sent together, such as an opaque id with a shared user
id, belong to one viewer: erase first finds the others and erases them as well. If they
cannot all belong to one viewer, because two user ids are among them, it erases nothing.
With --only it erases the given ids and only reports the others.

It is idempotent: repeat it after an interruption, and it finishes. With a database, it
may run while the programs do. The embedded store must not be in use: either stop the
program, or send the request to /erase on its admin listener. Afterwards the embedded
store is compacted, so that no file holds the ids in unused space.

If damaged data prevents a part of the erasure, it names the damage and exits with 1.`,
		Example: `  acclaim erase --extension sample-extension --user 42`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := flags.run(cmd.Context(), cmd.ErrOrStderr(), time.Now())
			if err != nil {
				return err
			}
			err = writeReport(cmd.OutOrStdout(), flags.asJSON, r, func(b *strings.Builder) { writeErasure(b, r) })
			if err != nil {
				return err
			}
			return foundProblems(len(r.Problems))
		},
	}
	f := cmd.Flags()
	flags.store.register(f)
	f.StringVar(&flags.extension, "extension", "", "client id of the extension")
	f.StringVar(&flags.user, "user", "", "user id of the viewer")
	f.StringVar(&flags.opaque, "opaque", "", "opaque user id of the viewer")
	f.BoolVar(&flags.dropData, "drop-data", false, "also replace the data of the viewer's entries in buffers by {} and of whispers to the viewer by null")
	f.BoolVar(&flags.only, "only", false, "erase the given ids and no others")
	f.BoolVar(&flags.asJSON, "json", false, "print JSON")
	return cmd
}

func (f *eraseFlags) run(ctx context.Context, progress io.Writer, now time.Time) (r *admin.ErasureReport, err error) {
	var target admin.Target
	target.DropData, target.Only, target.At = f.dropData, f.only, now
	for _, id := range []string{f.user, f.opaque} {
		if id != "" {
			target.IDs = append(target.IDs, id)
		}
	}
	if f.extension == "" || len(target.IDs) == 0 {
		return nil, errors.New("--extension and at least one of --user and --opaque are needed")
	}
	store, closeStore, err := app.OpenExistingStore(ctx, f.store.config())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeStore()) }()
	bar := newStepBar(progress, "erasing")
	r, err = admin.NewErasureService(store, app.Domains(store), store).Erase(ctx, f.extension, target, bar.step)
	return r, errors.Join(err, bar.Finish())
}
