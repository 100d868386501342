package pebblestore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// checkpointOf calls use in a checkpoint and makes sure that nothing stays of it.
func checkpointOf(t *testing.T, s *Store, use func(ctx context.Context, folder string)) error {
	t.Helper()
	err := s.Checkpoint(t.Context(), use)
	wantNoCheckpoint(t, s.dir)
	return err
}

func wantNoCheckpoint(t *testing.T, dir string) {
	t.Helper()
	if found, err := filepath.Glob(dir + "?*"); err != nil || len(found) > 0 {
		t.Errorf("beside the data folder are %q, %v", found, err)
	}
}

// openCopy opens a checkpoint as another process does.
func openCopy(t *testing.T, folder string) *Store {
	t.Helper()
	s, err := OpenExisting(folder)
	if err != nil {
		t.Fatalf("open the checkpoint: %v", err)
	}
	return s
}

// A checkpoint of a store that is written to holds everything that was acknowledged before it
// was begun, and of each stream a prefix. The store goes on meanwhile and loses nothing.
func TestCheckpointUnderLoad(t *testing.T) {
	for name, c := range map[string]config{"usual": defaultConfig(), "small": smallConfig()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, c)
			l := startLoad(t, h.Store, acknowledged{}, 100)
			<-l.reached
			for range 5 {
				before := l.state()
				err := checkpointOf(t, h.Store, func(_ context.Context, folder string) {
					s := openCopy(t, folder)
					defer mustClose(t, s)
					wantBetween(t, s, before, l.state())
				})
				if err != nil {
					t.Error(err)
				}
			}
			l.end()
			acks := l.state()
			h.Reopen(t)
			verify(t, h.Store, acks)
		})
	}
}

// Only the owner may look into a checkpoint, and it costs links where there are some.
func TestCheckpointIsPrivateAndLinked(t *testing.T) {
	h := newHarness(t, defaultConfig())
	fill(t, h.Store, 1<<20)
	flush(t, h.Store)
	err := checkpointOf(t, h.Store, func(_ context.Context, folder string) {
		if info, err := os.Stat(filepath.Dir(folder)); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("the folder is %v, %v", info.Mode(), err)
		}
		tables, err := filepath.Glob(filepath.Join(folder, "*.sst"))
		if err != nil || len(tables) == 0 {
			t.Fatalf("there are %q, %v", tables, err)
		}
		for _, table := range tables {
			one, err := os.Stat(table)
			other, otherErr := os.Stat(filepath.Join(h.dir, filepath.Base(table)))
			if err != nil || otherErr != nil || !os.SameFile(one, other) {
				t.Errorf("%s is a copy: %v, %v", table, err, otherErr)
			}
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// A checkpoint ends before Compact does, whose promise covers it, and none begins meanwhile.
func TestCompactEndsCheckpoint(t *testing.T) {
	h := newHarness(t, defaultConfig())
	storeSecrets(t, h.Store)
	begun, result := make(chan struct{}), make(chan error, 1)
	go func() {
		result <- h.Checkpoint(t.Context(), func(ctx context.Context, folder string) {
			if !holds(t, folder) {
				t.Error("the checkpoint does not hold the secret, so this test shows nothing")
			}
			close(begun)
			<-ctx.Done()
		})
	}()
	<-begun
	removeSecrets(t, h.Store)
	mustCompact(t, h.Store)
	wantNoCheckpoint(t, h.dir)
	if holds(t, filepath.Dir(h.dir)) {
		t.Errorf("a file holds the secret: %s", where(t, filepath.Dir(h.dir)))
	}
	wantConflict(t, <-result, "An erasure removed")
	h.compacting.Lock()
	wantConflict(t, checkpointOf(t, h.Store, func(context.Context, string) { t.Error("it was made") }), "compacts")
	h.compacting.Unlock()
	if err := checkpointOf(t, h.Store, func(_ context.Context, folder string) {
		if holds(t, folder) {
			t.Error("a later checkpoint holds the secret")
		}
	}); err != nil {
		t.Error(err)
	}
}

func wantConflict(t *testing.T, err error, reason string) {
	t.Helper()
	if fault.KindOf(err) != fault.Conflict || !strings.Contains(err.Error(), reason) {
		t.Errorf("error is %v, want one of kind Conflict with %q", err, reason)
	}
}

// There is one checkpoint at a time, and none of a store that is closed or closes.
func TestCheckpointsThatAreRefused(t *testing.T) {
	h := newHarness(t, defaultConfig())
	closed := make(chan error, 1)
	err := h.Checkpoint(t.Context(), func(ctx context.Context, _ string) {
		wantConflict(t, h.Checkpoint(t.Context(), func(context.Context, string) { t.Error("it was made") }), "already")
		go func() { closed <- h.Close() }()
		<-ctx.Done()
	})
	if err := <-closed; err != nil {
		t.Error(err)
	}
	wantNoCheckpoint(t, h.dir)
	for _, err := range []error{err, h.Checkpoint(t.Context(), func(context.Context, string) { t.Error("it was made") })} {
		if !errors.Is(err, os.ErrClosed) {
			t.Errorf("a closed store: %v", err)
		}
	}
}

// A checkpoint that would leave the store too little room is refused. One that is there when
// the disk fills up goes.
func TestCheckpointLeavesRoom(t *testing.T) {
	h, m := newMachineHarness(t)
	appendChunks(t, h.Store, "a", 1, 10)
	m.free.Store(2 << 20)
	wantConflict(t, h.Checkpoint(t.Context(), func(context.Context, string) { t.Error("it was made") }), "too little room")
	m.free.Store(1 << 30)
	wantConflict(t, h.Checkpoint(t.Context(), func(ctx context.Context, _ string) {
		m.free.Store(2<<20 - 1)
		<-ctx.Done()
	}), "nearly full")
	m.free.Store(1 << 30)
	appendChunks(t, h.Store, "a", 11, 20)
	if _, err := m.Stat(h.checkpointFolder()); !os.IsNotExist(err) {
		t.Errorf("the folder is there: %v", err)
	}
}

// What a process that was killed has left of a checkpoint goes at the next start.
func TestKilledWithCheckpoint(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	command := child(t, "checkpoint", dir)
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	folder, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); !errors.Is(err, ErrInUse) {
		t.Errorf("a second process: %v", err)
	}
	if err := errors.Join(command.Process.Kill()); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait()
	for _, left := range []string{strings.TrimSpace(folder), operatorFile(dir)} {
		if _, err := os.Stat(left); err != nil {
			t.Fatalf("nothing is left, so this test shows nothing: %v", err)
		}
	}
	h := &harness{Store: mustOpen(t, dir, defaultConfig())}
	defer mustClose(t, h.Store)
	wantNoCheckpoint(t, dir)
	if _, err := os.Stat(operatorFile(dir)); !os.IsNotExist(err) {
		t.Errorf("the operator's file is there: %v", err)
	}
	wantStream(t, h.Store, "a", 1)
}

// checkpointChild holds a checkpoint for as long as it lives.
func checkpointChild(dir string) error {
	s, err := Open(dir)
	if err != nil {
		return err
	}
	if err := errors.Join(s.Append(context.Background(), newChunk("a", 1)), s.WriteOperatorFile([]byte("secret"))); err != nil {
		return err
	}
	return s.Checkpoint(context.Background(), func(ctx context.Context, folder string) {
		fmt.Println(folder) //nolint:forbidigo // the test reads it
		<-ctx.Done()
	})
}
