package tenant

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle is how long after the first event of a burst the file is read: one
// save of an editor, or one update of a mounted ConfigMap, is several events.
const settle = 100 * time.Millisecond

// Directory holds the registry that is in force and replaces it when the file
// it comes from changes.
type Directory struct {
	path    string
	seen    []byte // the content last read, nil if that failed; Watch's own once Open has returned
	current atomic.Pointer[Registry]
}

// Open reads the registry file at path.
func Open(path string) (*Directory, error) {
	d := &Directory{path: path}
	if _, err := d.reload(); err != nil {
		return nil, err
	}
	return d, nil
}

// Registry returns the registry in force. A caller that needs several answers
// that belong together asks one Registry for all of them.
func (d *Directory) Registry() *Registry { return d.current.Load() }

// Watch replaces the registry whenever the content of the file changes, until
// ctx is done, and then returns nil. It calls reloaded after each change: with
// nil when the new registry is in force, with the reason when the file cannot be
// used and the registry in force stays.
//
// It watches the folder of the file, and so sees the file replaced by a rename
// and the symbolic links of a mounted ConfigMap or Secret switched over. One
// Directory is watched once at a time.
func (d *Directory) Watch(ctx context.Context, reloaded func(error)) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch extension registry: %w", err)
	}
	defer watcher.Close()
	if err := watcher.Add(filepath.Dir(d.path)); err != nil {
		return fmt.Errorf("watch extension registry: %w", err)
	}
	// The first reading is for what changed between Open and now.
	due := time.After(0)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-due:
			due = nil
			if changed, err := d.reload(); changed {
				reloaded(err)
			}
		case _, ok := <-watcher.Events:
			if !ok {
				return errors.New("watch extension registry: watcher ended")
			}
			if due == nil {
				due = time.After(settle)
			}
		case err := <-watcher.Errors:
			// Events may have been lost (an overflow), so the file is read all the same.
			reloaded(fmt.Errorf("watch extension registry: %w", err))
			if due == nil {
				due = time.After(settle)
			}
		}
	}
}

// reload reads the file and puts the registry it holds in force. It reports
// whether the content, or that there is none, differs from the time before.
func (d *Directory) reload() (changed bool, err error) {
	data, err := os.ReadFile(d.path)
	if err != nil {
		changed, d.seen = d.seen != nil, nil
		return changed, fmt.Errorf("read extension registry: %w", err)
	}
	if d.seen != nil && bytes.Equal(data, d.seen) {
		return false, nil
	}
	d.seen = data
	registry, err := Parse(data)
	if err != nil {
		return true, fmt.Errorf("extension registry %s:\n%w", d.path, err)
	}
	d.current.Store(registry)
	return true, nil
}
