package backup

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// folder is a [Storage] that keeps a subfolder for each backup.
type folder string

// unfinished is the prefix of what is being written or removed.
const unfinished = ".unfinished-"

func (f folder) String() string { return string(f) }

func (f folder) path(elements ...string) string {
	return filepath.Join(append([]string{string(f)}, elements...)...)
}

// List implements [Storage]. A folder that does not exist has none.
func (f folder) List(context.Context) ([]string, error) {
	entries, err := f.entries()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if isName(entry.Name()) && entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

func (f folder) entries() ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}

// Begin implements [Storage].
func (f folder) Begin(_ context.Context, name string) (Draft, error) {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return nil, err
	}
	if err := os.Mkdir(f.path(unfinished+name), 0o700); err != nil {
		return nil, err
	}
	return folderDraft{f, name}, nil
}

// Open implements [Storage].
func (f folder) Open(_ context.Context, name, file string) (io.ReadCloser, error) {
	return os.Open(f.path(name, file))
}

// Remove implements [Storage].
func (f folder) Remove(_ context.Context, name string) error {
	return errors.Join(os.Rename(f.path(name), f.path(unfinished+name)), os.RemoveAll(f.path(unfinished+name)))
}

// RemoveUnfinished implements [Storage].
func (f folder) RemoveUnfinished(_ context.Context, before time.Time) error {
	entries, err := f.entries()
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if name, ok := strings.CutPrefix(entry.Name(), unfinished); ok && isAbandoned(name, before) {
			if err := os.RemoveAll(f.path(entry.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// folderDraft is a [Draft] whose subfolder gets its name when it is complete.
type folderDraft struct {
	folder folder
	name   string
}

func (d folderDraft) path(file string) string { return d.folder.path(unfinished+d.name, file) }

// WriteFile implements [Draft]: the file's owner alone can read it.
func (d folderDraft) WriteFile(_ context.Context, name string, write func(io.Writer) error) error {
	file, err := os.OpenFile(d.path(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = write(file)
	return errors.Join(err, file.Sync(), file.Close())
}

// Complete implements [Draft].
func (d folderDraft) Complete(ctx context.Context, sums []byte) error {
	err := d.WriteFile(ctx, sumsFile, func(file io.Writer) error {
		_, err := file.Write(sums)
		return err
	})
	if err == nil {
		err = syncFolder(d.path(""))
	}
	if err == nil { // renaming replaces an empty folder only, so never a backup
		err = os.Rename(d.path(""), d.folder.path(d.name))
	}
	if err != nil {
		return err
	}
	return syncFolder(string(d.folder))
}

// Discard implements [Draft].
func (d folderDraft) Discard(context.Context) error { return os.RemoveAll(d.path("")) }

// syncFolder makes the names in a folder durable.
func syncFolder(name string) error {
	if runtime.GOOS == "windows" {
		return nil // it does not synchronize folders
	}
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
