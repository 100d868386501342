package backup

import (
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/acclaim-dev/acclaim/services/internal/transfer"
)

// ErrNoBackup marks a folder that does not have the backup that was asked for.
var ErrNoBackup = errors.New("there is no such backup")

// Backup is a backup whose files are those that were written.
type Backup struct {
	Name string
	// Extensions are the client ids of the extensions that it has.
	Extensions []string

	folder string
}

// Open checks the files of a backup, by default the newest, against its checksums. The
// error is [transfer.ErrBadFile] where one is missing or was changed.
func Open(folder, name string) (*Backup, error) {
	names, err := List(folder)
	switch {
	case err != nil:
		return nil, err
	case len(names) == 0:
		return nil, fmt.Errorf("%w: %s has none", ErrNoBackup, folder)
	case name == "":
		name = names[len(names)-1]
	case !slices.Contains(names, name):
		return nil, fmt.Errorf("%w: %s has %s", ErrNoBackup, folder, strings.Join(names, ", "))
	}
	b := &Backup{Name: name, folder: filepath.Join(folder, name)}
	return b, b.checkFiles()
}

// Read calls read with the export of an extension, unpacked.
func (b *Backup) Read(extension string, read func(io.Reader) error) error {
	if !slices.Contains(b.Extensions, extension) {
		return fmt.Errorf("%w: %s has the extensions %s", ErrNoBackup, b.Name, strings.Join(b.Extensions, ", "))
	}
	file, err := os.Open(filepath.Join(b.folder, fileName(extension)))
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	unpacked, err := gzip.NewReader(bufio.NewReader(file))
	if err != nil {
		return fmt.Errorf("%w: %s: %w", transfer.ErrBadFile, file.Name(), err)
	}
	return read(unpacked)
}

// checkFiles compares all files with the checksums.
func (b *Backup) checkFiles() error {
	sums, err := os.ReadFile(filepath.Join(b.folder, sumsFile))
	if err != nil {
		return fmt.Errorf("%w: %w", transfer.ErrBadFile, err)
	}
	for line := range strings.Lines(string(sums)) {
		want, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		escaped, isExport := strings.CutSuffix(name, suffix)
		extension, err := url.PathUnescape(escaped)
		if !isExport || err != nil || fileName(extension) != name {
			return fmt.Errorf("%w: %s of %s has the line %q", transfer.ErrBadFile, sumsFile, b.Name, line)
		}
		got, err := sumFile(filepath.Join(b.folder, name))
		if err != nil {
			return fmt.Errorf("%w: %w", transfer.ErrBadFile, err)
		}
		if got != want {
			return fmt.Errorf("%w: %s of the backup %s was changed: its SHA-256 is %s, not %s", transfer.ErrBadFile, name, b.Name, got, want)
		}
		b.Extensions = append(b.Extensions, extension)
	}
	if len(b.Extensions) == 0 {
		return fmt.Errorf("%w: %s of %s is empty", transfer.ErrBadFile, sumsFile, b.Name)
	}
	return nil
}

func sumFile(name string) (string, error) {
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // it was only read
	digest := sha256.New()
	_, err = io.Copy(digest, file)
	return hex.EncodeToString(digest.Sum(nil)), err
}
