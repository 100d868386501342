package boltstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"
)

// compactBytes is how much a transaction copies.
const compactBytes = 1 << 20

// Compact writes the store in a directory anew, so that the file holds nothing but
// what is stored: bbolt leaves what was deleted or replaced in pages until it needs
// them. The store must not be in use. A crash leaves the old file or the new one.
func Compact(dir string) (err error) {
	s, err := OpenExisting(dir)
	if err != nil {
		return err
	}
	// With an empty journal everything is where it belongs.
	if err := s.Close(); err != nil {
		return err
	}
	old, err := openDatabase(dir)
	if err != nil {
		return err
	}
	// The lock on the old file is kept until the new one is in its place.
	defer func() { err = errors.Join(err, old.close()) }()
	file, err := os.CreateTemp(dir, fileName+".*.new")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }() // gone already where all went well
	if err := errors.Join(file.Close(), copyAll(old.bolt, file.Name())); err != nil {
		return fmt.Errorf("compact %s: %w", old.path, err)
	}
	return errors.Join(os.Rename(file.Name(), filepath.Join(dir, fileName)), syncDir(dir))
}

// copyAll copies a database into an empty file.
func copyAll(from *bbolt.DB, path string) error {
	into, err := bbolt.Open(path, 0o600, boltOptions(func(*os.File) {}))
	if err != nil {
		return err
	}
	err = guard(func() error { return bbolt.Compact(into, from, compactBytes) })
	return errors.Join(err, into.Close())
}
