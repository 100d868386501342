package pebblestore

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

// secret is in everything that TestCompact replaces and deletes.
const secret = "viewer-4711"

// TestCompact replaces and deletes everything that holds a secret, after some of it
// was flushed, moved to the last level or opened again. Then no file holds it,
// and all else is as it was.
func TestCompact(t *testing.T) {
	for name, before := range map[string]func(t *testing.T, h *harness){
		"in the log":        func(*testing.T, *harness) {},
		"in an sstable":     func(t *testing.T, h *harness) { flush(t, h.Store) },
		"in the last level": func(t *testing.T, h *harness) { mustCompact(t, h.Store) },
		"after opening":     func(t *testing.T, h *harness) { h.Reopen(t) },
		"among others":      func(t *testing.T, h *harness) { fill(t, h.Store, 3<<20) },
	} {
		for _, prefixes := range [][]string{nil, {"extension/", "other/"}} {
			t.Run(fmt.Sprint(name, prefixes), func(t *testing.T) {
				t.Parallel()
				c := defaultConfig()
				c.table = 1 << 20
				h := newHarness(t, c)
				appendChunks(t, h.Store, "extension/kept", 1, 30)
				putVersions(t, h.Store, "extension/kept", 1, 30)
				storeSecrets(t, h.Store)
				before(t, h)
				if !holds(t, h.dir) {
					t.Fatal("no file holds the secret, so this test shows nothing")
				}
				removeSecrets(t, h.Store)
				if err := h.Compact(t.Context(), prefixes...); err != nil {
					t.Fatal(err)
				}
				if holds(t, h.dir) {
					t.Errorf("a file holds the secret: %s", where(t, h.dir))
				}
				wantStream(t, h.Store, "extension/kept", 30)
				wantDocument(t, h.Store, "extension/kept", 30)
				h.Reopen(t)
				wantStream(t, h.Store, "extension/kept", 30)
				if holds(t, h.dir) {
					t.Errorf("after opening a file holds the secret: %s", where(t, h.dir))
				}
			})
		}
	}
}

const chunks = 20

func chunkWithSecret(seq uint64) stream.Chunk {
	chunk := newChunk("extension/stream", seq)
	chunk.Payload = bytes.Repeat([]byte(secret+" "), int(seq))
	return chunk
}

func storeSecrets(t *testing.T, s *Store) {
	t.Helper()
	for seq := uint64(1); seq <= chunks; seq++ {
		if err := s.Append(t.Context(), chunkWithSecret(seq)); err != nil {
			t.Fatal(err)
		}
	}
	state := bytes.Repeat([]byte(secret), 50_000)
	for _, name := range []string{"extension/stream", "extension/" + secret} {
		if err := s.SaveSnapshot(t.Context(), name, stream.Snapshot{State: state}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 10 {
		key := fmt.Sprint("extension/", secret, "-", i)
		if err := s.Put(t.Context(), document.Write{Key: key, Body: []byte(secret)}); err != nil {
			t.Fatal(err)
		}
	}
}

func removeSecrets(t *testing.T, s *Store) {
	t.Helper()
	for seq := uint64(1); seq <= chunks; seq++ {
		old := chunkWithSecret(seq)
		chunk := old
		chunk.Payload, chunk.Original = []byte("redacted"), old.Sum()
		if err := s.Replace(t.Context(), chunk, old.Sum()); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"extension/stream", "extension/" + secret} {
		if err := s.DeleteSnapshot(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 10 {
		if err := s.Delete(t.Context(), fmt.Sprint("extension/", secret, "-", i)); err != nil {
			t.Fatal(err)
		}
	}
}

// fill stores random bytes on both sides of the secrets.
func fill(t *testing.T, s *Store, size int) {
	t.Helper()
	random := rand.NewChaCha8([32]byte{})
	for i := range size / (64 << 10) {
		body := make([]byte, 64<<10)
		_, _ = random.Read(body)
		key := fmt.Sprintf("%c/%d", 'a'+byte(i%26), i)
		if err := s.Put(t.Context(), document.Write{Key: key, Body: body}); err != nil {
			t.Fatal(err)
		}
	}
}

func flush(t *testing.T, s *Store) {
	t.Helper()
	if err := s.db.Flush(); err != nil {
		t.Fatal(err)
	}
}

func mustCompact(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func holds(t *testing.T, dir string) bool { return len(filesWith(t, dir, secret)) > 0 }

func where(t *testing.T, dir string) []string { return filesWith(t, dir, secret) }

// filesWith returns the files of a directory that hold some bytes. The store does
// not compress, so a search finds all.
func filesWith(t *testing.T, dir, text string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err == nil && bytes.Contains(content, []byte(text)) {
			names = append(names, d.Name())
		}
		if os.IsNotExist(err) {
			err = nil // deleted meanwhile
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestCompactWhileServing reads and writes while the store is compacted again and
// again: nothing fails, nothing is lost.
func TestCompactWhileServing(t *testing.T) {
	h := newHarness(t, defaultConfig())
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var counts [4]uint64
	for i := range counts {
		all.Go(func() {
			name := fmt.Sprint("stream-", i)
			for ctx.Err() == nil {
				counts[i]++
				appendChunks(t, h.Store, name, counts[i], counts[i])
				wantStream(t, h.Store, name, counts[i])
			}
		})
	}
	for range 5 {
		mustCompact(t, h.Store)
	}
	cancel()
	all.Wait()
	h.Reopen(t)
	for i, count := range counts {
		wantStream(t, h.Store, fmt.Sprint("stream-", i), count)
	}
}

// TestCompactGivesRoomBack: the directory is about as large as what is stored.
func TestCompactGivesRoomBack(t *testing.T) {
	h := newHarness(t, defaultConfig())
	fill(t, h.Store, 10<<20)
	for key, err := range h.Keys(t.Context(), "") {
		if err == nil && !strings.HasPrefix(key, "b/") {
			err = h.Delete(t.Context(), key)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	mustCompact(t, h.Store)
	if size := sizeOf(t, h.dir); size > 2<<20 {
		t.Errorf("the directory holds %d bytes", size)
	}
}

func sizeOf(t *testing.T, dir string) (size int64) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		info, infoErr := entry.Info()
		if infoErr == nil {
			size += info.Size()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return size
}
