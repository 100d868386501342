package event

import (
	"context"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

// Tail finds what has been written to a store by any process. All it returns is
// durable.
type Tail interface {
	// Advanced returns which of the streams, given with the sequence number of a chunk,
	// have one after that.
	Advanced(ctx context.Context, heads map[string]uint64) ([]string, error)
	// Versions returns the newest versions of those of the documents that exist.
	Versions(ctx context.Context, keys []string) (map[string]uint64, error)
}

// LocalTail is the tail of a store that only this process writes to.
type LocalTail struct {
	Streams   stream.Store
	Documents document.Store
}

// Advanced implements [Tail].
func (t LocalTail) Advanced(ctx context.Context, heads map[string]uint64) (grown []string, err error) {
	for name, head := range heads {
		for _, err := range t.Streams.Chunks(ctx, name, head) {
			if err != nil {
				return nil, err
			}
			grown = append(grown, name)
			break
		}
	}
	return grown, nil
}

// Versions implements [Tail].
func (t LocalTail) Versions(ctx context.Context, keys []string) (map[string]uint64, error) {
	found, err := t.Documents.Get(ctx, keys...)
	if err != nil {
		return nil, err
	}
	versions := map[string]uint64{}
	for i, d := range found {
		if d.Version > 0 {
			versions[keys[i]] = d.Version
		}
	}
	return versions, nil
}
