package backup

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/transfer"
)

const (
	sumsFile = "SHA256SUMS"
	suffix   = ".jsonl.gz"
)

// ErrEmptyStore marks a store that has nothing to back up, beside backups that have
// something: its data is more likely lost than deleted.
var ErrEmptyStore = errors.New("the store is empty, and there are backups of it")

// Report summarizes a backup.
type Report struct {
	Name       string // empty where nothing was stored, and nothing written
	Extensions int
	Bytes      int64 // of the compressed exports
	Totals     transfer.Totals
}

// Create writes a backup of all extensions of a store into a folder, which it creates,
// with the time as the name of the backup. An extension that is damaged ends it with
// [stream.ErrDamaged].
func Create(ctx context.Context, store transfer.Source, folder string, environments []string, now time.Time) (Report, error) {
	extensions, err := transfer.Extensions(ctx, store, environments)
	if err != nil {
		return Report{}, err
	}
	if len(extensions) == 0 {
		return Report{}, checkNoBackups(folder)
	}
	w := &writer{store: store, environments: environments, report: Report{Name: now.UTC().Format(nameLayout), Extensions: len(extensions)}}
	w.folder = filepath.Join(folder, unfinished+w.report.Name)
	if err := errors.Join(os.MkdirAll(folder, 0o700), os.Mkdir(w.folder, 0o700)); err != nil {
		return Report{}, err
	}
	err = w.writeAll(ctx, extensions)
	if err == nil { // renaming replaces an empty folder only, so never a backup
		err = os.Rename(w.folder, filepath.Join(folder, w.report.Name))
	}
	if err != nil {
		return Report{}, errors.Join(err, os.RemoveAll(w.folder))
	}
	return w.report, syncFolder(folder)
}

func checkNoBackups(folder string) error {
	names, err := List(folder)
	if err == nil && len(names) > 0 {
		return fmt.Errorf("%w: the newest is %s", ErrEmptyStore, names[len(names)-1])
	}
	return err
}

// writer writes one backup.
type writer struct {
	store        transfer.Source
	environments []string
	folder       string
	sums         strings.Builder
	report       Report
}

func (w *writer) writeAll(ctx context.Context, extensions []string) error {
	for _, extension := range extensions {
		if err := w.writeExtension(ctx, extension); err != nil {
			return fmt.Errorf("back up the extension %s: %w", extension, err)
		}
	}
	err := writeFile(filepath.Join(w.folder, sumsFile), func(file io.Writer) error {
		_, err := io.WriteString(file, w.sums.String())
		return err
	})
	return errors.Join(err, syncFolder(w.folder))
}

func (w *writer) writeExtension(ctx context.Context, extension string) error {
	name, digest, size := fileName(extension), sha256.New(), countWriter(0)
	err := writeFile(filepath.Join(w.folder, name), func(file io.Writer) error {
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

// writeFile creates a file that its owner alone can read, and makes it durable.
func writeFile(name string, write func(io.Writer) error) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = write(file)
	return errors.Join(err, file.Sync(), file.Close())
}

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
