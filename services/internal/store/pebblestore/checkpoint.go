package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// ErrInUse marks a directory that another process has open.
var ErrInUse = errors.New("in use by another process")

const (
	// checkpointSuffix follows the name of the store's directory. The folder is beside that, so
	// that sstables are linked and the directory holds no file that Compact does not reach.
	checkpointSuffix = ".temporary-checkpoint"
	// checkpointName is the folder in it that Pebble makes, which others might read.
	checkpointName = "store"
	// operatorName is the file that leads a command to the process that has the store open.
	operatorName = "acclaim.operator"
	// roomInterval is the time between two looks at the room on the disk.
	roomInterval = time.Second
)

// checkpoint is a copy of the store while it is in use.
type checkpoint struct {
	ctx  context.Context //nolint:containedctx // Pebble makes the files of the copy without one
	end  context.CancelCauseFunc
	gone chan struct{} // closed when the copy is removed
}

// Checkpoint copies the store as it is, by links where the file system has them, and calls use
// with the folder of the copy, which opens as a store. The copy holds every write that was
// acknowledged before, and a prefix of the others. It is removed when use returns, and when the
// store is opened after a crash.
//
// The context of use is done when the copy has to go, because it holds what Compact removes or
// takes the room of the store; then Checkpoint returns the reason. A copy that cannot be made
// now fails as fault.Conflict: there is one at a time, none while Compact works, and none that
// leaves the store less than twice its reserve.
func (s *Store) Checkpoint(ctx context.Context, use func(ctx context.Context, folder string)) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	c := &checkpoint{ctx: ctx, end: end, gone: make(chan struct{})}
	for !s.checkpoint.CompareAndSwap(nil, c) {
		if other := s.checkpoint.Load(); other != nil {
			if other.ctx.Err() == nil {
				return fault.New(fault.Conflict, "There is a checkpoint already; it goes when its reader ends")
			}
			<-other.gone
		}
	}
	defer close(c.gone)
	defer s.checkpoint.Store(nil)
	err := s.makeCheckpoint()
	if err == nil {
		go s.watchRoom(c)
		use(ctx, s.checkpointCopy())
		err = context.Cause(ctx)
	}
	return errors.Join(err, s.removeCheckpoint())
}

func (s *Store) makeCheckpoint() error {
	if !s.compacting.TryLock() {
		return fault.New(fault.Conflict, "An erasure compacts the store; there is no checkpoint until it ends")
	}
	defer s.compacting.Unlock()
	if err := s.Err(); err != nil {
		return err
	}
	// An open witness may hold a lock, which closing another descriptor of it would end.
	witness, err := io.ReadAll(io.NewSectionReader(s.witness, 0, 1<<20))
	if err != nil {
		return err
	}
	// Only the owner may read it, whatever the sstables' modes are.
	if err := errors.Join(s.removeCheckpoint(), s.config.fs.MkdirAll(s.checkpointFolder(), 0o700)); err != nil {
		return s.checkpointError(err)
	}
	err = s.view(func(db *pebble.DB) error {
		if err := s.checkRoom(db); err != nil {
			return err
		}
		return db.Checkpoint(s.checkpointCopy(), pebble.WithFlushedWAL())
	})
	if err == nil {
		// It was read first, so the copy holds at least as many commits as it tells.
		err = s.writeFile(s.fs.PathJoin(s.checkpointCopy(), witnessName), witness)
	}
	return s.checkpointError(err)
}

// checkpointError tells the operator why there is no checkpoint.
func (s *Store) checkpointError(err error) error {
	if err == nil || fault.KindOf(err) == fault.Conflict {
		return err
	}
	return fault.Wrap(fault.Conflict, err, fmt.Sprintf("The checkpoint %s cannot be made: %v", s.checkpointFolder(), err))
}

// checkRoom refuses a copy that leaves less room than the store needs to serve everyone.
func (s *Store) checkRoom(db *pebble.DB) error {
	metrics := db.Metrics()
	needed := max(metrics.WAL.Size, metrics.WAL.PhysicalSize)
	link := s.fs.PathJoin(s.checkpointFolder(), "link")
	if err := s.config.fs.Link(s.fs.PathJoin(s.dir, witnessName), link); err != nil {
		needed = metrics.DiskSpaceUsage() // it is on another file system
	} else if err := s.config.fs.Remove(link); err != nil {
		return err
	}
	usage, err := s.config.fs.GetDiskUsage(s.checkpointFolder())
	if err == nil && usage.AvailBytes < needed+2*uint64(s.config.disk) {
		return fault.Newf(fault.Conflict, "The disk of %s has too little room for a checkpoint", s.checkpointFolder())
	}
	return nil // as large as it seems where it cannot be measured
}

// watchRoom ends a checkpoint when the disk gets full: the copy keeps the room of sstables that
// the store no longer needs.
func (s *Store) watchRoom(c *checkpoint) {
	ticker := time.NewTicker(roomInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if s.Low() {
				c.end(fault.New(fault.Conflict, "The disk is nearly full, so the checkpoint was removed"))
			}
		case <-c.ctx.Done():
			return
		}
	}
}

// endCheckpoint removes the checkpoint, if there is one, for a reason, which its reader gets.
func (s *Store) endCheckpoint(reason error) error {
	if c := s.checkpoint.Load(); c != nil {
		c.end(reason)
		<-c.gone
	}
	return s.removeCheckpoint()
}

func (s *Store) checkpointFolder() string {
	if dir, err := filepath.EvalSymlinks(s.dir); err == nil {
		return dir + checkpointSuffix // the same by whichever name the store is opened
	}
	return s.dir + checkpointSuffix // it is on no disk of the machine
}

func (s *Store) checkpointCopy() string { return s.fs.PathJoin(s.checkpointFolder(), checkpointName) }

func (s *Store) removeCheckpoint() error { return s.config.fs.RemoveAll(s.checkpointFolder()) }

// removeLeftovers removes what a process that was killed has left for others to read. The caller
// has locked the directory.
func (s *Store) removeLeftovers() {
	if err := s.removeCheckpoint(); err != nil {
		s.config.log.Error("a checkpoint of an earlier process was not removed: remove it, as it holds what the store held then", "folder", s.checkpointFolder(), "error", err)
	}
	s.removeOperatorFile()
}

// createCopy creates a file of the checkpoint. It fails where others wait until the machine is
// no longer short of something, and once the checkpoint has to go.
func (p *patientFS) createCopy(name string, category vfs.DiskWriteCategory) (file vfs.File, ok bool, err error) {
	c := p.store.checkpoint.Load()
	if c == nil || p.PathDir(name) != p.store.checkpointCopy() {
		return nil, false, nil
	}
	if err := context.Cause(c.ctx); err != nil {
		return nil, true, err
	}
	file, err = p.FS.Create(name, category)
	return file, true, err
}

func (s *Store) writeFile(name string, content []byte) error {
	file, err := s.config.fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Close())
}

func operatorFile(dir string) string { return filepath.Join(dir, operatorName) }

// ReadOperatorFile returns what the process that has the store of a directory open has written for
// commands of the operator.
func ReadOperatorFile(dir string) ([]byte, error) { return os.ReadFile(operatorFile(dir)) }

func (s *Store) removeOperatorFile() {
	if s.config.fs == vfs.Default {
		_ = os.Remove(operatorFile(s.dir)) // it leads to a process that is gone
	}
}

// WriteOperatorFile writes a file that only the user of this process can read. It goes when the
// store is closed, or opened after a crash.
func (s *Store) WriteOperatorFile(content []byte) error {
	file, err := os.OpenFile(operatorFile(s.dir), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Close())
}
