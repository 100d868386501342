package pebblestore

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"
	gocmp "github.com/google/go-cmp/cmp"
)

// shape is a store in some stage of its life.
type shape struct {
	table uint64 // bytes of a memtable
	// between runs after each third of the writes.
	between func(t *testing.T, s *Store, third int)
}

func shapes() map[string]shape {
	compact := func(t *testing.T, s *Store, _ int) { mustCompact(t, s) }
	return map[string]shape{
		"logs":              {4 << 20, func(*testing.T, *Store, int) {}},
		"an sstable, a log": {4 << 20, atThird(1, flush)},
		"levels": {256 << 10, func(t *testing.T, s *Store, third int) {
			atThird(0, mustCompact)(t, s, third)
			atThird(1, flush)(t, s, third)
		}},
		"compacted":      {256 << 10, compact},
		"small sstables": {32 << 10, func(*testing.T, *Store, int) {}},
		"flushed":        {4 << 20, atThird(2, flush)},
		"opened again":   {4 << 20, atThird(1, reopen)},
		"long manifest":  {4 << 20, addEdits},
	}
}

func atThird(at int, do func(*testing.T, *Store)) func(*testing.T, *Store, int) {
	return func(t *testing.T, s *Store, third int) {
		if third == at {
			do(t, s)
		}
	}
}

// addEdits makes the manifest longer than two blocks of its records.
func addEdits(t *testing.T, s *Store, third int) {
	t.Helper()
	for i := range 250 {
		appendChunks(t, s, fmt.Sprint("edit-", third, "-", i), 1, 1)
		flush(t, s)
	}
}

func reopen(t *testing.T, s *Store) {
	t.Helper()
	if err := s.reopen(); err != nil {
		t.Fatal(err)
	}
}

// make returns a disk as the death of a process leaves it, with a store of that shape and
// the content of sample, and the disk as it was after each earlier third.
func (shape shape) make(t *testing.T) (last *vfs.MemFS, earlier []*vfs.MemFS) {
	t.Helper()
	disk := vfs.NewCrashableMem()
	c := memoryConfig(disk)
	c.table = shape.table
	s, err := open("/data", c, true)
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, s)
	for third := range 3 {
		writeSample(t, s, uint64(third))
		shape.between(t, s, third)
		earlier = append(earlier, killedNow(t, disk))
	}
	return earlier[2], earlier[:2]
}

// killedNow returns a disk as the death of a process leaves it. A clone alone has the
// files again whose deletion is not durable, as after a power loss.
func killedNow(t *testing.T, disk *vfs.MemFS) *vfs.MemFS {
	t.Helper()
	before, beforeErr := disk.List("/data")
	clone := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(0, 0))})
	after, afterErr := disk.List("/data")
	names, err := clone.List("/data")
	for _, name := range names {
		if !slices.Contains(before, name) && !slices.Contains(after, name) {
			err = errors.Join(err, clone.Remove("/data/"+name))
		}
	}
	if err := errors.Join(err, beforeErr, afterErr); err != nil {
		t.Fatal(err)
	}
	return clone
}

// contentsOf returns the content of all files of a store, by name.
func contentsOf(t *testing.T, disk *vfs.MemFS) map[string]string {
	t.Helper()
	names, err := disk.List("/data")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, name := range names {
		files[name] = string(contentOf(t, disk, name))
	}
	return files
}

// damagedFile holds the content of a damaged file, and names the damage.
type damagedFile struct {
	what    string
	content []byte
}

// damages returns what becomes of a file that is damaged at a place in one way of five, by chance, and in
// every way with ACCLAIM_SIM_DAMAGE=all, as `make simulate` sets it: all take minutes with the race detector.
func damages(random *rand.Rand, content []byte, at int) []damagedFile {
	bit, eight, zeros, block := bytes.Clone(content), bytes.Clone(content), bytes.Clone(content), bytes.Clone(content)
	bit[at] ^= 1 << random.IntN(8)
	for i := range eight[at:min(at+8, len(eight))] {
		eight[at+i] = byte(random.Uint32())
	}
	clear(zeros[at:])
	clear(block[at:min((at/manifestBlock+1)*manifestBlock, len(block))])
	all := []damagedFile{
		{"a bit", bit}, {"eight bytes", eight}, {"zeros to the end", zeros}, {"zeros to the end of its block", block}, {"cut off", content[:at]},
	}
	if os.Getenv("ACCLAIM_SIM_DAMAGE") == "all" {
		return all
	}
	one := random.IntN(len(all))
	return all[one : one+1]
}

// places returns where to damage a file: all over small ones and manifests, in regions
// of others, at the end, where blocks of manifests end, and where records of a log begin.
func places(t *testing.T, random *rand.Rand, disk vfs.FS, file, content string) (places []int) {
	t.Helper()
	regions := 3
	if strings.HasPrefix(file, manifestStart) || file == witnessName {
		regions = 10
	}
	step := max(1, len(content)/regions)
	for at := 0; at < len(content); at += step {
		places = append(places, min(len(content)-1, at+random.IntN(step)))
	}
	if strings.HasPrefix(file, manifestStart) {
		for end := manifestBlock; end < len(content); end += manifestBlock {
			places = append(places, end-18, end-7, end-1, end)
		}
	}
	if strings.HasSuffix(file, logSuffix) {
		starts := recordStarts(t, disk, file)
		for range min(3, len(starts)) {
			places = append(places, starts[random.IntN(len(starts))])
		}
	}
	return append(places, max(0, len(content)-9), len(content)-1)
}

