package transfer

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

// Extensions returns the client ids, in ascending order, of the extensions that a
// store holds something of in the environments that an export has. An extension that is
// no longer registered is among them. The error is [stream.ErrDamaged] for a name that
// cannot be read.
func Extensions(ctx context.Context, store Source, environments []string) ([]string, error) {
	found := map[string]bool{}
	for _, environment := range environments {
		for _, kind := range Kinds() {
			names := store.Keys(ctx, key.Prefix(key.Document, environment))
			if kind != Documents {
				names = store.Streams(ctx, key.Prefix(streamKinds()[kind].key, environment))
			}
			if err := addExtensions(found, names); err != nil {
				return nil, err
			}
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

func addExtensions(found map[string]bool, names iter.Seq2[string, error]) error {
	for name, err := range names {
		if err != nil {
			return err
		}
		parsed, err := key.Parse(name)
		if err != nil {
			return fmt.Errorf("%w: %w", stream.ErrDamaged, err)
		}
		found[parsed.Extension] = true
	}
	return nil
}
