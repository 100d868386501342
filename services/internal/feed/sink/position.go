package sink

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
)

// Kind is the first element of the keys of positions and leases; the environment
// is the second.
const Kind = key.Sink

// position records how far a sink has delivered a source, as it is stored.
type position struct {
	event.Knowledge
	// Tried is for how many milliseconds the next event was tried.
	Tried int64 `json:"tried,omitempty"`
}

// storedPosition is a position with the version of its document, 0 when there is none.
type storedPosition struct {
	position
	version uint64
}

// positionStore are those of one sink.
type positionStore struct {
	store document.Store
	sink  key.Name // without a scope
}

func (p positionStore) key(source string) string {
	name := p.sink
	name.Scope, name.ID = key.Position, source
	return name.String()
}

func (p positionStore) leaseKey(queue string) string {
	name := p.sink
	name.Scope, name.ID = key.Lease, queue
	return name.String()
}

func (p positionStore) loadPositions(ctx context.Context, sources ...string) ([]storedPosition, error) {
	keys := make([]string, len(sources))
	for i, source := range sources {
		keys[i] = p.key(source)
	}
	found, err := p.store.Get(ctx, keys...)
	if err != nil {
		return nil, err
	}
	all := make([]storedPosition, len(found))
	for i, d := range found {
		all[i].version = d.Version
		if d.Version == 0 {
			continue
		}
		if err := json.Unmarshal(d.Body, &all[i].position); err != nil {
			return nil, fmt.Errorf("sink: decode the position at %s: %w", keys[i], err)
		}
	}
	return all, nil
}

// savePosition replaces the position of the version that was read.
func (p positionStore) savePosition(ctx context.Context, source string, now position, version uint64) error {
	return putJSON(ctx, p.store, p.key(source), now, version)
}

func putJSON(ctx context.Context, store document.Store, name string, body any, version uint64) error {
	encoded, err := json.Marshal(body)
	if err != nil {
		return err
	}
	write := document.Write{Key: name, Expect: version, Body: encoded}
	if _, err := rand.Read(write.ID[:]); err != nil {
		return err
	}
	return store.Put(ctx, write)
}

// initMarker replaces a source's name. A position at its key means that
// the sink is initialized, a lease that a process does so.
const initMarker = "birth"

// Reinitialize has each sink of an extension in an environment initialized again at the
// next start: what is in the store then counts as delivered, but for sources whose
// positions the store has. An import calls it before it writes what others have
// delivered long ago, while no process serves the extension's sinks.
func Reinitialize(ctx context.Context, store ListingStore, environment, extension string) error {
	var markers []string
	for name, err := range store.Keys(ctx, key.Prefix(Kind, environment, extension)) {
		if err != nil {
			return err
		}
		if n, err := key.Parse(name); err == nil && n.ID == initMarker {
			markers = append(markers, name)
		}
	}
	for _, name := range markers {
		if err := store.Delete(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// ListingStore is a store of documents whose keys can be listed.
type ListingStore interface {
	Keys(ctx context.Context, prefix string) iter.Seq2[string, error]
	Delete(ctx context.Context, key string) error
}

// ReadPosition returns the source whose position is stored at a key of this kind, and
// the head that the source's stream or document has reached at least. The source is
// empty where something else is stored.
func ReadPosition(name string, body []byte) (source string, head uint64, err error) {
	n, err := key.Parse(name)
	if err != nil || n.Scope != key.Position || n.ID == initMarker {
		return "", 0, nil //nolint:nilerr // other versions may store more than this one knows
	}
	var at position
	err = json.Unmarshal(body, &at)
	return n.ID, at.Head, err
}
