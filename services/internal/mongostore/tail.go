package mongostore

import (
	"context"
	"iter"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// grownAtOnce is how many streams one query asks for.
const grownAtOnce = 1000

// Grown returns which of the streams, given with the sequence number of a chunk,
// have one after that: those whose next chunk is there, which costs a lookup by
// _id for each and no chunk's payload.
func (s *Store) Grown(ctx context.Context, heads map[string]uint64) (grown []string, err error) {
	next := make([]string, 0, len(heads))
	for name, head := range heads {
		next = append(next, numbered(name, head+1))
	}
	for some := range slices.Chunk(next, grownAtOnce) {
		cursor, err := s.chunks.Find(ctx, bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: some}}}},
			options.Find().SetProjection(bson.D{{Key: "stream", Value: 1}}))
		if err != nil {
			return nil, unavailable(err)
		}
		var records []struct {
			Stream string `bson:"stream"`
		}
		if err := cursor.All(ctx, &records); err != nil {
			return nil, readFailure(err)
		}
		for _, r := range records {
			grown = append(grown, r.Stream)
		}
	}
	return grown, nil
}

// Versions returns the newest versions of those of the documents that exist.
func (s *Store) Versions(ctx context.Context, keys []string) (map[string]uint64, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	found, err := s.versions(ctx, keys)
	if err != nil {
		return nil, err
	}
	newest := make(map[string]uint64, len(found))
	for key, version := range found {
		newest[key] = uint64(version)
	}
	return newest, nil
}

// Begun yields the names of the streams that begin with prefix, like Streams, but
// looks for their first chunks only. So it costs little however long they are,
// and leaves out what is damaged.
func (s *Store) Begun(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		cursor, err := s.chunks.Find(ctx, bson.D{
			{Key: "stream", Value: bson.D{{Key: "$gte", Value: prefix}, {Key: "$lt", Value: prefix + "\U0010FFFF"}}},
			{Key: "seq", Value: 1},
		}, options.Find().SetBatchSize(pageNames).SetProjection(bson.D{{Key: "stream", Value: 1}}).SetSort(bson.D{{Key: "stream", Value: 1}}))
		if err != nil {
			yield("", unavailable(err))
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
			yield("", unavailable(err))
		}
	}
}
