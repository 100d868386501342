package pebblestore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"math"

	"github.com/cockroachdb/pebble/v2"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

// Append implements [stream.Store].
func (s *Store) Append(ctx context.Context, chunk stream.Chunk) error {
	if err := checkName(chunk.Stream); err != nil {
		return err
	}
	key, value := chunkKey(chunk.Stream, chunk.Seq), encodeChunk(&chunk)
	return s.submit(ctx, func(b *writeBatch) error {
		o := owner{chunkSort, chunk.Stream}
		last, err := b.head(o, func() (uint64, error) { return findLastSeq(b, chunk.Stream) })
		if err != nil {
			return err
		}
		if chunk.Seq <= last {
			if held, err := get(b, key); held != nil || err != nil {
				return cmp.Or(err, stream.ErrConflict)
			}
		}
		b.heads.Add(o, max(last, chunk.Seq))
		return b.set(key, value)
	})
}

// RemoveStream removes a stream with its snapshot. No process may have it in memory: a
// writer that knows its chunks would append behind a gap.
func (s *Store) RemoveStream(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	return s.submit(ctx, func(b *writeBatch) error {
		b.heads.Remove(owner{chunkSort, name})
		return cmp.Or(b.DeleteRange(chunkKey(name, 0), chunksEnd(name), nil), b.remove(keyOf(snapshotSort, name)))
	})
}

func findLastSeq(reader pebble.Reader, name string) (seq uint64, err error) {
	err = iterate(reader, chunkKey(name, 0), chunksEnd(name), func(iterator *pebble.Iterator) error {
		if iterator.Last() {
			seq = seqOf(iterator.Key())
		}
		return nil
	})
	return seq, err
}

// Replace implements [stream.Store].
func (s *Store) Replace(ctx context.Context, chunk stream.Chunk, expect stream.Digest) error {
	if err := checkName(chunk.Stream); err != nil {
		return err
	}
	key, value := chunkKey(chunk.Stream, chunk.Seq), encodeChunk(&chunk)
	return s.submit(ctx, func(b *writeBatch) error {
		held, err := get(b, key)
		if err != nil || held == nil {
			return cmp.Or(err, stream.ErrConflict)
		}
		old, err := decodeChunk(chunk.Stream, key, held)
		switch {
		case err != nil:
			return err
		case bytes.Equal(held, value):
			return nil
		case old.Sum() == expect:
			return b.set(key, value)
		}
		return stream.ErrConflict
	})
}

// Chunks implements [stream.Store]. It does not look for gaps.
func (s *Store) Chunks(ctx context.Context, name string, after uint64) iter.Seq2[stream.Chunk, error] {
	if after == math.MaxUint64 {
		return func(func(stream.Chunk, error) bool) {}
	}
	read := func(iterator *pebble.Iterator) (chunk stream.Chunk, size int, next []byte, err error) {
		key, value := bytes.Clone(iterator.Key()), iterator.Value()
		chunk, err = decodeChunk(name, key, value)
		return chunk, len(value), append(key, 0), cmp.Or(iterator.Error(), err)
	}
	return scan(ctx, s, chunkKey(name, after+1), chunksEnd(name), read)
}

func encodeChunk(chunk *stream.Chunk) []byte {
	const header = 2*binary.MaxVarintLen64 + len(chunk.ID) + len(chunk.Prev) + 1 + len(chunk.Original)
	value := binary.AppendVarint(make([]byte, 0, header+len(chunk.Payload)), chunk.At)
	value = append(append(value, chunk.ID[:]...), chunk.Prev[:]...)
	original := chunk.Original[:]
	if chunk.Original == (stream.Digest{}) {
		original = nil
	}
	value = binary.AppendUvarint(wire.AppendBytes(value, original), uint64(chunk.Count))
	return append(value, chunk.Payload...)
}

// decodeChunk returns the chunk of a stream that is stored at key. It shares no
// memory with the value.
func decodeChunk(name string, key, value []byte) (stream.Chunk, error) {
	r := wire.NewReader(value)
	chunk := stream.Chunk{Stream: name, Seq: seqOf(key), At: r.Varint()}
	copy(chunk.ID[:], r.Take(len(chunk.ID)))
	copy(chunk.Prev[:], r.Take(len(chunk.Prev)))
	copy(chunk.Original[:], r.Bytes())
	chunk.Count = int(r.Uvarint())
	chunk.Payload = append([]byte{}, r.Rest()...)
	return chunk, r.Err()
}

// SaveSnapshot implements [stream.Store]. No fsync follows: without its snapshot a
// stream is read from its chunks.
func (s *Store) SaveSnapshot(ctx context.Context, name string, snapshot stream.Snapshot) error {
	if err := checkName(name); err != nil {
		return err
	}
	value := binary.AppendUvarint(make([]byte, 0, 64+len(snapshot.State)), snapshot.Head.Seq)
	value = append(binary.AppendVarint(value, snapshot.Head.At), snapshot.Head.Sum[:]...)
	value = append(binary.AppendUvarint(value, uint64(snapshot.Format)), snapshot.State...)
	return s.submit(ctx, func(b *writeBatch) error { return b.Set(keyOf(snapshotSort, name), value, nil) })
}

// DeleteSnapshot implements [stream.Store].
func (s *Store) DeleteSnapshot(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	return s.submit(ctx, func(b *writeBatch) error { return b.remove(keyOf(snapshotSort, name)) })
}

// LoadSnapshot implements [stream.Store]. A damaged snapshot counts as none.
func (s *Store) LoadSnapshot(ctx context.Context, name string) (snapshot stream.Snapshot, ok bool, err error) {
	var value []byte
	err = s.view(func(db *pebble.DB) (err error) {
		value, err = get(db, keyOf(snapshotSort, name))
		return cmp.Or(ctx.Err(), err)
	})
	if errors.Is(err, stream.ErrDamaged) || value == nil {
		return stream.Snapshot{}, false, err
	}
	r := wire.NewReader(value)
	snapshot.Head = stream.Head{Seq: r.Uvarint(), At: r.Varint()}
	copy(snapshot.Head.Sum[:], r.Take(len(snapshot.Head.Sum)))
	snapshot.Format, snapshot.State = uint32(r.Uvarint()), r.Rest()
	return snapshot, r.Err() == nil, nil
}
