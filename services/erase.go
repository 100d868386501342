package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/acclaim-dev/acclaim/services/internal/boltstore"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// eraseOptions say who is to be erased.
type eraseOptions struct {
	options
	extension, user, opaque string
	dropData, only, asJSON  bool
}

func newErase() *cobra.Command {
	var o eraseOptions
	cmd := &cobra.Command{
		Use:     "erase",
		GroupID: storeGroup,
		Short:   "Erase a viewer from everything an extension has stored",
		Long: `Erase replaces the ids of one viewer by random names in every log of an extension,
in production and in the sandbox, and deletes the viewer's state. Every tally and
every cursor stays what it is; verify tells how many chunks were redacted and
still finds every other change. A viewer who comes back is a new one.

An id is enough: the others that stand beside it in what the viewer has sent, as
the opaque id does beside a shared user id, are found first and erased as well. If
they cannot all be one viewer's, because there are two user ids among them, nothing
is erased. With --only no other ids are looked for; those that are come across are
named.

It may be cut off and repeated, and goes on. Over a database it may run while the
programs do. The embedded store must not be in use: ask the running program at
/erase on its admin listener, or stop it. The file of an embedded store is then
written anew, because it would else keep old bytes in pages that are free.

It exits with 0 when the viewer is erased, with 1 when damage kept it from erasing
all, which it names, and with 2 when it could not go on.`,
		Example: `  acclaim erase --extension sample-extension --user 42`,
		Args:    func(cmd *cobra.Command, args []string) error { return unreadable(cobra.NoArgs(cmd, args)) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := o.run(cmd.Context(), cmd.ErrOrStderr())
			if err != nil {
				return unreadable(err)
			}
			if o.asJSON {
				err = json.NewEncoder(cmd.OutOrStdout()).Encode(r)
			} else {
				err = r.write(cmd.OutOrStdout())
			}
			if n := len(r.Problems); n > 0 && err == nil {
				return exit{statusProblems, fmt.Errorf("problems found: %d", n)}
			}
			return unreadable(err)
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return unreadable(err) })
	f := cmd.Flags()
	o.registerStore(f)
	f.StringVar(&o.extension, "extension", "", "client id of the extension")
	f.StringVar(&o.user, "user", "", "user id of the viewer")
	f.StringVar(&o.opaque, "opaque", "", "opaque user id of the viewer")
	f.BoolVar(&o.dropData, "drop-data", false, "leave nothing of the viewer's entries in buffers but {}, of whispers to the viewer but null")
	f.BoolVar(&o.only, "only", false, "erase the given ids alone")
	f.BoolVar(&o.asJSON, "json", false, "print JSON")
	return cmd
}

func (o eraseOptions) run(ctx context.Context, progress io.Writer) (r *erasure, err error) {
	viewer := whom{Viewer: stream.Viewer{DropData: o.dropData}, only: o.only}
	for _, id := range []string{o.user, o.opaque} {
		if id != "" {
			viewer.IDs = append(viewer.IDs, id)
		}
	}
	if o.extension == "" || len(viewer.IDs) == 0 {
		return nil, errors.New("--extension and at least one of --user and --opaque are needed")
	}
	if r, err = o.erase(ctx, viewer, progress); err != nil {
		return nil, err
	}
	if cmp.Or(o.mongodbURI, os.Getenv(mongodbVariable)) == "" {
		err = boltstore.Compact(o.dataDir)
	}
	return r, err
}

func (o eraseOptions) erase(ctx context.Context, viewer whom, progress io.Writer) (r *erasure, err error) {
	a, closeIt, err := openArchive(ctx, o.options)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeIt()) }()
	bar := newBar(progress, 0, "erasing")
	r, err = newEraser(a, &domains{}, voting.HalfLife).erase(ctx, o.extension, viewer, func(of int) {
		bar.ChangeMax(of)
		_ = bar.Add(1)
	})
	return r, errors.Join(err, bar.Finish())
}
