package backup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// nameLayout is the time that names a backup, in UTC. Names sort by age.
	nameLayout = "20060102T150405Z"
	// unfinished is the prefix of what is being written or removed.
	unfinished = ".unfinished-"
	// abandonedAfter is the age from which no process still works on what is unfinished.
	abandonedAfter = 24 * time.Hour
)

// List returns the names of the backups in a folder, the oldest first. A folder that does
// not exist has none.
func List(folder string) ([]string, error) {
	entries, err := readFolder(folder)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if _, err := time.Parse(nameLayout, entry.Name()); err == nil && entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

func readFolder(folder string) ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}

// Prune keeps a number of the newest backups of a folder and removes the others, and what
// earlier processes left unfinished. It returns the names of the removed backups.
func Prune(folder string, keep int, now time.Time) (removed []string, err error) {
	names, err := List(folder)
	if err != nil {
		return nil, err
	}
	for _, name := range names[:max(len(names)-keep, 0)] {
		// Half of a backup must not look like one.
		doomed := filepath.Join(folder, unfinished+name)
		if err := errors.Join(os.Rename(filepath.Join(folder, name), doomed), os.RemoveAll(doomed)); err != nil {
			return removed, err
		}
		removed = append(removed, name)
	}
	return removed, removeAbandoned(folder, now)
}

func removeAbandoned(folder string, now time.Time) error {
	entries, err := readFolder(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name, ok := strings.CutPrefix(entry.Name(), unfinished)
		if !ok {
			continue
		}
		if begun, err := time.Parse(nameLayout, name); err != nil || now.Sub(begun) < abandonedAfter {
			continue
		}
		if err := os.RemoveAll(filepath.Join(folder, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

// syncFolder makes the names in a folder durable.
func syncFolder(folder string) error {
	file, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
