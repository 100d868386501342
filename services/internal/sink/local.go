package sink

import (
	"context"

	"github.com/acclaim-dev/acclaim/services/internal/document"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

// Local is the tail of a store that only this process writes to.
type Local struct {
	Streams   stream.Store
	Documents document.Store
}

// Grown implements [Tail].
func (l Local) Grown(ctx context.Context, heads map[string]uint64) (grown []string, err error) {
	for name, head := range heads {
		for _, err := range l.Streams.Chunks(ctx, name, head) {
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
func (l Local) Versions(ctx context.Context, keys []string) (map[string]uint64, error) {
	found, err := l.Documents.Get(ctx, keys...)
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
