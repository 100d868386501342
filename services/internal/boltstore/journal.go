package boltstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// journal makes the commits of one generation after the other durable, each
// generation in a file of its own. A file is as long as it ever gets before it
// takes the first commit, for then a commit changes nothing but the sectors it
// fills and one fdatasync is quick; a file that has been moved to the records is
// used again. Only the writer uses it.
type journal struct {
	db         *database
	file       *os.File // nil until the first commit
	generation uint64   // of file
	size       int64    // of file
	registered int64    // what the database knows of size
	at         int64    // end of what was written to file
	commits    uint64   // in file
	marked     bool     // nothing has been written after the mark
	spare      string   // path of a file that is no longer needed
	frame      []byte   // buffer
}

// journalStep is by how much the file of a generation grows, in bytes.
const journalStep = 1 << 20

// journalSuffix and the number of its generation make the name of a file from
// that of the database.
const journalSuffix = ".journal."

func journalPath(db *database, generation uint64) string {
	return fmt.Sprint(db.path, journalSuffix, generation)
}

// append makes a commit of a generation durable. What it fails with is of the
// kinds that [database.update] fails with.
func (j *journal) append(generation uint64, body []byte) error {
	if err := j.db.err(); err != nil {
		return err
	}
	if err := j.makeRoom(generation, frameSize(len(body))); err != nil {
		return j.failed(err)
	}
	frame := appendFrame(j.frame[:0], generation, j.commits+1, commitSector, body)
	if cap(frame) <= journalStep {
		j.frame = frame
	}
	j.marked = false
	if _, err := j.file.WriteAt(frame, j.at); err != nil {
		return j.failed(err)
	}
	if err := syncData(j.file); err != nil {
		// Nobody knows what the disk has, even if there was no space.
		j.db.fail(err)
		return fault.Wrap(fault.Uncertain, j.db.err(), "storage failed")
	}
	j.at += int64(len(frame))
	j.commits++
	return nil
}

// failed is what callers hear of a commit of which a part at least was not
// written.
func (j *journal) failed(err error) error {
	switch {
	case fault.KindOf(err) == fault.Uncertain || fault.KindOf(err) == fault.Storage:
		return err // that of the database
	case isFull(err):
		return fault.Wrap(fault.Storage, err, "the disk is full")
	}
	j.db.fail(err)
	return fault.Wrap(fault.Uncertain, j.db.err(), "storage failed")
}

// mark notes that the last commit is durable, so that damage to it is not taken
// for a commit that was under way. Nobody waits for the mark: it costs nothing
// to lose it.
func (j *journal) mark() {
	if j.file == nil || j.marked || j.at+sectorSize > j.size || j.db.err() != nil {
		return
	}
	j.marked = true
	_, _ = j.file.WriteAt(appendFrame(nil, j.generation, j.commits+1, markSector, nil), j.at)
}

// makeRoom makes sure that so many bytes more fit into the file of a generation,
// and a mark.
func (j *journal) makeRoom(generation uint64, bytes int) error {
	if j.file == nil || generation != j.generation {
		if err := j.begin(generation); err != nil {
			return err
		}
	}
	if want := j.at + int64(bytes) + sectorSize; want > j.size {
		if err := j.grow((want + journalStep - 1) / journalStep * journalStep); err != nil {
			return err
		}
	}
	if j.size == j.registered {
		return nil
	}
	if err := j.db.update(registration(j.generation, j.size)); err != nil {
		return err
	}
	j.registered = j.size
	return nil
}

// begin opens the file of a new generation.
func (j *journal) begin(generation uint64) error {
	path := journalPath(j.db, generation)
	if j.spare != "" {
		if err := os.Rename(j.spare, path); err != nil {
			return err
		}
		j.spare = ""
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err := errors.Join(err, syncDir(filepath.Dir(path))); err != nil {
		return errors.Join(err, file.Close())
	}
	j.close()
	*j = journal{db: j.db, generation: generation, file: file, size: info.Size(), marked: true, frame: j.frame}
	return nil
}

// grow makes the file larger, by sectors without a label.
func (j *journal) grow(size int64) error {
	if err := j.file.Truncate(size); err != nil {
		return err
	}
	zeros := make([]byte, journalStep)
	for at := j.size; at < size; at += journalStep {
		if _, err := j.file.WriteAt(zeros[:min(journalStep, size-at)], at); err != nil {
			return err
		}
	}
	if err := j.file.Sync(); err != nil {
		return err
	}
	j.size = size
	return nil
}

// drop forgets the files of the generations first to last, whose writes are all
// in the records. One is kept for another generation.
func (j *journal) drop(first, last uint64) {
	for generation := first; generation <= last; generation++ {
		path := journalPath(j.db, generation)
		if _, err := os.Stat(path); err == nil && j.spare == "" {
			j.spare = path
			continue
		}
		_ = os.Remove(path) // or it is removed when the store is opened
	}
}

// end lets go of all files when the last commit has been made, and removes those
// that are not needed to open the store again.
func (j *journal) end() {
	j.mark()
	j.close()
	if j.spare != "" {
		_ = os.Remove(j.spare) // or it is removed when the store is opened
	}
}

// close lets go of the file.
func (j *journal) close() {
	if j.file != nil {
		_ = j.file.Close() // everything that counts has been synced
	}
}

// appendEntry appends an entry to the body of a commit.
func appendEntry(body []byte, e entry) []byte {
	body = binary.AppendUvarint(body, uint64(len(e.key)))
	body = append(body, e.key...)
	body = binary.AppendUvarint(body, uint64(len(e.record)))
	return append(body, e.record...)
}
