package boltstore

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

const journaledCommits = 3

// journaled returns the files of a store whose journal is one file with
// journaledCommits commits, each a chunk of several sectors, and that file's
// name and the sector at which each commit begins, the mark's included.
func journaled(t *testing.T) (i image, name string, starts []int) {
	t.Helper()
	s := newHarness(t, defaultLimits())
	for seq := range uint64(journaledCommits) {
		if err := s.Append(t.Context(), largeChunk(seq+1)); err != nil {
			t.Fatal(err)
		}
	}
	awaitMark(t, s.Store)
	i = imageOf(t, s.Store)
	name = slices.Collect(maps.Keys(i.journal))[0]
	content := sectors(i.journal[name])
	for at := range len(content) / sectorSize {
		if kind := content.label(at) & 0xff; kind == uint64(commitSector) || kind == uint64(markSector) {
			starts = append(starts, at)
		}
	}
	if len(starts) != journaledCommits+1 {
		t.Fatalf("journal has %d commits and marks, want %d", len(starts), journaledCommits+1)
	}
	return i, name, starts
}

func largeChunk(seq uint64) stream.Chunk {
	chunk := newChunk("s", seq)
	chunk.Payload = bytes.Repeat([]byte{byte(seq)}, 3*sectorSize)
	return chunk
}

// lengthAfter opens the files with one journal file replaced and returns how many
// chunks there are, which must be as they were written.
func lengthAfter(t *testing.T, i image, name string, content []byte) (length uint64, err error) {
	t.Helper()
	i.journal = map[string][]byte{name: content}
	s, err := Open(i.write(t))
	if err != nil {
		return 0, err
	}
	defer mustClose(t, s)
	for chunk, err := range s.Chunks(t.Context(), "s", 0) {
		if err != nil {
			return 0, err
		}
		length++
		if want := largeChunk(length); chunk.Sum() != want.Sum() {
			return 0, fmt.Errorf("chunk %d is not what was written", length)
		}
	}
	return length, nil
}

// TestTornCommit writes any part of the sectors of the last commit, of which
// nobody was told: the store is what it was before, unless all are there.
func TestTornCommit(t *testing.T) {
	original, name, starts := journaled(t)
	first, end := starts[2], starts[3]
	for written := range 1 << (end - first) {
		content := bytes.Clone(original.journal[name])
		clear(content[first*sectorSize : (end+1)*sectorSize])
		want := uint64(3)
		for i := range end - first {
			at := (first + i) * sectorSize
			if written>>i&1 == 1 {
				copy(content[at:], original.journal[name][at:at+sectorSize])
			} else {
				want = 2
			}
		}
		if length, err := lengthAfter(t, original, name, content); err != nil || length != want {
			t.Errorf("sectors %b written: %d chunks, %v, want %d", written, length, err, want)
		}
	}
}

// TestTornCommitOverMark is like TestTornCommit, but that the commit before was
// marked and the commit's first sector was not written.
func TestTornCommitOverMark(t *testing.T) {
	original, name, starts := journaled(t)
	content := original.journal[name]
	generation := sectors(content).label(0) >> 8
	clear(content[starts[3]*sectorSize:])
	copy(content[starts[2]*sectorSize:], appendFrame(nil, generation, 3, markSector, nil))
	if length, err := lengthAfter(t, original, name, content); err != nil || length != 2 {
		t.Errorf("%d chunks, %v, want 2", length, err)
	}
}

// TestLostSectors takes away every sector of the commits that were acknowledged:
// none is missed, or the store is refused.
func TestLostSectors(t *testing.T) {
	original, name, starts := journaled(t)
	for at := range starts[3] {
		content := bytes.Clone(original.journal[name])
		clear(content[at*sectorSize : (at+1)*sectorSize])
		if _, err := lengthAfter(t, original, name, content); !errors.Is(err, stream.ErrDamaged) {
			t.Errorf("without sector %d: %v, want ErrDamaged", at, err)
		}
	}
	if length, err := lengthAfter(t, original, name, original.journal[name]); err != nil || length != 3 {
		t.Errorf("with all sectors: %d chunks, %v, want 3", length, err)
	}
}

// TestLostJournal takes away a file of the journal or its end.
func TestLostJournal(t *testing.T) {
	original, name, _ := journaled(t)
	content := original.journal[name]
	for what, files := range map[string]map[string][]byte{
		"is missing":         nil,
		"the end is missing": {name: content[:len(content)-sectorSize]},
		"has 0 bytes":        {name: nil},
	} {
		i := original
		i.journal = files
		_, err := Open(i.write(t))
		wantRefusal(t, err, name, what)
		if !errors.Is(err, stream.ErrDamaged) {
			t.Errorf("%s: %v, want ErrDamaged", what, err)
		}
	}
}

// TestJournalFilesAreUsedAgain: however many generations there are, there are few
// files, and a file's earlier generations are not read.
func TestJournalFilesAreUsedAgain(t *testing.T) {
	s := newHarness(t, smallLimits())
	generations := uint64(0)
	for seq := range uint64(201) {
		appendChunks(t, s.Store, "s", seq+1, seq+1)
		if seq%50 != 0 {
			continue
		}
		release := hold(t, s.Store)
		i := imageOf(t, s.Store)
		generations = s.tables.active.generation
		release()
		if len(i.journal) > 3 {
			t.Fatalf("journal has %d files, want at most 3", len(i.journal))
		}
		copied := mustOpen(t, i.write(t), defaultLimits())
		wantStream(t, copied, "s", seq+1)
		mustClose(t, copied)
	}
	if generations < 10 {
		t.Errorf("only %d generations", generations)
	}
}

// TestStrayJournalFiles: files of generations that were moved or never begun are
// removed and not read.
func TestStrayJournalFiles(t *testing.T) {
	s := newHarness(t, defaultLimits())
	appendChunks(t, s.Store, "s", 1, 3)
	mustClose(t, s.Store)
	for _, generation := range []uint64{1, 7} {
		if err := os.WriteFile(journalPath(s.db, generation), appendFrame(nil, generation, 1, commitSector, []byte("stray")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.Store = mustOpen(t, s.dir, s.limits)
	wantStream(t, s.Store, "s", 3)
	if files := journalOf(t, s.dir); len(files) > 0 {
		t.Errorf("%d stray files are left", len(files))
	}
}
