// Package filewatch watches files that are read again when they change. The package may
// not import anything of the project and reads no file itself.
package filewatch

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// readDelay is the time from the first event of a burst to reading the files: one save
// of an editor, or one update of a mounted ConfigMap, is several events.
const readDelay = 100 * time.Millisecond

// Watch calls read soon after the start, for what changed before, and then after each
// burst of changes beside the files, until ctx is done; then it returns nil. It calls
// lost with the reason where changes may have been lost, and read after that.
//
// It watches the folders of the files, and so sees a file replaced by a rename and the
// symbolic links of a mounted ConfigMap or Secret switched over.
func Watch(ctx context.Context, read func(), lost func(error), files ...string) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch files: %w", err)
	}
	defer watcher.Close()
	for _, file := range files {
		if err := watcher.Add(filepath.Dir(file)); err != nil {
			return fmt.Errorf("watch %s: %w", file, err)
		}
	}
	due := time.After(0)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-due:
			due = nil
			read()
		case _, ok := <-watcher.Events:
			if !ok {
				return errors.New("watch files: the watcher ended")
			}
			if due == nil {
				due = time.After(readDelay)
			}
		case err := <-watcher.Errors:
			lost(fmt.Errorf("watch files: %w", err)) // such as an overflow
			if due == nil {
				due = time.After(readDelay)
			}
		}
	}
}