// recordStarts returns where the records of a log begin.
func recordStarts(t *testing.T, disk vfs.FS, file string) (starts []int) {
	t.Helper()
	logs, err := wal.Scan(wal.Dir{FS: disk, Dirname: "/data"})
	if err != nil {
		t.Fatal(err)
	}
	for _, log := range logs {
		if _, name := log.SegmentLocation(0); disk.PathBase(name) != file {
			continue
		}
		reader := log.OpenForRead()
		defer func() { _ = reader.Close() }()
		for {
			_, offset, err := reader.NextRecord()
			if err != nil {
				return starts
			}
			starts = append(starts, int(offset.Physical))
		}
	}
	return nil
}

// TestDamageEverywhere damages each region of each file of stores of several shapes:
// they give the same answers, or do not open and stay as they are. Only a damaged
// sstable makes reads fail.
func TestDamageEverywhere(t *testing.T) {
	for name, shape := range shapes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(3, 3))
			disk, earlier := shape.make(t)
			wantSound(t, killedNow(t, disk))
			for file, content := range contentsOf(t, disk) {
				if file == "LOCK" || len(content) == 0 {
					continue
				}
				for _, at := range places(t, random, disk, file, content) {
					for _, damage := range damages(random, []byte(content), at) {
						if string(damage.content) == content {
							continue
						}
						changed := killedNow(t, disk)
						write(t, changed, file, damage.content)
						wantSameOrRefused(t, changed, file, fmt.Sprintf("%s: %s at %d of %d", file, damage.what, at, len(content)))
					}
				}
			}
			wantMissingNoticed(t, disk)
			wantOlderNoticed(t, disk, earlier)
		})
	}
}

func wantMissingNoticed(t *testing.T, disk *vfs.MemFS) {
	t.Helper()
	for file := range contentsOf(t, disk) {
		changed := killedNow(t, disk)
		if err := changed.Remove("/data/" + file); err != nil {
			t.Fatal(err)
		}
		wantSameOrRefused(t, changed, file, file+" is missing")
	}
}

// wantOlderNoticed replaces each file by that of an earlier time.
func wantOlderNoticed(t *testing.T, disk *vfs.MemFS, earlier []*vfs.MemFS) {
	t.Helper()
	now := contentsOf(t, disk)
	for _, before := range earlier {
		for file, content := range contentsOf(t, before) {
			if now[file] == content && content != "" {
				continue
			}
			changed := killedNow(t, disk)
			write(t, changed, file, []byte(content))
			wantSameOrRefused(t, changed, file, file+" of an earlier time")
		}
	}
}

// wantSound makes sure that a store opens, to read and to write, and holds all.
func wantSound(t *testing.T, disk *vfs.MemFS) {
	t.Helper()
	if failed, err := answersOf(t, disk, readOnly, true); failed > 0 || err != nil {
		t.Errorf("to read: %d reads failed, %v", failed, err)
	}
	if failed, err := answersOf(t, disk, readWrite, true); failed > 0 || err != nil {
		t.Errorf("%d reads failed, %v", failed, err)
	}
}

// refusal is an error of opening a store.
type refusal struct{ error }

// answersOf opens the store on a disk and reads all, without all only where it opens it
// to write. It returns the number of reads
// that failed, a [refusal], or what was wrong with an answer.
func answersOf(t *testing.T, disk *vfs.MemFS, access access, all bool) (failed int, err error) {
	t.Helper()
	c := memoryConfig(disk)
	c.access = access
	s, err := open("/data", c, access == readWrite)
	if err != nil {
		return 0, refusal{err}
	}
	defer func() { _ = s.Close() }()
	if access == readOnly && !all {
		return 0, nil
	}
	return checkSample(t.Context(), s)
}

// wantSameOrRefused opens a damaged store to read and to write. file is the damaged one.
func wantSameOrRefused(t *testing.T, disk *vfs.MemFS, file, what string) {
	t.Helper()
	before := contentsOf(t, disk)
	for _, access := range []access{readOnly, readWrite} {
		failed, err := answersOf(t, disk, access, false)
		_, refused := errors.AsType[refusal](err)
		switch {
		case err != nil && !refused:
			t.Errorf("%s: %v", what, err)
		case failed > 0 && !strings.HasSuffix(file, tableSuffix):
			t.Errorf("%s: %d reads failed", what, failed)
		case refused && file == witnessName && before[file] != "" && access == readWrite:
			t.Errorf("%s: %v", what, err)
		}
		if access == readOnly || refused {
			if diff := diffNames(before, contentsOf(t, disk)); diff != "" {
				t.Errorf("%s: opening it has changed the files (-before +after):\n%s", what, diff)
			}
		}
	}
}

// diffNames compares files but for LOCK, and names those that differ.
func diffNames(before, after map[string]string) string {
	delete(before, "LOCK")
	delete(after, "LOCK")
	names := slices.Collect(maps.Keys(before))
	if diff := gocmp.Diff(slices.Sorted(slices.Values(names)), slices.Sorted(maps.Keys(after))); diff != "" {
		return diff
	}
	for name := range before {
		if before[name] != after[name] {
			return name + " has other content"
		}
	}
	return ""
}
