package boltstore

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cespare/xxhash/v2"

	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

// A journal file is a row of sectors, the largest unit that every disk writes
// whole. A commit fills sectors of its own, so that writing one never touches
// another. Each sector ends with a label: the generation it was written in,
// because files are used again, and what the sector is.
const (
	sectorSize = 512
	labelSize  = 8
	sectorRoom = sectorSize - labelSize

	// frameHead is what comes before the body of a frame: its length and a
	// checksum, 8 bytes each.
	frameHead = 16
)

// kind is what a sector is.
type kind byte

const (
	commitSector  kind = 1 + iota // begins a commit
	furtherSector                 // goes on with the frame before
	markSector                    // says that the commits before it are durable
)

func label(generation uint64, k kind) uint64 { return generation<<8 | uint64(k) }

// frameSize is that of a frame with a body of the given length, in bytes.
func frameSize(body int) int {
	return (frameHead + body + sectorRoom - 1) / sectorRoom * sectorSize
}

// appendFrame appends the n-th frame of a generation to buf: the body in sectors.
func appendFrame(buf []byte, generation, n uint64, k kind, body []byte) []byte {
	buf = binary.BigEndian.AppendUint64(buf, uint64(len(body)))
	buf = binary.BigEndian.AppendUint64(buf, frameSum(generation, n, k, body))
	for room := sectorRoom - frameHead; ; room = sectorRoom {
		part := min(room, len(body))
		buf = append(buf, body[:part]...)
		buf = append(buf, make([]byte, room-part)...)
		buf = binary.BigEndian.AppendUint64(buf, label(generation, k))
		if body = body[part:]; len(body) == 0 {
			return buf
		}
		k = furtherSector
	}
}

// frameSum is the checksum of a frame, which covers its place too.
func frameSum(generation, n uint64, k kind, body []byte) uint64 {
	var place [24]byte
	binary.BigEndian.PutUint64(place[:], label(generation, k))
	binary.BigEndian.PutUint64(place[8:], n)
	binary.BigEndian.PutUint64(place[16:], uint64(len(body)))
	var sum xxhash.Digest
	sum.Reset()
	_, _ = sum.Write(place[:])
	_, _ = sum.Write(body)
	return sum.Sum64()
}

// sectors is what a journal file holds from a sector on.
type sectors []byte

// label returns that of the i-th sector, 0 if there is no such sector.
func (s sectors) label(i int) uint64 {
	end := (i + 1) * sectorSize
	if end > len(s) {
		return 0
	}
	return binary.BigEndian.Uint64(s[end-labelSize:])
}

// errTorn is that of a frame of which some sectors were never written.
var errTorn = errors.New("boltstore: frame was not written whole")

// frame returns the body of the frame of which these sectors begin with, and how
// many sectors it has. It fails with errTorn or [stream.ErrDamaged].
func (s sectors) frame(generation, n uint64, k kind) (body []byte, count int, err error) {
	if s.label(0) != label(generation, k) {
		return nil, 0, errTorn
	}
	length := binary.BigEndian.Uint64(s)
	if length > uint64(len(s)) {
		return nil, 0, fmt.Errorf("%w: commit %d is longer than the file", stream.ErrDamaged, n)
	}
	data := append(make([]byte, 0, frameHead+length), s[:sectorRoom]...)
	for count = 1; uint64(len(data)) < frameHead+length; count++ {
		if s.label(count) != label(generation, furtherSector) {
			return nil, 0, errTorn
		}
		data = append(data, s[count*sectorSize:][:sectorRoom]...)
	}
	body = data[frameHead : frameHead+length : frameHead+length]
	if binary.BigEndian.Uint64(data[8:]) != frameSum(generation, n, k, body) {
		return nil, 0, fmt.Errorf("%w: commit %d: wrong checksum", stream.ErrDamaged, n)
	}
	return body, count, nil
}

// end checks that the generation ends here, before what would be its n-th
// commit. One that is there in part was under way when the program ended, and
// nobody was told that it is durable: else a commit or a mark would follow.
func (s sectors) end(generation, n uint64) error {
	if s.label(0) == label(generation, markSector) {
		_, _, err := s.frame(generation, n, markSector)
		return err
	}
	for i := 1; i*sectorSize < len(s); i++ {
		if l := s.label(i); l == label(generation, commitSector) || l == label(generation, markSector) {
			return fmt.Errorf("%w: commit %d is not whole", stream.ErrDamaged, n)
		}
	}
	return nil
}

// replay puts the commits of a generation into a table.
func (s sectors) replay(generation uint64, into *table) error {
	for n := uint64(1); ; n++ {
		body, count, err := s.frame(generation, n, commitSector)
		if errors.Is(err, errTorn) {
			return s.end(generation, n)
		}
		if err != nil {
			return err
		}
		if err := replayEntries(body, into); err != nil {
			return err
		}
		s = s[count*sectorSize:]
	}
}
