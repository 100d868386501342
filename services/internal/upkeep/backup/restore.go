package backup

import (
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/upkeep/transfer"
)

// ErrNoBackup marks a storage that does not have the backup that was asked for.
var ErrNoBackup = errors.New("there is no such backup")

// Backup is a backup whose files are those that were written.
type Backup struct {
	Name string
	// Extensions are the client ids of the extensions that it has.
	Extensions []string

	storage Storage
}

// Open checks the files of a backup, by default the newest, against its checksums. The
// error is [transfer.ErrBadFile] where one is missing or was changed.
func Open(ctx context.Context, storage Storage, name string) (*Backup, error) {
	names, err := storage.List(ctx)
	switch {
	case err != nil:
		return nil, err
	case len(names) == 0:
		return nil, fmt.Errorf("%w: %s has none", ErrNoBackup, storage)
	case name == "":
		name = names[len(names)-1]
	case !slices.Contains(names, name):
		return nil, fmt.Errorf("%w: %s has %s", ErrNoBackup, storage, strings.Join(names, ", "))
	}
	b := &Backup{Name: name, storage: storage}
	return b, b.checkFiles(ctx)
}

// NewestBefore returns the name of the newest backup that had begun at a time.
func NewestBefore(ctx context.Context, storage Storage, at time.Time) (string, error) {
	names, err := storage.List(ctx)
	if err != nil {
		return "", err
	}
	limit := at.UTC().Format(nameLayout) // names sort by age
	later, exact := slices.BinarySearch(names, limit)
	if exact {
		later++
	}
	if later == 0 {
		return "", fmt.Errorf("%w: %s has none that had begun at %s", ErrNoBackup, storage, limit)
	}
	return names[later-1], nil
}

// Read calls read with the export of an extension, unpacked.
func (b *Backup) Read(ctx context.Context, extension string, read func(io.Reader) error) error {
	if !slices.Contains(b.Extensions, extension) {
		return fmt.Errorf("%w: %s has the extensions %s", ErrNoBackup, b.Name, strings.Join(b.Extensions, ", "))
	}
	name := fileName(extension)
	file, err := b.storage.Open(ctx, b.Name, name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	unpacked, err := gzip.NewReader(bufio.NewReader(file))
	if err != nil {
		return fmt.Errorf("%w: %s of the backup %s: %w", transfer.ErrBadFile, name, b.Name, err)
	}
	return read(unpacked)
}

// checkFiles compares all files with the checksums.
func (b *Backup) checkFiles(ctx context.Context) error {
	sums, err := b.readSums(ctx)
	if err != nil {
		return b.badFile(err)
	}
	for line := range strings.Lines(sums) {
		want, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		escaped, isExport := strings.CutSuffix(name, suffix)
		extension, err := url.PathUnescape(escaped)
		if name != erasuresFile && (!isExport || err != nil || fileName(extension) != name) {
			return fmt.Errorf("%w: %s of %s has the line %q", transfer.ErrBadFile, sumsFile, b.Name, line)
		}
		got, err := b.sumFile(ctx, name)
		if err != nil {
			return b.badFile(err)
		}
		if got != want {
			return fmt.Errorf("%w: %s of the backup %s was changed: its SHA-256 is %s, not %s", transfer.ErrBadFile, name, b.Name, got, want)
		}
		if isExport {
			b.Extensions = append(b.Extensions, extension)
		}
	}
	if len(b.Extensions) == 0 {
		return fmt.Errorf("%w: %s of %s is empty", transfer.ErrBadFile, sumsFile, b.Name)
	}
	return nil
}

// badFile returns an error about a file that is not there. Others may pass.
func (*Backup) badFile(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", transfer.ErrBadFile, err)
	}
	return err
}

// maxSums limits the checksums of a backup, in bytes: they are held in memory, with a line for
// each extension.
const maxSums = 16 << 20

func (b *Backup) readSums(ctx context.Context) (string, error) {
	sums, err := b.readFile(ctx, sumsFile, maxSums)
	return string(sums), err
}

// readFile returns a file of at most limit bytes.
func (b *Backup) readFile(ctx context.Context, name string, limit int64) ([]byte, error) {
	file, err := b.storage.Open(ctx, b.Name, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	content, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = fmt.Errorf("%w: %s of %s is larger than %d bytes", transfer.ErrBadFile, name, b.Name, limit)
	}
	return content, err
}

func (b *Backup) sumFile(ctx context.Context, name string) (string, error) {
	file, err := b.storage.Open(ctx, b.Name, name)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // it was only read
	digest := sha256.New()
	_, err = io.Copy(digest, file)
	return hex.EncodeToString(digest.Sum(nil)), err
}
