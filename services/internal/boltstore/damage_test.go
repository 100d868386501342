package boltstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"

	"github.com/acclaim-dev/acclaim/services/internal/document"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

const (
	sampleStreams  = 12
	sampleLast     = 24 // seq and version
	sampleSnapshot = 20_000
)

// sample returns the files of a store that holds sampleStreams streams with a
// snapshot each and as many documents, half of it in the records and half in
// the journal.
func sample(t *testing.T) image {
	t.Helper()
	s := newHarness(t, defaultLimits())
	for _, half := range [][2]uint64{{1, sampleLast / 2}, {sampleLast/2 + 1, sampleLast}} {
		s.Reopen(t)
		for i := range sampleStreams {
			name := fmt.Sprint("stream-", i)
			appendChunks(t, s.Store, name, half[0], half[1])
			putVersions(t, s.Store, fmt.Sprint("document-", i), half[0], half[1])
			if err := s.SaveSnapshot(t.Context(), name, newSnapshot(name, 1, sampleSnapshot)); err != nil {
				t.Fatal(err)
			}
		}
	}
	awaitMark(t, s.Store)
	return imageOf(t, s.Store)
}

// awaitMark returns when the writer of a store with a journal waits for work.
func awaitMark(t *testing.T, s *Store) {
	t.Helper()
	for generation := s.tables.active.generation; ; runtime.Gosched() {
		content := sectors(journalOf(t, dirOf(s))[filepath.Base(journalPath(s.db, generation))])
		if end := used(content); end > 0 && content.label(end/sectorSize-1) == label(generation, markSector) {
			return
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
		if seen++; chunk.Seq != seen {
			return fmt.Errorf("%w: a gap that every reader of chunks notices", stream.ErrDamaged)
		}
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

// damage changes a byte or wipes a sector of the database or the journal and
// says where.
func damage(random *rand.Rand, original image) (damaged image, what string) {
	damaged = image{bytes.Clone(original.pages), original.length, map[string][]byte{}}
	bytesOf, what := damaged.pages, "database"
	for name, content := range original.journal {
		damaged.journal[name] = bytes.Clone(content)
		if random.IntN(3) == 0 {
			bytesOf, what = damaged.journal[name][:used(content)], name
		}
	}
	if random.IntN(4) == 0 {
		at := random.IntN(len(bytesOf)/sectorSize) * sectorSize
		clear(bytesOf[at : at+sectorSize])
		return damaged, fmt.Sprintf("%s: sector at %d wiped", what, at)
	}
	at, by := random.IntN(len(bytesOf)), byte(1+random.IntN(255))
	bytesOf[at] ^= by
	return damaged, fmt.Sprintf("%s: byte %d changed by %x", what, at, by)
}

// used returns how much of a journal file has been written.
func used(content []byte) (end int) {
	for i := range len(content) / sectorSize {
		if sectors(content).label(i) != 0 {
			end = (i + 1) * sectorSize
		}
	}
	return end
}

// TestDamagedFile damages the files in hundreds of ways: what is read is right or
// refused. What can still be written is written too, which moves records over
// the damage.
func TestDamagedFile(t *testing.T) {
	original := sample(t)
	const shards, times = 4, 150
	for shard := range shards {
		t.Run(fmt.Sprint("seed=", shard), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(uint64(shard), 1))
			refused, failed := 0, 0
			for range times {
				damaged, what := damage(random, original)
				s, err := Open(damaged.write(t))
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
				_ = s.Close()
			}
			if refused == 0 || failed == 0 || refused+failed == times {
				t.Errorf("of %d, %d were refused and %d failed to read, want some of each and some good", times, refused, failed)
			}
		})
	}
}

// TestLostEntries takes single entries away from the file, which leaves no
// checksum wrong: what is missing is noticed all the same.
func TestLostEntries(t *testing.T) {
	original := sample(t)
	const name, key = "cstream-3", "ddocument-3"
	for what, test := range map[string]struct {
		refused bool // by Open; otherwise one read fails
		lose    func(tx *bbolt.Tx) error
	}{
		"the journal's last generation":   {true, func(tx *bbolt.Tx) error { return deleteLast(bucket(tx, journalBucket)) }},
		"the number of generations moved": {true, func(tx *bbolt.Tx) error { return bucket(tx, metaBucket).SetSequence(0) }},
		"the end of a stream":             {false, deletion(recordsBucket, chunkKey("stream-3", sampleLast/2))},
		"a stream's head":                 {false, deletion(headsBucket, name)},
		"a document":                      {false, deletion(recordsBucket, key)},
		"a document's version":            {false, deletion(headsBucket, key)},
	} {
		dir := original.write(t)
		if err := changeFile(filepath.Join(dir, fileName), test.lose); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		s, err := stopped(dir, defaultLimits())
		if refused := errors.Is(err, stream.ErrDamaged); refused != test.refused {
			t.Errorf("without %s: opening gives %v", what, err)
		}
		if err != nil {
			continue
		}
		if failed, err := checkRecords(s); failed != 1 {
			t.Errorf("without %s: %d reads of records failed, %v, want 1", what, failed, err)
		}
		if err := s.db.close(); err != nil {
			t.Error(err)
		}
	}
}

func deletion(from, key string) func(tx *bbolt.Tx) error {
	return func(tx *bbolt.Tx) error { return bucket(tx, from).Delete([]byte(key)) }
}

func deleteLast(b *bbolt.Bucket) error {
	key, _ := b.Cursor().Last()
	return b.Delete(key)
}

// checkRecords reads what is in the records alone and returns how many reads
// found damage.
func checkRecords(s *Store) (damages int, err error) {
	err = s.db.view(func(tx *bbolt.Tx) error {
		for i := range sampleStreams {
			_, streamErr := storedPage(tx, fmt.Sprint("stream-", i), 0, 1<<30)
			_, documentErr := storedDocument(tx, documentKey(fmt.Sprint("document-", i)))
			for _, err := range []error{streamErr, documentErr} {
				if errors.Is(err, stream.ErrDamaged) {
					damages++
				} else if err != nil {
					return err
				}
			}
		}
		return nil
	})
	return damages, err
}

// TestTruncatedFile cuts the file off at several lengths: up to the end of its
// last page it is refused, behind that it is whole.
func TestTruncatedFile(t *testing.T) {
	original := sample(t)
	used := int64(len(original.pages))
	for _, length := range []int64{0, 1, 100, 4095, 4096, 4200, 8192, 3 * 4096, used / 2, used - 4096, used - 1} {
		dir := image{original.pages[:length], length, original.journal}.write(t)
		_, err := Open(dir)
		wantRefusal(t, err, filepath.Join(dir, fileName), "restore it from a backup")
		if !errors.Is(err, stream.ErrDamaged) {
			t.Errorf("cut off at %d: %v, want ErrDamaged", length, err)
		}
	}
	s := mustOpen(t, image{original.pages, used, original.journal}.write(t), defaultLimits())
	defer mustClose(t, s)
	if failed, err := checkSample(t.Context(), s); failed > 0 || err != nil {
		t.Errorf("file without room at its end: %d reads failed, %v", failed, err)
	}
}

// TestTruncatedWhileOpen takes the pages away from under a store, all but its
// roots, which bbolt reads with locks held: reading them is an error, not a crash.
func TestTruncatedWhileOpen(t *testing.T) {
	s := mustOpen(t, sample(t).write(t), defaultLimits())
	if err := os.Truncate(s.db.path, 8192); err != nil {
		t.Fatal(err)
	}
	failed, err := checkSample(t.Context(), s)
	if failed == 0 || err != nil {
		t.Errorf("%d reads failed, %v", failed, err)
	}
	_ = s.Append(t.Context(), newChunk("new", 1))
	if err := s.Err(); err != nil && !strings.Contains(err.Error(), s.db.path) {
		t.Errorf("Err does not name the file: %v", err)
	}
	_ = s.Close()
}
