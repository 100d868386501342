package mongostore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/acclaim-dev/acclaim/services/internal/document"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
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
}

// newestFirst is the order of the index.
func newestFirst() bson.D { return bson.D{{Key: "key", Value: 1}, {Key: "version", Value: -1}} }

// one reads one record, and reports false where there is none.
func (s *Store) one(ctx context.Context, c *mongo.Collection, filter bson.D, into any, o ...options.Lister[options.FindOneOptions]) (bool, error) {
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
	switch len(keys) {
	case 0:
		return found, nil
	case 1:
		var err error
		found[0], err = s.newest(ctx, keys[0])
		return found, err
	}
	newest, err := s.versions(ctx, keys)
	if err != nil {
		return nil, err
	}
	bodies, err := s.bodies(ctx, newest)
	if err != nil {
		return nil, err
	}
	for i, key := range keys {
		var ok bool
		if found[i], ok = bodies[key]; ok || newest[key] == 0 {
			continue
		}
		if found[i], err = s.newest(ctx, key); err != nil { // replaced and pruned meanwhile
			return nil, err
		}
	}
	return found, nil
}

// bodiesAtOnce keeps a query for whole documents well below 16 MiB.
const bodiesAtOnce = 100

// bodies reads the given versions, those of them that are still there.
func (s *Store) bodies(ctx context.Context, versions map[string]int64) (map[string]document.Document, error) {
	var ids []string
	for key, version := range versions {
		ids = append(ids, numbered(key, uint64(version)))
	}
	bodies := make(map[string]document.Document, len(ids))
	for some := range slices.Chunk(ids, bodiesAtOnce) {
		cursor, err := s.documents.Find(ctx, bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: some}}}})
		if err != nil {
			return nil, unavailable(err)
		}
		var records []documentRecord
		if err := cursor.All(ctx, &records); err != nil {
			return nil, readFailure(err)
		}
		for _, r := range records {
			if bodies[r.Key], err = r.document(); err != nil {
				return nil, err
			}
		}
	}
	return bodies, nil
}

// newest reads the newest version of one document.
func (s *Store) newest(ctx context.Context, key string) (document.Document, error) {
	var r documentRecord
	found, err := s.one(ctx, s.documents, bson.D{{Key: "key", Value: key}}, &r, options.FindOne().SetSort(newestFirst()))
	if err != nil || !found {
		return document.Document{}, err
	}
	return r.document()
}

func (r *documentRecord) document() (document.Document, error) {
	d := document.Document{Version: uint64(r.Version), Body: r.Body}
	if copy(d.ID[:], r.Write) != len(r.Write) {
		return d, fmt.Errorf("%w: document %s", stream.ErrDamaged, r.ID)
	}
	return d, nil
}

// versions returns the newest version of each of the documents that exist.
func (s *Store) versions(ctx context.Context, keys []string) (map[string]int64, error) {
	cursor, err := s.documents.Find(ctx, bson.D{{Key: "key", Value: bson.D{{Key: "$in", Value: keys}}}},
		options.Find().SetProjection(bson.D{{Key: "_id", Value: 0}, {Key: "key", Value: 1}, {Key: "version", Value: 1}}))
	if err != nil {
		return nil, unavailable(err)
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

// Keys yields the keys of the documents that begin with prefix, in ascending
// order.
func (s *Store) Keys(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return distinct(ctx, s.documents, "key", prefix)
}
