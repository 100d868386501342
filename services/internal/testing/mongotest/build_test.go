package mongotest

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

// Those that need the program at once build it one after the other, the first that succeeds for all. The
// lock is one of open files, so that goroutines stand for processes.
func TestBuildOnce(t *testing.T) {
	program := filepath.Join(t.TempDir(), "folder", "program")
	var builds, running, most atomic.Int64
	build := func(unfinished string) error {
		most.Store(max(most.Load(), running.Add(1)))
		defer running.Add(-1)
		if builds.Add(1) == 1 {
			return errors.New("the first fails")
		}
		return os.WriteFile(unfinished, []byte("program"), 0o600)
	}
	var all sync.WaitGroup
	var failed atomic.Int64
	for range 8 {
		all.Go(func() {
			if buildOnce(program, build) != nil {
				failed.Add(1)
			}
		})
	}
	all.Wait()
	if content, err := os.ReadFile(program); err != nil || string(content) != "program" {
		t.Errorf("built %q, %v", content, err)
	}
	if builds.Load() != 2 || most.Load() != 1 || failed.Load() != 1 {
		t.Errorf("%d builds, %d at once, %d failed", builds.Load(), most.Load(), failed.Load())
	}
}
