package backup

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/upkeep/transfer"
)

// ErrEmptyStore marks a store that has nothing to back up, beside backups that have
// something: its data is more likely lost than deleted.
var ErrEmptyStore = errors.New("the store is empty, and there are backups of it")

const (
	// abandonedAfter is the age from which no process still works on what is unfinished.
	abandonedAfter = 24 * time.Hour
	// discardTimeout limits the removal of a backup that failed.
	discardTimeout = time.Minute
)

// Report summarizes a backup.
type Report struct {
	Name       string // empty where nothing was stored, and nothing written
	Extensions int
	Bytes      int64 // of the compressed exports
	Totals     transfer.Totals
}

// Create writes a backup of all extensions of a store, with the time as its name. An
// extension that is damaged ends it with [stream.ErrDamaged].
func Create(ctx context.Context, store transfer.Source, storage Storage, environments []string, now time.Time) (Report, error) {
	extensions, err := transfer.Extensions(ctx, store, environments)
	if err != nil {
		return Report{}, err
	}
	if len(extensions) == 0 {
		return Report{}, checkNoBackups(ctx, storage)
	}
	w := &writer{store: store, environments: environments, report: Report{Name: now.UTC().Format(nameLayout), Extensions: len(extensions)}}
	if w.draft, err = storage.Begin(ctx, w.report.Name); err != nil {
		return Report{}, err
	}
	err = w.writeAll(ctx, extensions)
	if err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardTimeout)
		defer cancel()
		return Report{}, errors.Join(err, w.draft.Discard(ctx))
	}
	return w.report, nil
}

func checkNoBackups(ctx context.Context, storage Storage) error {
	names, err := storage.List(ctx)
	if err == nil && len(names) > 0 {
		return fmt.Errorf("%w: the newest is %s", ErrEmptyStore, names[len(names)-1])
	}
	return err
}

// Prune keeps a number of the newest backups of a storage and removes the others, and what
// earlier processes left unfinished. It returns the names of the removed backups.
func Prune(ctx context.Context, storage Storage, keep int, now time.Time) (removed []string, err error) {
	names, err := storage.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range names[:max(len(names)-keep, 0)] {
		if err := storage.Remove(ctx, name); err != nil {
			return removed, err
		}
		removed = append(removed, name)
	}
	return removed, storage.RemoveUnfinished(ctx, now.Add(-abandonedAfter))
}

// writer writes one backup.
type writer struct {
	store        transfer.Source
	environments []string
	draft        Draft
	sums         strings.Builder
	report       Report
}

func (w *writer) writeAll(ctx context.Context, extensions []string) error {
	before, err := listErasures(ctx, w.store, w.environments)
	if err != nil {
		return err
	}
	for _, extension := range extensions {
		if err := w.writeExtension(ctx, extension); err != nil {
			return fmt.Errorf("back up the extension %s: %w", extension, err)
		}
	}
	if err := w.writeErasures(ctx, before); err != nil {
		return err
	}
	return w.draft.Complete(ctx, []byte(w.sums.String()))
}

func (w *writer) writeExtension(ctx context.Context, extension string) error {
	name, digest, size := fileName(extension), sha256.New(), countWriter(0)
	err := w.draft.WriteFile(ctx, name, func(file io.Writer) error {
		compressed := gzip.NewWriter(io.MultiWriter(file, digest, &size))
		scope := transfer.Scope{Extension: extension, Environments: w.environments, Kinds: transfer.Kinds()}
		totals, err := transfer.Export(ctx, w.store, scope, compressed)
		w.report.Totals = addTotals(w.report.Totals, totals)
		return errors.Join(err, compressed.Close())
	})
	fmt.Fprintf(&w.sums, "%x  %s\n", digest.Sum(nil), name)
	w.report.Bytes += int64(size)
	return err
}

// fileName returns the name of an extension's file. It has no character that
// `sha256sum` would escape.
func fileName(extension string) string { return url.PathEscape(extension) + suffix }

// countWriter counts the bytes that are written to it.
type countWriter int64

// Write implements [io.Writer].
func (c *countWriter) Write(p []byte) (int, error) {
	*c += countWriter(len(p))
	return len(p), nil
}

func addTotals(a, b transfer.Totals) transfer.Totals {
	return transfer.Totals{
		Streams: a.Streams + b.Streams, Chunks: a.Chunks + b.Chunks, Entries: a.Entries + b.Entries, Documents: a.Documents + b.Documents,
	}
}
