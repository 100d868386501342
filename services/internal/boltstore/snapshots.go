package boltstore

import (
	"bytes"
	"context"
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
	"go.etcd.io/bbolt"

	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

// manifest is what is stored of a snapshot besides the parts of its state.
type manifest struct {
	generation uint64 // that of the parts
	size, sum  uint64 // of the state
	head       stream.Head
	format     uint32
}

const manifestSize = 8 + 8 + 8 + 8 + 8 + len(stream.Digest{}) + 4

func (m *manifest) append(buf []byte) []byte {
	for _, n := range []uint64{m.generation, m.size, m.sum, m.head.Seq, uint64(m.head.At)} {
		buf = binary.BigEndian.AppendUint64(buf, n)
	}
	buf = append(buf, m.head.Sum[:]...)
	return binary.BigEndian.AppendUint32(buf, m.format)
}

func decodeManifest(body []byte) (m manifest) {
	next := func() (n uint64) {
		n, body = binary.BigEndian.Uint64(body), body[8:]
		return n
	}
	m.generation, m.size, m.sum = next(), next(), next()
	m.head.Seq, m.head.At = next(), int64(next())
	body = body[copy(m.head.Sum[:], body):]
	m.format = binary.BigEndian.Uint32(body)
	return m
}

// SaveSnapshot implements [stream.Store]. One snapshot is saved at a time, part
// by part, so that it holds up other writes only little; the manifest follows
// its parts and makes them the stream's snapshot.
func (s *Store) SaveSnapshot(ctx context.Context, name string, snapshot stream.Snapshot) error {
	if err := checkName(name); err != nil {
		return err
	}
	unlock, err := s.lockSnapshots(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	old, _, err := s.manifest(name)
	if err != nil {
		return err
	}
	m := manifest{
		generation: old.generation + 1,
		size:       uint64(len(snapshot.State)),
		sum:        xxhash.Sum64(snapshot.State),
		head:       snapshot.Head,
		format:     snapshot.Format,
	}
	if err := s.saveParts(ctx, name, m.generation, snapshot.State); err != nil {
		return err
	}
	value := seal(snapshotsBucket, name, m.append(make([]byte, sumSize)))
	if err := s.writer.submit(ctx, replaced(snapshotsBucket, name, value)); err != nil {
		return err
	}
	return s.deleteParts(ctx, name, m.generation)
}

func (s *Store) saveParts(ctx context.Context, name string, generation uint64, state []byte) error {
	for n := uint32(0); len(state) > 0; n++ {
		size := min(s.limits.part, len(state))
		key := partKey(name, generation, n)
		value := seal(partsBucket, key, append(make([]byte, sumSize, sumSize+size), state[:size]...))
		if err := s.writer.submit(ctx, replaced(partsBucket, key, value)); err != nil {
			return err
		}
		state = state[size:]
	}
	return nil
}

// deleteParts deletes the parts of a stream's snapshots but for one generation,
// a few at a time.
func (s *Store) deleteParts(ctx context.Context, name string, but uint64) error {
	for {
		keys, err := s.otherParts(name, but)
		if err != nil || len(keys) == 0 {
			return err
		}
		if err := s.writer.submit(ctx, deleted(partsBucket, keys)); err != nil {
			return err
		}
	}
}

func (s *Store) otherParts(name string, but uint64) (keys [][]byte, err error) {
	const limit = 16
	prefix, current := partPrefix(name), binary.BigEndian.AppendUint64(partPrefix(name), but)
	err = s.db.view(func(tx *bbolt.Tx) error {
		cursor := bucket(tx, partsBucket).Cursor()
		for key, _ := cursor.Seek(prefix); len(keys) < limit && bytes.HasPrefix(key, prefix); key, _ = cursor.Next() {
			if !bytes.HasPrefix(key, current) {
				keys = append(keys, bytes.Clone(key))
			}
		}
		return nil
	})
	return keys, err
}

func partPrefix(name string) []byte { return append([]byte(name), 0) }

func partKey(name string, generation uint64, n uint32) string {
	key := binary.BigEndian.AppendUint64(partPrefix(name), generation)
	return string(binary.BigEndian.AppendUint32(key, n))
}

// LoadSnapshot implements [stream.Store]. A damaged snapshot counts as none.
func (s *Store) LoadSnapshot(ctx context.Context, name string) (snapshot stream.Snapshot, ok bool, err error) {
	if err := ctx.Err(); err != nil {
		return stream.Snapshot{}, false, err
	}
	err = s.db.view(func(tx *bbolt.Tx) error {
		m, found := storedManifest(tx, name)
		if !found {
			return nil
		}
		snapshot = stream.Snapshot{Head: m.head, Format: m.format}
		snapshot.State, ok = storedState(tx, name, m)
		return nil
	})
	if err != nil || !ok {
		return stream.Snapshot{}, false, err
	}
	return snapshot, true, nil
}

func (s *Store) manifest(name string) (m manifest, ok bool, err error) {
	err = s.db.view(func(tx *bbolt.Tx) error {
		m, ok = storedManifest(tx, name)
		return nil
	})
	return m, ok, err
}

func storedManifest(tx *bbolt.Tx, name string) (manifest, bool) {
	body, err := unseal(snapshotsBucket, name, bucket(tx, snapshotsBucket).Get([]byte(name)))
	if err != nil || len(body) != manifestSize {
		return manifest{}, false
	}
	return decodeManifest(body), true
}

// storedState returns the state whose parts a manifest names; ok is false when
// they are not whole.
func storedState(tx *bbolt.Tx, name string, m manifest) (state []byte, ok bool) {
	parts := bucket(tx, partsBucket)
	state = make([]byte, 0, m.size)
	for n := uint32(0); uint64(len(state)) < m.size; n++ {
		key := partKey(name, m.generation, n)
		part, err := unseal(partsBucket, key, parts.Get([]byte(key)))
		if err != nil {
			return nil, false
		}
		state = append(state, part...)
	}
	return state, xxhash.Sum64(state) == m.sum
}

// change is an operation on the database, in which the journal has no part.
type change struct {
	apply func(tx *bbolt.Tx) error
	bytes int
}

func (c change) size() int { return c.bytes }

func replaced(in, key string, value []byte) change {
	put := func(tx *bbolt.Tx) error { return bucket(tx, in).Put([]byte(key), value) }
	return change{put, len(value)}
}

func deleted(in string, keys [][]byte) change {
	remove := func(tx *bbolt.Tx) error {
		for _, key := range keys {
			if err := bucket(tx, in).Delete(key); err != nil {
				return err
			}
		}
		return nil
	}
	return change{apply: remove}
}
