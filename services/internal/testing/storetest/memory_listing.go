package storetest

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
)

// Streams implements [Lister].
func (m *Memory) Streams(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return m.StreamsAfter(ctx, prefix, "")
}

// StreamsAfter implements [Lister].
func (m *Memory) StreamsAfter(ctx context.Context, prefix, after string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		m.mu.Lock()
		names := slices.Sorted(maps.Keys(m.chunks))
		m.mu.Unlock()
		names = slices.DeleteFunc(names, func(name string) bool { return name <= after })
		yieldPrefixed(ctx, names, prefix, yield)
	}
}

// Keys implements [Lister].
func (m *Memory) Keys(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		m.mu.Lock()
		keys := slices.Sorted(maps.Keys(m.documents))
		m.mu.Unlock()
		yieldPrefixed(ctx, keys, prefix, yield)
	}
}

func yieldPrefixed(ctx context.Context, names []string, prefix string, yield func(string, error) bool) {
	for _, name := range names {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		if err := ctx.Err(); err != nil {
			yield("", err)
			return
		}
		if !yield(name, nil) {
			return
		}
	}
}
