package mongostore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

// chunkRecord is a chunk as it is stored. Its _id is made of stream and seq, and
// so unique with them.
type chunkRecord struct {
	Key      string `bson:"_id"`
	Stream   string `bson:"stream"`
	Seq      int64  `bson:"seq"`
	At       int64  `bson:"at"`
	ID       []byte `bson:"id"`
	Prev     []byte `bson:"prev"`
	Original []byte `bson:"original,omitempty"` // of redacted chunks
	Count    int64  `bson:"count"`
	Payload  []byte `bson:"payload"`
}

func newChunkRecord(chunk *stream.Chunk) *chunkRecord {
	r := &chunkRecord{
		Key:     numbered(chunk.Stream, chunk.Seq),
		Stream:  chunk.Stream,
		Seq:     int64(chunk.Seq),
		At:      chunk.At,
		ID:      chunk.ID[:],
		Prev:    chunk.Prev[:],
		Count:   int64(chunk.Count),
		Payload: chunk.Payload,
	}
	if chunk.Original != (stream.Digest{}) {
		r.Original = chunk.Original[:]
	}
	return r
}

// numbered returns the _id of the part with that number of something with a
// name. Names do not contain the separator.
func numbered(name string, n uint64) string { return fmt.Sprintf("%s#%020d", name, n) }

// Append implements [stream.Store]. Chunks of many streams share an insert, but
// not where each may be for another shard: all would wait for the slowest of them.
func (s *Store) Append(ctx context.Context, chunk stream.Chunk) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	record := newChunkRecord(&chunk)
	if s.sharded {
		return outcome(s.insertChunks(ctx, []*chunkRecord{record}), 0)
	}
	return s.appends.append(ctx, record)
}

// Replace implements [stream.Store]. The filter of the replacement holds what it is
// to replace, so that of two at once, or of one that a server applies twice, the
// second finds nothing.
func (s *Store) Replace(ctx context.Context, chunk stream.Chunk, expect stream.Digest) error {
	var stored chunkRecord
	found, err := s.one(ctx, s.chunks, bson.D{{Key: "_id", Value: numbered(chunk.Stream, chunk.Seq)}}, &stored)
	if err != nil {
		return err
	}
	if !found {
		return stream.ErrConflict
	}
	old, err := stored.chunk(nil)
	switch {
	case err != nil:
		return err
	case old.Sum() == chunk.Sum():
		return nil
	case old.Sum() != expect:
		return stream.ErrConflict
	}
	replaced, err := s.chunks.ReplaceOne(ctx, bson.D{
		{Key: "_id", Value: stored.Key},
		{Key: "id", Value: stored.ID},
		{Key: "payload", Value: stored.Payload},
	}, newChunkRecord(&chunk))
	if err != nil {
		return written(err)
	}
	if replaced.MatchedCount == 0 { // somebody was faster, perhaps with the same
		return s.Replace(ctx, chunk, expect)
	}
	return nil
}

const (
	// lookups is how many chunks are looked up one by one before the rest is read
	// by queries. Most questions are whether there is any chunk, and lookups by
	// _id are the cheapest read of every server.
	lookups = 32
	// pageChunks is how many chunks the server sends at a time, or fewer if they
	// are large: an answer ends at 16 MiB.
	pageChunks = 1000
	// listingTimeout is how long the server may gather names, for which it goes
	// through all records: longer than any other operation.
	listingTimeout = 10 * time.Minute
)

// Chunks implements [stream.Store]. Nothing is open on the server or timed by the
// driver while the caller looks at a chunk.
func (s *Store) Chunks(ctx context.Context, name string, after uint64) iter.Seq2[stream.Chunk, error] {
	return func(yield func(stream.Chunk, error) bool) {
		more := func(chunk stream.Chunk, err error) bool {
			after = chunk.Seq
			return yield(chunk, err) && err == nil
		}
		for range lookups {
			if after >= math.MaxInt64 {
				return
			}
			record, err := s.lookup(ctx, name, after+1)
			if errors.Is(err, mongo.ErrNoDocuments) || !more(record.chunk(err)) {
				return
			}
		}
		for {
			records, end, err := s.page(ctx, name, after)
			if err != nil {
				more(stream.Chunk{}, err)
				return
			}
			for _, r := range records {
				if !more(r.chunk(nil)) {
					return
				}
			}
			// Whoever appends faster than is read here would otherwise be followed for
			// ever: what was there when the question came is enough.
			if end {
				return
			}
		}
	}
}

