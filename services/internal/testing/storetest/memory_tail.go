package storetest

import (
	"context"
	"iter"
)

// Advanced implements [Tail].
func (m *Memory) Advanced(ctx context.Context, heads map[string]uint64) (grown []string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, head := range heads {
		if _, ok := find(m.chunks[name], head+1); ok {
			grown = append(grown, name)
		}
	}
	return grown, ctx.Err()
}

// Versions implements [Tail].
func (m *Memory) Versions(ctx context.Context, keys []string) (map[string]uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	versions := map[string]uint64{}
	for _, key := range keys {
		if d, ok := m.documents[key]; ok {
			versions[key] = d.Version
		}
	}
	return versions, ctx.Err()
}

// FirstChunks implements [Tail].
func (m *Memory) FirstChunks(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return m.Streams(ctx, prefix)
}
