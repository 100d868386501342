package boltstore

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

const (
	fileName = "acclaim.db"

	// format is the version of everything the file holds.
	format = "acclaim 2"

	advice = "restore it from a backup, or move it away to begin with an empty store"
)

// openDatabase opens the file in dir, creating both if need be.
func openDatabase(dir string) (*database, error) {
	path := filepath.Join(dir, fileName)
	if _, err := os.Stat(path); err != nil {
		if err := create(dir, path); err != nil {
			return nil, fmt.Errorf("data directory %s cannot be set up: %w: choose a directory that this user may write", dir, err)
		}
	}
	db, err := openFile(path)
	if err != nil {
		return nil, err
	}
	if err := db.view(checkFormat); err != nil {
		return nil, abandon(db, err)
	}
	return db, nil
}

// abandon closes a database that cannot be used and says which it is.
func abandon(db *database, err error) error {
	return errors.Join(fmt.Errorf("%s: %w: %s", db.path, err, advice), db.close())
}

// openFile opens an existing file. It leaves alone one that is not whole: bbolt
// would fall back to an older state, or fault when it reads past the end.
func openFile(path string) (*database, error) {
	db := &database{path: path}
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		return nil, abandon(db, fmt.Errorf("%w: file is empty", stream.ErrDamaged)) // bbolt would take it for a new one
	}
	err := guard(func() (err error) {
		db.bolt, err = bbolt.Open(path, 0o600, boltOptions(func(f *os.File) { db.file = f }))
		return err
	})
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, fmt.Errorf("%s is in use by another process: stop that one or choose another data directory", path)
	case db.file == nil:
		return nil, fmt.Errorf("data file cannot be opened: %w: it must be a file that this user may read and write", err)
	}
	// The reason why bbolt could not read the file tells more than its error.
	if damage := inspect(path); damage != nil {
		err = damage
	}
	if err != nil {
		return nil, abandon(db, err)
	}
	return db, nil
}

func boltOptions(opened func(*os.File)) *bbolt.Options {
	return &bbolt.Options{
		Timeout:         time.Nanosecond, // one attempt
		FreelistType:    bbolt.FreelistMapType,
		InitialMmapSize: initialMmapSize(),
		NoStatistics:    true,
		OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
			file, err := os.OpenFile(name, flag&^os.O_CREATE, mode)
			if err == nil {
				opened(file)
			}
			return file, err
		},
	}
}

// initialMmapSize is so large that the file is rarely mapped anew, for which a
// commit would wait until nobody reads.
func initialMmapSize() int {
	if math.MaxInt == math.MaxInt32 {
		return 1 << 26
	}
	return 1 << 30
}

// create makes an empty store under a name of its own and links it into place,
// so that a file at path is whole whatever happens meanwhile. It is no error
// when somebody else was faster.
func create(dir, path string) error {
	above := nearest(dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, fileName+".*.new")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }() // harmless if it stays
	if err := errors.Join(file.Close(), initialise(file.Name())); err != nil {
		return err
	}
	if err := os.Link(file.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDirs(dir, above)
}

// initialise makes an empty file an empty store.
func initialise(path string) error {
	db, err := bbolt.Open(path, 0o600, boltOptions(func(*os.File) {}))
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, name := range bucketNames() {
			if _, err := tx.CreateBucket([]byte(name)); err != nil {
				return err
			}
		}
		return bucket(tx, metaBucket).Put([]byte("format"), []byte(format))
	})
	return errors.Join(err, db.Close())
}

// checkFormat refuses a file of another program or of a later version of this
// one.
func checkFormat(tx *bbolt.Tx) error {
	for _, name := range bucketNames() {
		if bucket(tx, name) == nil {
			return fmt.Errorf("%w: bucket %q is missing, it may be the file of another program", stream.ErrDamaged, name)
		}
	}
	if found := bucket(tx, metaBucket).Get([]byte("format")); string(found) != format {
		return fmt.Errorf("format is %q and this program reads %q only", found, format)
	}
	return nil
}

// nearest returns the nearest of dir and its ancestors that exists.
func nearest(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// syncDirs makes the entries of dir durable and those of its ancestors up to
// above.
func syncDirs(dir, above string) error {
	for {
		if err := syncDir(dir); err != nil || dir == above {
			return err
		}
		dir = filepath.Dir(dir)
	}
}

func syncDir(dir string) error {
	file, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
