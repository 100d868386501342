package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/boltstore"
	"github.com/acclaim-dev/acclaim/services/internal/document"
	"github.com/acclaim-dev/acclaim/services/internal/key"
	"github.com/acclaim-dev/acclaim/services/internal/mongostore"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
	"github.com/acclaim-dev/acclaim/services/message"
	"github.com/acclaim-dev/acclaim/services/ranking"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// Exit statuses of verify, export and import: what is stored or given is not
// sound, and the command could not do its work.
const (
	statusProblems   = 1
	statusUnreadable = 2
)

func newVerify() *cobra.Command {
	var o options
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "verify",
		GroupID: storeGroup,
		Short:   "Check everything that is stored",
		Long: `Verify replays every log from nothing and checks its sequence numbers, its hash
chain, its times and its entries, that each snapshot is the state of the log it
was taken from, that every document is a JSON object, and that no sink was told of
more than there is. Chunks from which a viewer was erased are checked to be what the
erasure made of them, and erasures that were cut off are named.

It exits with 0 when all is sound, with 1 when it found problems, which it
names, and with 2 when the store could not be read or the report not be written.
The embedded store must not be in use; a database may be.`,
		Args: func(cmd *cobra.Command, args []string) error { return unreadable(cobra.NoArgs(cmd, args)) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := verify(cmd.Context(), o, cmd.ErrOrStderr())
			if err != nil {
				return unreadable(err)
			}
			if asJSON {
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
	o.registerStore(cmd.Flags())
	cmd.Flags().DurationVar(&o.halfLife, "decay-half-life", voting.HalfLife, "that of the processes that wrote the store")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// unreadable keeps a failure to check apart from a check that failed.
func unreadable(err error) error {
	if err == nil {
		return nil
	}
	return exit{statusUnreadable, err}
}

// archive is a store whose content can be listed and taken over from another.
type archive interface {
	store
	Streams(ctx context.Context, prefix string) iter.Seq2[string, error]
	Keys(ctx context.Context, prefix string) iter.Seq2[string, error]
	Restore(ctx context.Context, key string, d document.Document) error
}

// openArchive opens the store that the flags name, which must exist.
func openArchive(ctx context.Context, o options) (a archive, closeIt func() error, err error) {
	return archiveOf(ctx, o, boltstore.OpenExisting)
}

// archiveOf opens the store that the flags name. The embedded one is opened by
// openFile, which decides whether it must exist.
func archiveOf(ctx context.Context, o options, openFile func(dir string) (*boltstore.Store, error)) (a archive, closeIt func() error, err error) {
	if uri := cmp.Or(o.mongodbURI, os.Getenv(mongodbVariable)); uri != "" {
		db, err := mongostore.Open(ctx, uri)
		if err != nil {
			return nil, nil, fmt.Errorf("open the database: %w", err)
		}
		return db, func() error { return db.Close(context.WithoutCancel(ctx)) }, nil
	}
	file, err := openFile(o.dataDir)
	if err != nil {
		return nil, nil, fmt.Errorf("open the store: %w", err)
	}
	return file, file.Close, nil
}

func verify(ctx context.Context, o options, progress io.Writer) (r *verification, err error) {
	if err := o.checkHalfLife(); err != nil {
		return nil, err
	}
	a, closeIt, err := openArchive(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeIt()) }()
	return replayAll(ctx, a, o.halfLife, progress, "")
}

// replayAll checks the streams and documents whose names begin with one of the
// prefixes.
func replayAll(ctx context.Context, a archive, halfLife time.Duration, progress io.Writer, prefixes ...string) (*verification, error) {
	var streams, documents []string
	for _, prefix := range prefixes {
		some, err := collect(a.Streams(ctx, prefix))
		if err != nil {
			return nil, err
		}
		streams = append(streams, some...)
		if some, err = collect(a.Keys(ctx, prefix)); err != nil {
			return nil, err
		}
		documents = append(documents, some...)
	}
	bar := newBar(progress, len(streams)+len(documents), "replaying")
	r, replays := newVerification(), replaysOf(a, halfLife)
	for _, name := range streams {
		if err := r.stream(ctx, replays, name); err != nil {
			return nil, err
		}
		_ = bar.Add(1)
	}
	for _, name := range documents {
		if err := r.document(ctx, a, name); err != nil {
			return nil, err
		}
		_ = bar.Add(1)
	}
	return r, bar.Finish()
}

func collect(names iter.Seq2[string, error]) (all []string, err error) {
	for name, err := range names {
		if err != nil {
			return nil, err
		}
		all = append(all, name)
	}
	return all, nil
}

// replay checks one stream of a kind.
type replay func(ctx context.Context, name string) (stream.Report, error)

func replaysOf(a archive, halfLife time.Duration) map[string]replay {
	clock, options := stream.SystemClock(), stream.Options{}
	return map[string]replay{
		voting.Kind:       voting.NewService(a, clock, options, halfLife).Verify,
		accumulation.Kind: accumulation.NewService(a, clock, options).Verify,
		ranking.Kind:      ranking.NewService(a, clock, options).Verify,
		message.Kind:      message.NewService(a, clock, options).Verify,
	}
}

// readable turns a name into something to look for in a log or a registry.
func readable(name string) string {
	parts, err := key.Split(name)
	if err != nil {
		return name
	}
	return strings.Join(parts, " / ")
}
