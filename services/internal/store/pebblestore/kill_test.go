package pebblestore

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// crashWriters write at a time; each has two streams and a document
// of its own.
const crashWriters = 6

// acknowledged counts the writes to every stream and document.
type acknowledged map[string]uint64

// TestKilled kills a process that writes, again and again on the same data, at
// whatever point it has come to: every write it reported is stored, once, and
// at most the one under way besides.
func TestKilled(t *testing.T) {
	const kills = 30
	dir := filepath.Join(t.TempDir(), "data")
	random := rand.New(rand.NewPCG(1, 1))
	acks := acknowledged{}
	for range kills {
		killAfter(t, child(t, "append", dir), random.IntN(250), acks)
		verifyCopy(t, dir, acks)
	}
}

// killAfter kills the process once it has reported a number of writes, and
// counts all that it reported.
func killAfter(t *testing.T, command *exec.Cmd, reports int, acks acknowledged) {
	t.Helper()
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(output)
	for n := 0; ; n++ {
		if n == reports {
			_ = command.Process.Kill()
		}
		if !lines.Scan() {
			break
		}
		var name string
		var number uint64
		if _, err := fmt.Sscan(lines.Text(), &name, &number); err == nil { // else the last line was cut off
			acks[name] = number
		}
	}
	if err := command.Wait(); err == nil || command.ProcessState.Exited() {
		t.Fatalf("process ended by itself: %v", err)
	}
}

// verifyCopy looks at a copy of the files, so that the next process finds them as
// this one left them.
func verifyCopy(t *testing.T, dir string, acks acknowledged) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, witnessName)); os.IsNotExist(err) && len(acks) == 0 {
		return // killed before there was a store
	}
	s := mustOpen(t, copyOf(t, dir), defaultConfig())
	defer mustClose(t, s)
	verify(t, s, acks)
}

// verify makes sure that a store holds what was acknowledged and at most one more
// of each.
func verify(t *testing.T, s *Store, acks acknowledged) {
	t.Helper()
	for writer := range crashWriters {
		for _, name := range crashStreams(writer) {
			acks[name] = wantOneMore(t, name, acks[name], lastOf(t, s, name))
			wantStream(t, s, name, acks[name])
		}
		key := crashDocument(writer)
		found, err := s.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		acks[key] = wantOneMore(t, key, acks[key], found[0].Version)
		wantDocument(t, s, key, acks[key])
	}
}

// copyOf returns a copy of a directory.
func copyOf(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// wantOneMore returns the number found, which is the one acknowledged or the
// next.
func wantOneMore(t *testing.T, name string, acknowledged, found uint64) uint64 {
	t.Helper()
	if found != acknowledged && found != acknowledged+1 {
		t.Fatalf("%s is at %d, %d were acknowledged", name, found, acknowledged)
	}
	return found
}

func lastOf(t *testing.T, s *Store, name string) (last uint64) {
	t.Helper()
	last, err := lastChunk(t.Context(), s, name)
	if err != nil {
		t.Fatal(err)
	}
	return last
}

func lastChunk(ctx context.Context, s *Store, name string) (last uint64, err error) {
	for chunk, err := range s.Chunks(ctx, name, 0) {
		if err != nil {
			return 0, err
		}
		last = chunk.Seq
	}
	return last, nil
}

func crashStreams(writer int) []string {
	return []string{fmt.Sprint("stream-", writer), fmt.Sprint("stream-", writer, "-b")}
}

func crashDocument(writer int) string { return fmt.Sprint("document-", writer) }

// appendChild writes for as long as it lives and reports what is stored, a line
// for each write.
func appendChild(dir string) error {
	s, err := open(dir, smallConfig(), true)
	if err != nil {
		return err
	}
	failures := make(chan error, crashWriters)
	var reports sync.Mutex
	report := func(name string, number uint64) error {
		reports.Lock()
		defer reports.Unlock()
		_, err := fmt.Fprintln(os.Stdout, name, number)
		return err
	}
	for writer := range crashWriters {
		go func() { failures <- writeForever(context.Background(), s, writer, report) }()
	}
	return <-failures
}

func writeForever(ctx context.Context, s *Store, writer int, report func(name string, number uint64) error) error {
	names, key := crashStreams(writer), crashDocument(writer)
	last := map[string]uint64{}
	for _, name := range names {
		seq, err := lastChunk(ctx, s, name)
		if err != nil {
			return err
		}
		last[name] = seq
	}
	found, err := s.Get(ctx, key)
	if err != nil {
		return err
	}
	for version := found[0].Version + 1; ; version++ {
		for _, name := range names {
			last[name]++
			if err := s.Append(ctx, newChunk(name, last[name])); err != nil {
				return err
			}
			if err := report(name, last[name]); err != nil {
				return err
			}
		}
		if err := s.Put(ctx, newWrite(key, version)); err != nil {
			return err
		}
		if err := report(key, version); err != nil {
			return err
		}
	}
}
