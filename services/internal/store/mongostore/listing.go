package mongostore

import (
	"context"
	"iter"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

const (
	// pageNames is the number of names, or of index entries with them, in one query.
	pageNames = 1000
	// listingTimeout limits a listing of names, which may scan a whole index: longer
	// than any other operation.
	listingTimeout = 10 * time.Minute
)

// Streams yields the names of the streams that begin with prefix, in ascending
// order.
func (s *Store) Streams(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return yieldPages(ctx, prefix, s.readStreams)
}

// Keys yields the keys of the documents that begin with prefix, in ascending
// order.
func (s *Store) Keys(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return yieldPages(ctx, prefix, s.readKeys)
}

// yieldPages yields the names of all pages. Like Chunks it keeps no cursor open while
// the caller works with one. read returns the names of a page that meet a condition, in
// ascending order, and whether it is the last.
func yieldPages(ctx context.Context, prefix string, read func(ctx context.Context, within bson.D) (names []string, last bool, err error)) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		before := bson.E{Key: "$lt", Value: prefix + "\U0010FFFF"}
		from := bson.E{Key: "$gte", Value: prefix}
		for last := false; !last; {
			var names []string
			var err error
			if names, last, err = read(ctx, bson.D{from, before}); err != nil {
				yield("", err)
				return
			}
			for _, name := range names {
				if !yield(name, nil) {
					return
				}
				from = bson.E{Key: "$gt", Value: name}
			}
		}
	}
}

// readStreams groups the chunks by stream: a stream may have any number.
func (s *Store) readStreams(ctx context.Context, within bson.D) (names []string, last bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, listingTimeout)
	defer cancel()
	cursor, err := s.chunks.Aggregate(ctx, mongo.Pipeline{
		{{Key: "$match", Value: bson.D{{Key: streamField, Value: within}}}},
		{{Key: "$group", Value: bson.D{{Key: "_id", Value: "$" + streamField}}}},
		{{Key: "$sort", Value: bson.D{{Key: "_id", Value: 1}}}},
		{{Key: "$limit", Value: pageNames}},
	})
	if err != nil {
		return nil, false, unavailableError(err)
	}
	var groups []struct {
		Value string `bson:"_id"`
	}
	if err := cursor.All(ctx, &groups); err != nil {
		return nil, false, readFailure(err)
	}
	for _, g := range groups {
		names = append(names, g.Value)
	}
	return names, len(groups) < pageNames, nil
}

// readKeys reads the next entries of the index, which has few for each document. So a
// listing costs as much as there are versions, and not a part of that for each page.
func (s *Store) readKeys(ctx context.Context, within bson.D) (keys []string, last bool, err error) {
	cursor, err := s.documents.Find(ctx, bson.D{{Key: keyField, Value: within}},
		options.Find().SetSort(newestFirst()).SetLimit(pageNames).SetProjection(onlyField(keyField)))
	if err != nil {
		return nil, false, unavailableError(err)
	}
	var records []documentRecord
	if err := cursor.All(ctx, &records); err != nil {
		return nil, false, readFailure(err)
	}
	for _, r := range records {
		keys = append(keys, r.Key)
	}
	return slices.Compact(keys), len(records) < pageNames, nil
}
