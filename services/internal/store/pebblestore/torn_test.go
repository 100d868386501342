package pebblestore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// keepsAll is a file system that deletes nothing of a database.
type keepsAll struct{ vfs.FS }

// Remove implements [vfs.FS].
func (k keepsAll) Remove(name string) error {
	if strings.HasSuffix(name, logSuffix) || strings.HasSuffix(name, tableSuffix) {
		return nil
	}
	return k.FS.Remove(name)
}

// ReuseForWrite implements [vfs.FS].
func (k keepsAll) ReuseForWrite(_, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return k.Create(name, c)
}

// makeKeepingAll returns a disk as the death of a process leaves it, with the content of
// sample and all files that edits of its manifest replaced.
func makeKeepingAll(t *testing.T, table uint64, then func(*testing.T, *Store)) (killed *vfs.MemFS, manifest string) {
	t.Helper()
	disk := vfs.NewCrashableMem()
	c := memoryConfig(disk)
	c.fs, c.table = keepsAll{disk}, table
	s, err := open("/data", c, true)
	if err != nil {
		t.Fatal(err)
	}
	for third := range uint64(3) {
		writeSample(t, s, third)
		then(t, s)
	}
	killed = killedNow(t, disk)
	mustClose(t, s)
	return killed, lastWith(contentsOf(t, killed), manifestStart, "")
}

// TestTornManifest damages edits of a manifest while all that they replace is still
// there, as it is when a crash cuts off an edit: the store has everything.
func TestTornManifest(t *testing.T) {
	killed, manifest := makeKeepingAll(t, 32<<10, func(*testing.T, *Store) {})
	random := rand.New(rand.NewPCG(4, 4))
	content := string(contentOf(t, killed, manifest))
	edits := editEnds(t, content)
	if len(edits) < 5 {
		t.Fatalf("the manifest has %d edits", len(edits))
	}
	for _, at := range slices.Concat(edits[len(edits)/2:], places(t, random, killed, manifest, content)) {
		if at < edits[0] || at == len(content) {
			continue
		}
		for _, damage := range damages(random, []byte(content), at) {
			changed := killedNow(t, killed)
			write(t, changed, manifest, damage.content)
			wantSound(t, changed)
			if t.Failed() {
				t.Fatalf("%s at %d of %d", damage.what, at, len(content))
			}
		}
	}
}

// TestLostEdit takes an edit between others from a manifest: Pebble takes up to 18 zeros at
// the end of a block for its rest, skips the edit whose first bytes they were, and would
// serve a store that lacks an sstable.
func TestLostEdit(t *testing.T) {
	killed, manifest := makeKeepingAll(t, 4<<20, flush)
	edits := editsOf(t, contentOf(t, killed, manifest))
	for length := range edits {
		for lost := 1; lost < length; lost++ {
			for first := manifestHeader; first < manifestHeader+12; first++ {
				content := startAtBlockEnd(t, edits[:length+1], lost, first)
				changed := killedNow(t, killed)
				write(t, changed, manifest, content)
				wantSound(t, changed)

				clear(content[manifestBlock-first : manifestBlock])
				changed = killedNow(t, killed)
				write(t, changed, manifest, content)
				wantSameOrRefused(t, changed, manifest, fmt.Sprintf("zeros for the first %d bytes of edit %d of %d", first, lost, length+1))
			}
		}
	}
}

// startAtBlockEnd returns a manifest with an edit whose first bytes, its header included, are
// the last ones of a block. An edit without effect comes before it.
func startAtBlockEnd(t *testing.T, edits [][]byte, edit, first int) []byte {
	t.Helper()
	var content bytes.Buffer
	writer := record.NewWriter(&content)
	write := func(edit []byte) {
		if _, err := writer.WriteRecord(edit); err != nil {
			t.Fatal(err)
		}
	}
	for n, bytesOfEdit := range edits {
		if n == edit {
			// The filler repeats the number of a file. The last number counts, and later edits have
			// one.
			filler := bytes.Repeat([]byte{3, 2}, manifestBlock/2)
			size := manifestBlock - first - int(writer.Size()) - manifestHeader
			if size%2 == 1 {
				filler = append([]byte{3, 0x82, 0}, filler...) // a longer way to write 2
			}
			write(filler[:size])
		}
		write(bytesOfEdit)
	}
	return content.Bytes()
}

// editsOf returns the edits of a manifest.
func editsOf(t *testing.T, content []byte) (edits [][]byte) {
	t.Helper()
	start, text := 0, string(content)
	for _, end := range editEnds(t, text) {
		edits = append(edits, content[start+manifestHeader:end])
		start = end
	}
	return edits
}

// TestTornLog damages the end of a log, which holds a write that was not acknowledged:
// the store has all the others.
func TestTornLog(t *testing.T) {
	for name, shape := range shapes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(5, 5))
			disk, _ := shape.make(t)
			s, err := open("/data", memoryConfig(disk), true)
			if err != nil {
				t.Fatal(err)
			}
			appendChunks(t, s, "extra", 1, 1)
			before := contentsOf(t, killedNow(t, disk))
			appendChunks(t, s, "extra", 2, 2)
			killed := killedNow(t, disk)
			mustClose(t, s)

			log := lastWith(before, "", logSuffix)
			content := contentOf(t, killed, log)
			write(t, killed, witnessName, []byte(before[witnessName]))
			for at := len(before[log]); at < len(content); at += 1 + random.IntN(24) {
				for _, damage := range damages(random, content, at) {
					changed := killedNow(t, killed)
					write(t, changed, log, damage.content)
					wantSound(t, changed)
					if t.Failed() {
						t.Fatalf("%s at %d of %d", damage.what, at, len(content))
					}
				}
			}
		})
	}
}

// lastWith returns the greatest of the names with that start and end.
func lastWith(files map[string]string, start, end string) (last string) {
	for name := range files {
		if strings.HasPrefix(name, start) && strings.HasSuffix(name, end) {
			last = max(last, name)
		}
	}
	return last
}

// editEnds returns where the edits of a manifest end.
func editEnds(t *testing.T, content string) (ends []int) {
	t.Helper()
	reader := record.NewReader(strings.NewReader(content), 0)
	for {
		r, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return ends
		}
		if err == nil {
			_, err = io.Copy(io.Discard, r)
		}
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, int(reader.Offset()))
	}
}
