package mongostore

import (
	"context"
	"iter"
	"maps"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// advancedAtOnce limits the streams of one query.
const advancedAtOnce = 1000

// onlyID and onlyField are projections that an index covers: the server reads no record,
// let alone a payload of megabytes.
func onlyID() bson.D { return bson.D{{Key: "_id", Value: 1}} }

func onlyField(name string) bson.D { return bson.D{{Key: "_id", Value: 0}, {Key: name, Value: 1}} }

// Advanced returns which of the streams, given with the sequence number of a chunk,
// have one after that: those whose next chunk is there, which costs a lookup by
// _id for each and no chunk's payload.
func (s *Store) Advanced(ctx context.Context, heads map[string]uint64) (grown []string, err error) {
	for names := range slices.Chunk(slices.Collect(maps.Keys(heads)), advancedAtOnce) {
		next := make([]string, len(names))
		for i, name := range names {
			next[i] = numberedKey(name, heads[name]+1)
		}
		cursor, err := s.chunks.Find(ctx, s.filterByID(anyOf(next), streamField, anyOf(names)), options.Find().SetProjection(onlyID()))
		if err != nil {
			return nil, unavailableError(err)
		}
		var records []struct {
			Key string `bson:"_id"`
		}
		if err := cursor.All(ctx, &records); err != nil {
			return nil, readFailure(err)
		}
		for _, r := range records {
			if name, _, ok := parseNumberedKey(r.Key); ok {
				grown = append(grown, name)
			}
		}
	}
	return grown, nil
}

// Versions returns the newest versions of those of the documents that exist.
func (s *Store) Versions(ctx context.Context, keys []string) (map[string]uint64, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	found, err := s.newestVersions(ctx, s.documents, keys)
	if err != nil {
		return nil, err
	}
	newest := make(map[string]uint64, len(found))
	for key, version := range found {
		newest[key] = uint64(version)
	}
	return newest, nil
}

// FirstChunks yields the names of the streams that begin with prefix, like Streams,
// but looks for their first chunks only. So it costs little however long they are,
// and leaves out what is damaged.
func (s *Store) FirstChunks(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return s.StreamsAfter(ctx, prefix, "")
}

// StreamsAfter is FirstChunks for the names after one, whose predecessors it does not read.
func (s *Store) StreamsAfter(ctx context.Context, prefix, after string) iter.Seq2[string, error] {
	from := bson.E{Key: "$gte", Value: prefix}
	if after >= prefix {
		from = bson.E{Key: "$gt", Value: after}
	}
	return func(yield func(string, error) bool) {
		cursor, err := s.chunks.Find(ctx, bson.D{
			{Key: "stream", Value: bson.D{from, {Key: "$lt", Value: prefix + "\U0010FFFF"}}},
			{Key: "seq", Value: 1},
		}, options.Find().SetBatchSize(pageNames).SetProjection(onlyField(streamField)).SetSort(bson.D{{Key: "stream", Value: 1}}))
		if err != nil {
			yield("", unavailableError(err))
			return
		}
		defer func() { _ = cursor.Close(context.WithoutCancel(ctx)) }()
		for cursor.Next(ctx) {
			var record chunkRecord
			if err := cursor.Decode(&record); err != nil {
				yield("", readFailure(err))
				return
			}
			if !yield(record.Stream, nil) {
				return
			}
		}
		if err := cursor.Err(); err != nil {
			yield("", unavailableError(err))
		}
	}
}
