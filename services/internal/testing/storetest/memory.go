package storetest

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

// Memory is the smallest store that keeps every promise but durability. Tests
// use it as the store and as the model to compare others with.
type Memory struct {
	mu        sync.Mutex
	chunks    map[string][]stream.Chunk
	snapshots map[string]stream.Snapshot
	documents map[string]document.Document
}

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{
		chunks:    map[string][]stream.Chunk{},
		snapshots: map[string]stream.Snapshot{},
		documents: map[string]document.Document{},
	}
}

// NewMemoryOf returns a store that holds the given chunks as they are, whether
// or not they make sense.
func NewMemoryOf(chunks ...stream.Chunk) *Memory {
	m := NewMemory()
	for _, chunk := range chunks {
		m.chunks[chunk.Stream] = append(m.chunks[chunk.Stream], chunk)
	}
	return m
}

// Append implements [stream.Store].
func (m *Memory) Append(ctx context.Context, chunk stream.Chunk) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	chunks := m.chunks[chunk.Stream]
	i, taken := find(chunks, chunk.Seq)
	if taken {
		return stream.ErrConflict
	}
	if i < len(chunks) {
		chunks = slices.Clone(chunks) // a reader may hold what would move
	}
	m.chunks[chunk.Stream] = slices.Insert(chunks, i, chunk)
	return nil
}

// find returns where the chunk with a seq is, or belongs, in an ordered slice.
func find(chunks []stream.Chunk, seq uint64) (index int, found bool) {
	return slices.BinarySearchFunc(chunks, seq, func(c stream.Chunk, seq uint64) int {
		return cmp.Compare(c.Seq, seq)
	})
}

// Chunks implements [stream.Store].
func (m *Memory) Chunks(ctx context.Context, name string, after uint64) iter.Seq2[stream.Chunk, error] {
	return func(yield func(stream.Chunk, error) bool) {
		m.mu.Lock()
		all := m.chunks[name]
		m.mu.Unlock()
		first, found := find(all, after)
		if found {
			first++
		}
		for _, chunk := range all[first:] {
			if err := ctx.Err(); err != nil {
				yield(stream.Chunk{}, err)
				return
			}
			if !yield(chunk, nil) {
				return
			}
		}
	}
}

// Replace implements [stream.Store].
func (m *Memory) Replace(ctx context.Context, chunk stream.Chunk, expect stream.Digest) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	chunks := m.chunks[chunk.Stream]
	i, found := find(chunks, chunk.Seq)
	switch {
	case !found:
		return stream.ErrConflict
	case chunks[i].Sum() == chunk.Sum():
		return nil
	case chunks[i].Sum() != expect:
		return stream.ErrConflict
	}
	chunks = slices.Clone(chunks) // a reader may hold the others
	chunks[i] = chunk
	m.chunks[chunk.Stream] = chunks
	return nil
}

// DeleteSnapshot implements [stream.Store].
func (m *Memory) DeleteSnapshot(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.snapshots, name)
	return nil
}

// SaveSnapshot implements [stream.Store].
func (m *Memory) SaveSnapshot(ctx context.Context, name string, snapshot stream.Snapshot) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	snapshot.State = slices.Clone(snapshot.State)
	m.snapshots[name] = snapshot
	return nil
}

// LoadSnapshot implements [stream.Store]. The state is the caller's to keep.
func (m *Memory) LoadSnapshot(ctx context.Context, name string) (stream.Snapshot, bool, error) {
	if err := ctx.Err(); err != nil {
		return stream.Snapshot{}, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	snapshot, ok := m.snapshots[name]
	snapshot.State = slices.Clone(snapshot.State)
	return snapshot, ok, nil
}

// Get implements [document.Store].
func (m *Memory) Get(ctx context.Context, keys ...string) ([]document.Document, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	found := make([]document.Document, len(keys))
	for i, key := range keys {
		found[i] = m.documents[key]
	}
	return found, nil
}

// Put implements [document.Store].
func (m *Memory) Put(ctx context.Context, writes ...document.Write) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range writes {
		if m.documents[w.Key].Version != w.Expect {
			return document.ErrConflict
		}
	}
	for _, w := range writes {
		m.documents[w.Key] = document.Document{Version: w.Expect + 1, ID: w.ID, Body: w.Body, Keys: w.Keys}
	}
	return nil
}

// Delete implements [document.Store].
func (m *Memory) Delete(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.documents, key)
	return nil
}
