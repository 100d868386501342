package stream

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"iter"
)

// ErrConflict is what Append returns when the stream already holds a chunk with
// that sequence number. Nothing was stored by that call; the chunk that is
// there may still be the caller's own, stored by an earlier attempt whose
// answer was lost.
var ErrConflict = errors.New("stream: sequence number is taken")

// ErrDamaged marks stored data that is not what was written: a gap, a broken
// hash chain, bytes that do not decode.
var ErrDamaged = errors.New("stream: stored data is damaged")

// Digest is a SHA-256 sum.
type Digest [sha256.Size]byte

// ChunkID identifies one attempt to append, so that an append whose outcome is
// unknown can be recognised when it is read back.
type ChunkID [16]byte

// Chunk is one append: the entries of one batch of commands. It is immutable
// once stored.
type Chunk struct {
	// Stream is the name of the stream, ASCII, as package key makes them.
	Stream string
	// Seq numbers the chunks of a stream from 1 without gaps.
	Seq uint64
	// At is the server time of the batch in Unix milliseconds; it rises from chunk
	// to chunk, strictly unless Options.Ties.
	At int64
	// ID is unique to the attempt that wrote the chunk.
	ID ChunkID
	// Prev is the Sum of the chunk before, zero for the first: the hash chain.
	Prev Digest
	// Count is the number of entries in Payload.
	Count int
	// Payload is the encoded entries, in order.
	Payload []byte
}

// Sum returns the digest of everything the chunk says, its predecessor's digest
// included.
func (c *Chunk) Sum() Digest {
	header := make([]byte, 0, 128)
	header = binary.AppendUvarint(header, uint64(len(c.Stream)))
	header = append(header, c.Stream...)
	header = binary.BigEndian.AppendUint64(header, c.Seq)
	header = binary.BigEndian.AppendUint64(header, uint64(c.At))
	header = append(header, c.ID[:]...)
	header = append(header, c.Prev[:]...)
	header = binary.BigEndian.AppendUint64(header, uint64(c.Count))
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
	Sum Digest
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
	// returns ErrConflict if it has. The store does not check that Seq-1 exists.
	// The caller does not change chunk.Payload afterwards.
	Append(ctx context.Context, chunk Chunk) error

	// Chunks yields the chunks of a stream with Seq > after in ascending order:
	// at least all whose Append returned nil before the call, or up to a gap: no
	// engine appends before it has seen the chunk before. It reads in bounded steps and holds nothing locked between two of them, so that a slow consumer
	// hurts nobody. The first error ends it.
	Chunks(ctx context.Context, stream string, after uint64) iter.Seq2[Chunk, error]

	// SaveSnapshot replaces the stream's snapshot. A crash during it leaves the
	// old one, the new one or none, never a mixture.
	SaveSnapshot(ctx context.Context, stream string, snapshot Snapshot) error

	// LoadSnapshot returns the stream's snapshot; ok is false when there is none
	// or it is not whole.
	LoadSnapshot(ctx context.Context, stream string) (snapshot Snapshot, ok bool, err error)
}
