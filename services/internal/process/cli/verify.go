package cli

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/acclaim-dev/acclaim/services/internal/process/app"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/admin"
)

func newVerify() *cobra.Command {
	var store storeFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "verify",
		GroupID: storeGroup,
		Short:   "Check everything that is stored",
		Long: `Verify replays every log from its beginning and checks its sequence numbers, its hash
chain, its times and its entries. It checks that each snapshot is the state of its log,
that every document is a JSON object, and that no sink has a position past the end of
its stream. It checks that chunks from which a viewer was erased match the erasure. It
names erasures that are not finished. It counts entries and documents whose JSON exceeds
the present limits, because some readers cannot read them.

It names each problem and then exits with 1. The store may be in use: if a running
program has an embedded store open, the command reads a checkpoint. It changes no file
of the embedded store.

The command refuses a folder that has lost data. With --damaged it checks the remaining
data; it cannot know what is missing.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v, err := verifyStore(cmd.Context(), store.config(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			err = writeReport(cmd.OutOrStdout(), asJSON, v, func(b *strings.Builder) { writeVerification(b, v) })
			if err != nil {
				return err
			}
			return foundProblems(len(v.Problems))
		},
	}
	store.register(cmd.Flags())
	store.registerDamaged(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func verifyStore(ctx context.Context, config app.StoreConfig, progress io.Writer) (v *admin.Verification, err error) {
	err = app.ReadStore(ctx, config, tellWaiting(progress), func(ctx context.Context, store app.Store) (err error) {
		v, err = verify(ctx, store, progress, "")
		return err
	})
	return v, err
}

// verify checks the streams and documents whose names begin with one of the prefixes.
func verify(ctx context.Context, store app.Store, progress io.Writer, prefixes ...string) (*admin.Verification, error) {
	bar := newStepBar(progress, "replaying")
	v, err := admin.Verify(ctx, store, app.Domains(store), bar.step, prefixes...)
	if err != nil {
		return nil, err
	}
	return v, bar.Finish()
}
