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
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/admin"
)

// purgeFlags select what to remove.
type purgeFlags struct {
	store       storeFlags
	filter      admin.PurgeFilter
	environment string
	asJSON      bool
}

func newPurge() *cobra.Command {
	var flags purgeFlags
	cmd := &cobra.Command{
		Use:     "purge",
		GroupID: storeGroup,
		Short:   "Remove polls, questions and buffers that are no longer used",
		Long: `Purge removes the polls, questions and buffers of an extension to which nothing was
written for a time, such as those that visitors have invented. With --dry-run it only
lists and counts them. Documents and messages stay.

With a database, it may run while the programs do: purged polls are then empty, and a
small record of each stays. The embedded store must not be in use. Either stop the
program; then no record stays, and the numbers of a vote log begin again with 1, so read
such a log from its beginning. Or send the request to /purge on the program's
maintenance listener, which leaves records as in a database.

It is idempotent: repeat it after an interruption, and it finishes. If damaged data
prevents a part of the purge, it names the damage and exits with 1.`,
		Example: `  acclaim purge --extension sample-extension --kind poll --prefix global --older-than 24h --dry-run`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := flags.run(cmd.Context(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			err = writeReport(cmd.OutOrStdout(), flags.asJSON, r, func(b *strings.Builder) { writePurge(b, r) })
			if err != nil {
				return err
			}
			return foundProblems(len(r.Problems))
		},
	}
	f := cmd.Flags()
	flags.store.register(f)
	f.StringVar(&flags.filter.Extension, "extension", "", "client id of the extension")
	f.StringVar(&flags.environment, "environment", string(tenant.Production), "production or sandbox")
	f.StringSliceVar(&flags.filter.Kinds, "kind", admin.PurgeableKinds(), "what to purge")
	f.StringVar(&flags.filter.Channel, "channel", "", "purge polls and questions of this channel only")
	f.StringVar(&flags.filter.Prefix, "prefix", "", "purge ids that begin with this only")
	f.DurationVar(&flags.filter.OlderThan, "older-than", 0, "least time since the last write, 1h or more, such as 720h")
	f.BoolVar(&flags.filter.DryRun, "dry-run", false, "list and count what would be purged, and change nothing")
	f.BoolVar(&flags.asJSON, "json", false, "print JSON")
	return cmd
}

func (f *purgeFlags) run(ctx context.Context, progress io.Writer) (r *admin.PurgeReport, err error) {
	if f.filter.Extension == "" || f.filter.OlderThan == 0 {
		return nil, errors.New("--extension and --older-than are needed")
	}
	if f.filter.Environment, err = tenant.ParseEnvironment(f.environment); err != nil {
		return nil, err
	}
	store, closeStore, err := app.OpenExistingStore(ctx, f.store.config())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeStore()) }()
	remover, _ := store.(admin.StreamRemover) // the lock on a folder keeps other processes out
	bar := newStepBar(progress, "purging")
	r, err = admin.NewPurgeService(store, app.Domains(store), remover, time.Now).Purge(ctx, f.filter, bar.step)
	return r, errors.Join(err, bar.Finish())
}

func writePurge(b *strings.Builder, r *admin.PurgeReport) {
	writeTable(b, r.Kinds, "searched found entries bytes", func(k *admin.PurgedKind) []any {
		return []any{k.Searched, k.Found, k.Entries, k.Bytes}
	})
	if len(r.Names) > 0 {
		fmt.Fprintln(b)
	}
	for _, name := range r.Names {
		fmt.Fprintln(b, name)
	}
	if more := r.Total().Found - len(r.Names); more > 0 {
		fmt.Fprintf(b, "and %d more\n", more)
	}
	writeProblems(b, r.Problems)
}