func (s *Store) lookup(ctx context.Context, name string, seq uint64) (record chunkRecord, err error) {
	err = s.chunks.FindOne(ctx, bson.D{{Key: "_id", Value: numbered(name, seq)}}).Decode(&record)
	return record, err
}

// page reads the chunks after a number, as many as the server sends at once, and
// says whether they are all that there were.
func (s *Store) page(ctx context.Context, name string, after uint64) (records []chunkRecord, end bool, err error) {
	cursor, err := s.chunks.Find(ctx,
		bson.D{{Key: "stream", Value: name}, {Key: "seq", Value: bson.D{{Key: "$gt", Value: int64(after)}}}},
		options.Find().SetSort(bson.D{{Key: "seq", Value: 1}}).SetBatchSize(pageChunks))
	if err != nil {
		return nil, false, unavailable(err)
	}
	defer func() { _ = cursor.Close(context.WithoutCancel(ctx)) }()
	for (len(records) == 0 || cursor.RemainingBatchLength() > 0) && cursor.Next(ctx) {
		var record chunkRecord
		if err := cursor.Decode(&record); err != nil {
			return nil, false, readFailure(err)
		}
		records = append(records, record)
	}
	if err := cursor.Err(); err != nil {
		return nil, false, unavailable(err)
	}
	return records, cursor.ID() == 0, nil
}

// chunk returns what a record holds, unless reading it failed.
func (r *chunkRecord) chunk(err error) (stream.Chunk, error) {
	if err != nil {
		return stream.Chunk{}, readFailure(err)
	}
	chunk := stream.Chunk{
		Stream:  r.Stream,
		Seq:     uint64(r.Seq),
		At:      r.At,
		Count:   int(r.Count),
		Payload: r.Payload,
	}
	if len(r.ID) != len(chunk.ID) || len(r.Prev) != len(chunk.Prev) || r.Count < 0 || r.Key != numbered(r.Stream, chunk.Seq) ||
		len(r.Original) != len(chunk.Original) && len(r.Original) != 0 {
		return stream.Chunk{}, fmt.Errorf("%w: record %s", stream.ErrDamaged, r.Key)
	}
	copy(chunk.ID[:], r.ID)
	copy(chunk.Prev[:], r.Prev)
	copy(chunk.Original[:], r.Original)
	return chunk, nil
}

// readFailure tells a record that makes no sense from one that could not be had.
func readFailure(err error) error {
	if _, ok := errors.AsType[*bson.DecodeError](err); ok {
		return fmt.Errorf("%w: %w", stream.ErrDamaged, err)
	}
	return unavailable(err)
}

// Streams yields the names of the streams that begin with prefix, in ascending
// order.
func (s *Store) Streams(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return distinct(ctx, s.chunks, "stream", prefix)
}

// pageNames is how many names are read at a time.
const pageNames = 1000

// distinct yields the values of a field that begin with prefix, in ascending
// order. Like Chunks it keeps nothing open while the caller looks at one.
func distinct(ctx context.Context, c *mongo.Collection, field, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for from := (bson.E{Key: "$gte", Value: prefix}); ; {
			names, err := pageOf(ctx, c, field, from, prefix+"\U0010FFFF")
			if err != nil {
				yield("", err)
				return
			}
			for _, name := range names {
				if !yield(name, nil) {
					return
				}
			}
			if len(names) < pageNames {
				return
			}
			from = bson.E{Key: "$gt", Value: names[len(names)-1]}
		}
	}
}

func pageOf(ctx context.Context, c *mongo.Collection, field string, from bson.E, before string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, listingTimeout)
	defer cancel()
	cursor, err := c.Aggregate(ctx, mongo.Pipeline{
		{{Key: "$match", Value: bson.D{{Key: field, Value: bson.D{from, {Key: "$lt", Value: before}}}}}},
		{{Key: "$group", Value: bson.D{{Key: "_id", Value: "$" + field}}}},
		{{Key: "$sort", Value: bson.D{{Key: "_id", Value: 1}}}},
		{{Key: "$limit", Value: pageNames}},
	})
	if err != nil {
		return nil, unavailable(err)
	}
	var groups []struct {
		Value string `bson:"_id"`
	}
	if err := cursor.All(ctx, &groups); err != nil {
		return nil, readFailure(err)
	}
	names := make([]string, len(groups))
	for i, g := range groups {
		names[i] = g.Value
	}
	return names, nil
}
