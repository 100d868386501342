package stream

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"iter"
)

// ErrConflict is the error of Append when the stream already holds a chunk with that
// sequence number, for good. Nothing was stored by that call; the chunk that is there may
// still be the caller's own, stored by an earlier attempt whose answer was lost. Until
// Chunks yields that chunk, the outcome of the append is unknown.
var ErrConflict = errors.New("stream: sequence number is taken")

// ErrDamaged marks stored data that is not what was written: a gap, a broken
// hash chain, bytes that do not decode.
var ErrDamaged = errors.New("stream: stored data is damaged")

// Digest is a SHA-256 sum.
type Digest [sha256.Size]byte

// ChunkID identifies one attempt to append, so that an append whose outcome is
// unknown can be recognised when it is read back.
type ChunkID [16]byte

// hashed returns the one-way hash that replaces the id of a redacted chunk. Code
// that knows the id recognises it. Without the id, the digest of the chunk as it was
// cannot confirm a guess at what was redacted.
func (id ChunkID) hashed() (hashed ChunkID) {
	sum := sha256.Sum256(id[:])
	copy(hashed[:], sum[:])
	return hashed
}

// Chunk is one append: the entries of one batch of commands. It is immutable
// once stored, but for redactions.
type Chunk struct {
	// Stream is the name of the stream, ASCII, as package key makes them.
	Stream string
	// Seq numbers the chunks of a stream from 1 without gaps.
	Seq uint64
	// At is the server time of the batch in Unix milliseconds; it rises from chunk
	// to chunk, strictly unless Options.AllowEqualTimestamps.
	At int64
	// ID is unique to the attempt that wrote the chunk.
	ID ChunkID
	// Prev is the Link of the chunk before, zero for the first: the hash chain.
	Prev Digest
	// Original is the Sum of the chunk as it was appended if an erasure has redacted
	// it, zero if none has. The ID of a redacted chunk is hashed.
	Original Digest
	// Count is the number of entries in Payload.
	Count int
	// Payload is the encoded entries, in order.
	Payload []byte
}

// Link returns the digest by which the chunk after refers to this one: that of
// the chunk as it was appended.
func (c *Chunk) Link() Digest {
	if c.IsRedacted() {
		return c.Original
	}
	return c.Sum()
}

// Head returns the head of a log that ends with the chunk.
func (c *Chunk) Head() Head { return Head{Seq: c.Seq, At: c.At, Sum: c.Link()} }

// IsRedacted reports whether the chunk is no longer as it was appended.
func (c *Chunk) IsRedacted() bool { return c.Original != Digest{} }

// writtenBy reports whether the chunk is that of the attempt with the given id.
func (c *Chunk) writtenBy(id ChunkID) bool {
	if c.IsRedacted() {
		id = id.hashed()
	}
	return c.ID == id
}

// redactedTo returns the chunk with another payload instead of its own.
func (c Chunk) redactedTo(payload []byte) Chunk {
	if !c.IsRedacted() {
		c.Original, c.ID = c.Sum(), c.ID.hashed()
	}
	c.Payload = payload
	return c
}

// Sum returns the digest of everything the chunk says, its predecessor's digest
// included.
func (c *Chunk) Sum() Digest {
	header := make([]byte, 0, 192)
	header = binary.AppendUvarint(header, uint64(len(c.Stream)))
	header = append(header, c.Stream...)
	header = binary.BigEndian.AppendUint64(header, c.Seq)
	header = binary.BigEndian.AppendUint64(header, uint64(c.At))
	header = append(header, c.ID[:]...)
	header = append(header, c.Prev[:]...)
	header = binary.BigEndian.AppendUint64(header, uint64(c.Count))
	if c.IsRedacted() {
		header = append(header, c.Original[:]...)
	}
	h := sha256.New()
	h.Write(header)
	h.Write(c.Payload)
	var sum Digest
	h.Sum(sum[:0])
	return sum
}

// Head names the last chunk a state has seen. The zero Head is that of an empty
// stream.
type Head struct {
	Seq uint64
	At  int64
	Sum Digest // the chunk's Link
}

func (h Head) position() Position { return Position{h.Seq, h.At} }

// Position is the place of a chunk in its stream, zero in an empty stream.
type Position struct {
	Seq uint64
	// At is the time of the chunk in Unix milliseconds. No later chunk has an earlier one. It is
	// 0 where a process of an earlier release has answered, which does not tell it.
	At int64
}

// Snapshot is a state and the head it was taken at. It only shortens a cold
// start and may be deleted at any time.
type Snapshot struct {
	Head Head
	// Format is the version of the domain's encoding of State.
	Format uint32
	State  []byte
}

// Store keeps streams of chunks. The only thing it must do atomically is to
// refuse a second chunk with the same stream and sequence number. Every
// implementation passes storetest.
//
// A method that returns an error of kind fault.Storage or fault.Unavailable is
// certain to have stored nothing; any other error but ErrConflict leaves the
// outcome unknown.
// Errors from a done context are of the second sort, unless the store knows.
type Store interface {
	// Append stores chunk durably if its stream has no chunk with that Seq, and
	// returns ErrConflict if it has. Reads may lag behind that refusal: Chunks yields the
	// chunk that is there later, or at once. Where a store cannot tell whether that chunk
	// stays, the outcome of the append is unknown, and ErrConflict is not its error.
	// The store does not check that Seq-1 exists.
	// The caller does not change chunk.Payload afterwards.
	Append(ctx context.Context, chunk Chunk) error

	// Chunks yields the chunks of a stream with Seq > after in ascending order:
	// at least all whose Append returned nil before the call, or up to a gap: no
	// engine appends before it has seen the chunk before. It reads in bounded steps and holds no
	// lock between two of them, so that a slow consumer delays no other caller. The first error ends it.
	Chunks(ctx context.Context, stream string, after uint64) iter.Seq2[Chunk, error]

	// Replace durably replaces the chunk with the stream and Seq of chunk, whose Sum
	// must be expect, and returns ErrConflict if that one is not there. A chunk that
	// is there already is not an error. A reader sees one or the other. Callers that
	// replace a chunk at the same time replace it by the same one.
	Replace(ctx context.Context, chunk Chunk, expect Digest) error

	// SaveSnapshot replaces the stream's snapshot. A crash during it leaves the
	// old one, the new one or none, never a mixture.
	SaveSnapshot(ctx context.Context, stream string, snapshot Snapshot) error

	// LoadSnapshot returns the stream's snapshot; ok is false when there is none
	// or it is not whole.
	LoadSnapshot(ctx context.Context, stream string) (snapshot Snapshot, ok bool, err error)

	// DeleteSnapshot deletes the stream's snapshot, and what is left of others that
	// were never whole. Where there is none it does nothing.
	DeleteSnapshot(ctx context.Context, stream string) error
}
