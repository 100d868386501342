package mongostore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

// documentRecord is one version of a document. Its _id is made of key and
// version, so that of two writes that replace the same version one is refused.
type documentRecord struct {
	ID      string `bson:"_id"`
	Key     string `bson:"key"`
	Version int64  `bson:"version"`
	Write   []byte `bson:"write"`
	Put     []byte `bson:"put"` // marks the Put that made it, see mark
	Body    []byte `bson:"body"`
	Keys    []byte `bson:"keys,omitempty"` // of requests
}

// newestFirst is the reverse order of the index.
func newestFirst() bson.D { return bson.D{{Key: "key", Value: 1}, {Key: "version", Value: -1}} }

// readOne reads one record, and reports false where there is none.
func (s *Store) readOne(ctx context.Context, c *mongo.Collection, filter bson.D, into any, o ...options.Lister[options.FindOneOptions]) (bool, error) {
	switch err := c.FindOne(ctx, filter, o...).Decode(into); {
	case errors.Is(err, mongo.ErrNoDocuments):
		return false, nil
	case err != nil:
		return false, readFailure(err)
	}
	return true, nil
}

// Get implements [document.Store].
func (s *Store) Get(ctx context.Context, keys ...string) ([]document.Document, error) {
	found := make([]document.Document, len(keys))
	if len(keys) == 0 {
		return found, nil
	}
	ctx, end, err := s.beginRead(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	if len(keys) == 1 {
		found[0], err = s.readNewest(ctx, keys[0])
		return found, err
	}
	newest, err := s.newestVersions(ctx, s.current(s.documents), keys)
	if err != nil {
		return nil, err
	}
	bodies, err := s.readBodies(ctx, newest)
	if err != nil {
		return nil, err
	}
	for i, key := range keys {
		var ok bool
		if found[i], ok = bodies[key]; ok || newest[key] == 0 {
			continue
		}
		if found[i], err = s.readNewest(ctx, key); err != nil { // replaced and pruned meanwhile
			return nil, err
		}
	}
	return found, nil
}

// bodiesAtOnce keeps a query for whole documents well below 16 MiB.
const bodiesAtOnce = 100

// readBodies reads the given versions, without those that were pruned meanwhile.
func (s *Store) readBodies(ctx context.Context, versions map[string]int64) (map[string]document.Document, error) {
	bodies := make(map[string]document.Document, len(versions))
	for keys := range slices.Chunk(slices.Collect(maps.Keys(versions)), bodiesAtOnce) {
		ids := make([]string, len(keys))
		for i, key := range keys {
			ids[i] = numberedKey(key, uint64(versions[key]))
		}
		cursor, err := s.documents.Find(ctx, s.filterByID(anyOf(ids), keyField, anyOf(keys)))
		if err != nil {
			return nil, unavailableError(err)
		}
		var records []documentRecord
		if err := cursor.All(ctx, &records); err != nil {
			return nil, readFailure(err)
		}
		for _, r := range records {
			if bodies[r.Key], err = r.toDocument(); err != nil {
				return nil, err
			}
		}
	}
	return bodies, nil
}

// readNewest reads the newest version of one document.
func (s *Store) readNewest(ctx context.Context, key string) (document.Document, error) {
	var r documentRecord
	found, err := s.readOne(ctx, s.current(s.documents), bson.D{{Key: "key", Value: key}}, &r, options.FindOne().SetSort(newestFirst()))
	if err != nil || !found {
		return document.Document{}, err
	}
	return r.toDocument()
}

func (r *documentRecord) toDocument() (document.Document, error) {
	d := document.Document{Version: uint64(r.Version), Body: r.Body}
	if copy(d.ID[:], r.Write) != len(r.Write) {
		return d, fmt.Errorf("%w: document %s", stream.ErrDamaged, r.ID)
	}
	var err error
	if d.Keys, err = once.ReadKept(r.Keys); err != nil {
		return d, fmt.Errorf("%w: document %s: %w", stream.ErrDamaged, r.ID, err)
	}
	return d, nil
}

// newestVersions returns the newest version of each document that exists.
func (*Store) newestVersions(ctx context.Context, c *mongo.Collection, keys []string) (map[string]int64, error) {
	cursor, err := c.Find(ctx, bson.D{{Key: keyField, Value: anyOf(keys)}},
		options.Find().SetProjection(bson.D{{Key: "_id", Value: 0}, {Key: "key", Value: 1}, {Key: "version", Value: 1}}))
	if err != nil {
		return nil, unavailableError(err)
	}
	var records []documentRecord
	if err := cursor.All(ctx, &records); err != nil {
		return nil, readFailure(err)
	}
	newest := make(map[string]int64, len(keys))
	for _, r := range records {
		newest[r.Key] = max(newest[r.Key], r.Version)
	}
	return newest, nil
}
