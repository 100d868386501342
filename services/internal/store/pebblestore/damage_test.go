package pebblestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

const (
	sampleStreams  = 12
	sampleLast     = 24 // seq and version
	sampleSnapshot = 5_000
)

// sample returns the disk of a store that holds sampleStreams streams with a
// snapshot each and as many documents: in the last level, above it, and in the log.
func sample(t *testing.T, closed bool) *vfs.MemFS {
	t.Helper()
	disk := vfs.NewCrashableMem()
	c := memoryConfig(disk)
	c.table = 256 << 10
	s, err := open("/data", c, true)
	if err != nil {
		t.Fatal(err)
	}
	for third := range uint64(3) {
		writeSample(t, s, third)
		switch third {
		case 0:
			mustCompact(t, s)
		case 1:
			flush(t, s)
		}
	}
	if closed {
		mustClose(t, s)
	} else {
		t.Cleanup(func() { mustClose(t, s) })
	}
	return disk
}

// writeSample writes a third of the sample.
func writeSample(t *testing.T, s *Store, third uint64) {
	t.Helper()
	first, last := third*sampleLast/3+1, (third+1)*sampleLast/3
	for i := range sampleStreams {
		name := fmt.Sprint("stream-", i)
		appendChunks(t, s, name, first, last)
		putVersions(t, s, fmt.Sprint("document-", i), first, last)
		if err := s.SaveSnapshot(t.Context(), name, newSnapshot(name, 1, sampleSnapshot)); err != nil {
			t.Fatal(err)
		}
	}
}

// checkSample returns how many reads failed, and an error if one gave anything
// but what was written.
func checkSample(ctx context.Context, s *Store) (failed int, err error) {
	for i := range sampleStreams {
		for _, check := range []func() error{
			func() error { return checkStream(ctx, s, fmt.Sprint("stream-", i)) },
			func() error { return checkSnapshot(ctx, s, fmt.Sprint("stream-", i)) },
			func() error { return checkDocument(ctx, s, fmt.Sprint("document-", i)) },
		} {
			switch err := check(); {
			case errors.Is(err, stream.ErrDamaged):
				failed++
			case err != nil:
				return failed, err
			}
		}
	}
	return failed, nil
}

func checkStream(ctx context.Context, s *Store, name string) error {
	seen := uint64(0)
	for chunk, err := range s.Chunks(ctx, name, 0) {
		if err != nil {
			return err
		}
		seen++
		if want := newChunk(name, seen); chunk.Sum() != want.Sum() {
			return fmt.Errorf("%s chunk %d is not what was written", name, seen)
		}
	}
	if seen != sampleLast {
		return fmt.Errorf("%s ends at %d", name, seen)
	}
	return nil
}

func checkSnapshot(ctx context.Context, s *Store, name string) error {
	snapshot, ok, err := s.LoadSnapshot(ctx, name)
	if err != nil {
		return err
	}
	if want := newSnapshot(name, 1, sampleSnapshot); ok && (snapshot.Head != want.Head || !bytes.Equal(snapshot.State, want.State)) {
		return fmt.Errorf("snapshot of %s is not what was written", name)
	}
	return nil
}

func checkDocument(ctx context.Context, s *Store, key string) error {
	found, err := s.Get(ctx, key)
	if err != nil {
		return err
	}
	if diff := cmp.Diff([]document.Document{newDocument(key, sampleLast)}, found); diff != "" {
		return fmt.Errorf("document %s (-want +got):\n%s", key, diff)
	}
	return nil
}

// damage changes a bit or more of a random file, or cuts it off, and returns what
// it did.
func damage(t *testing.T, random *rand.Rand, disk *vfs.MemFS) (what string) {
	t.Helper()
	names, err := disk.List("/data")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	for {
		name := names[random.IntN(len(names))]
		content := contentOf(t, disk, name)
		if len(content) == 0 {
			continue
		}
		at := random.IntN(len(content))
		if strings.HasSuffix(name, ".log") && random.IntN(2) == 0 {
			at = len(content) - 1 - random.IntN(min(len(content), 200)) // the last commit
		}
		switch random.IntN(4) {
		case 0:
			content, what = content[:at], "cut off"
		case 1:
			clear(content[at:min(at+512, len(content))])
			what = "wiped"
		default:
			content[at] ^= 1 << random.IntN(8)
			what = "flipped"
		}
		if bytes.Equal(content, contentOf(t, disk, name)) {
			continue // it was zero before
		}
		write(t, disk, name, content)
		return fmt.Sprintf("%s %s at %d of %d", name, what, at, len(content))
	}
}

func contentOf(t *testing.T, disk *vfs.MemFS, name string) []byte {
	t.Helper()
	file, err := disk.Open("/data/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	content, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func write(t *testing.T, disk *vfs.MemFS, name string, content []byte) {
	t.Helper()
	file, err := disk.Create("/data/"+name, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.Write(bytes.Clone(content))
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestDamage damages the files of a store that was killed or closed in many
// ways: what is read is right or refused, before and after all is rewritten.
func TestDamage(t *testing.T) {
	const shards, times = 4, 40
	for shard := range shards {
		t.Run(fmt.Sprint("seed=", shard), func(t *testing.T) {
			t.Parallel()
			original := sample(t, shard%2 == 0)
			random := rand.New(rand.NewPCG(uint64(shard), 1))
			refused, failed := 0, 0
			for range times {
				disk := original.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: random})
				what := damage(t, random, disk)
				s, err := open("/data", memoryConfig(disk), false)
				if err != nil {
					refused++
					continue
				}
				n, err := checkSample(t.Context(), s)
				if err != nil {
					t.Errorf("%s: %v", what, err)
				}
				failed += min(n, 1)
				for i := range sampleStreams {
					_ = s.Append(t.Context(), newChunk(fmt.Sprint("new-", i), 1)) // may be refused
				}
				if err := s.Compact(t.Context()); err != nil && !errors.Is(err, stream.ErrDamaged) && fault.KindOf(err) != fault.Storage {
					t.Errorf("%s: %v", what, err)
				}
				if after, err := checkSample(t.Context(), s); err == nil && after < n {
					t.Errorf("%s: %d reads failed, and after a compaction %d", what, n, after)
				} else if err != nil && fault.KindOf(err) != fault.Storage {
					t.Errorf("%s, after a compaction: %v", what, err)
				}
				_ = s.Close()
			}
			if refused == 0 || failed == 0 || refused+failed == times {
				t.Errorf("of %d, %d were refused and %d failed to read, want some of each and some good", times, refused, failed)
			}
		})
	}
}
