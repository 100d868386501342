package mongostore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
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
		Key:     numberedKey(chunk.Stream, chunk.Seq),
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

// filterByID returns a filter for records by their _ids. Through a mongos it holds the
// shard key as well: what does not is sent to every shard, and fails when one is away.
// Elsewhere a lookup by _id alone is the cheapest query of every server.
func (s *Store) filterByID(id any, shardKey string, value any) bson.D {
	filter := bson.D{{Key: "_id", Value: id}}
	if s.sharded {
		filter = append(filter, bson.E{Key: shardKey, Value: value})
	}
	return filter
}

// chunkFilter is filterByID for a chunk.
func (s *Store) chunkFilter(name string, seq uint64) bson.D {
	return s.filterByID(numberedKey(name, seq), streamField, name)
}

// versionFilter is filterByID for a version of a document.
func (s *Store) versionFilter(key string, version uint64) bson.D {
	return s.filterByID(numberedKey(key, version), keyField, key)
}

// The fields by which the collections are sharded.
const (
	streamField = "stream"
	keyField    = "key"
)

// anyOf is the condition that a field has one of some values.
func anyOf(values []string) bson.D { return bson.D{{Key: "$in", Value: values}} }

// numberedKey returns the _id of a numbered part of a named stream, document or
// snapshot. Names do not contain the separator.
func numberedKey(name string, n uint64) string { return fmt.Sprintf("%s#%020d", name, n) }

// Append implements [stream.Store]. Chunks of many streams share an insert, but not
// on a sharded cluster, where all would wait for the slowest shard.
func (s *Store) Append(ctx context.Context, chunk stream.Chunk) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	record := newChunkRecord(&chunk)
	if s.sharded {
		return insertResult(s.insertChunks(ctx, []*chunkRecord{record}), 0)
	}
	return s.appends.insertRecord(ctx, record)
}

// Replace implements [stream.Store]. The filter of the replacement matches the
// content to replace, so that the second of two concurrent replacements, or of one
// that a server applies twice, matches nothing.
func (s *Store) Replace(ctx context.Context, chunk stream.Chunk, expect stream.Digest) error {
	var stored chunkRecord
	found, err := s.readOne(ctx, s.chunks, s.chunkFilter(chunk.Stream, chunk.Seq), &stored)
	if err != nil {
		return err
	}
	if !found {
		return stream.ErrConflict
	}
	old, err := stored.toChunk(nil)
	switch {
	case err != nil:
		return err
	case old.Sum() == chunk.Sum():
		return nil
	case old.Sum() != expect:
		return stream.ErrConflict
	}
	replaced, err := s.chunks.ReplaceOne(ctx, append(s.chunkFilter(chunk.Stream, chunk.Seq),
		bson.E{Key: "id", Value: stored.ID},
		bson.E{Key: "payload", Value: stored.Payload},
	), newChunkRecord(&chunk))
	if err != nil {
		return writeError(err)
	}
	if replaced.MatchedCount == 0 { // another process was faster, perhaps with the same content
		return s.Replace(ctx, chunk, expect)
	}
	return nil
}

const (
	// lookups is the number of chunks read one by one before queries read the rest.
	// Most calls only check for any chunk, and a lookup by _id is the cheapest read
	// of every server.
	lookups = 32
	// pageChunks is the number of chunks in one answer, fewer if they are large: an
	// answer ends at 16 MiB.
	pageChunks = 5000
)

// Chunks implements [stream.Store]. While the caller works with a chunk, no cursor
// is open on the server and no time-out of the driver runs.
func (s *Store) Chunks(ctx context.Context, name string, after uint64) iter.Seq2[stream.Chunk, error] {
	return func(yield func(stream.Chunk, error) bool) {
		ctx, end, err := s.beginRead(ctx)
		if err != nil {
			yield(stream.Chunk{}, err)
			return
		}
		defer end()
		for chunk, err := range s.readChunks(ctx, name, after) {
			if !yield(chunk, err) || err != nil {
				return
			}
			after = chunk.Seq
		}
		if !s.sharded || after >= math.MaxInt64 {
			return
		}
		// Where nothing has come since, this is all. A chunk that the reads before have
		// missed shows that they were too early, and all of its shard has been committed by
		// now.
		record, err := s.findChunk(ctx, s.current(s.chunks), name, after+1)
		if errors.Is(err, mongo.ErrNoDocuments) || !yield(record.toChunk(err)) || err != nil {
			return
		}
		s.readChunks(ctx, name, after+1)(yield)
	}
}

// readChunks yields the chunks that are committed as far as the primary knows.
func (s *Store) readChunks(ctx context.Context, name string, after uint64) iter.Seq2[stream.Chunk, error] {
	return func(yield func(stream.Chunk, error) bool) {
		more := func(chunk stream.Chunk, err error) bool {
			after = chunk.Seq
			return yield(chunk, err) && err == nil
		}
		for range lookups {
			if after >= math.MaxInt64 {
				return
			}
			record, err := s.findChunk(ctx, s.chunks, name, after+1)
			if errors.Is(err, mongo.ErrNoDocuments) || !more(record.toChunk(err)) {
				return
			}
		}
		for {
			records, end, err := s.readPage(ctx, name, after)
			if err != nil {
				more(stream.Chunk{}, err)
				return
			}
			for _, r := range records {
				if !more(r.toChunk(nil)) {
					return
				}
			}
			// Stop at the end of the first whole answer: a writer that appends
			// faster than this reads would otherwise keep it reading without end.
			if end {
				return
			}
		}
	}
}

func (s *Store) findChunk(ctx context.Context, c *mongo.Collection, name string, seq uint64) (record chunkRecord, err error) {
	err = c.FindOne(ctx, s.chunkFilter(name, seq)).Decode(&record)
	return record, err
}

// readPage reads the chunks after a sequence number, as many as fit one answer, and
// reports whether they were all.
func (s *Store) readPage(ctx context.Context, name string, after uint64) (records []chunkRecord, end bool, err error) {
	cursor, err := s.chunks.Find(ctx,
		bson.D{{Key: "stream", Value: name}, {Key: "seq", Value: bson.D{{Key: "$gt", Value: int64(after)}}}},
		options.Find().SetSort(bson.D{{Key: "seq", Value: 1}}).SetBatchSize(pageChunks))
	if err != nil {
		return nil, false, unavailableError(err)
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
		return nil, false, unavailableError(err)
	}
	return records, cursor.ID() == 0, nil
}

// toChunk returns the chunk in a record, or the error of reading it.
func (r *chunkRecord) toChunk(err error) (stream.Chunk, error) {
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
	if len(r.ID) != len(chunk.ID) || len(r.Prev) != len(chunk.Prev) || r.Count < 0 || r.Key != numberedKey(r.Stream, chunk.Seq) ||
		len(r.Original) != len(chunk.Original) && len(r.Original) != 0 {
		return stream.Chunk{}, fmt.Errorf("%w: record %s", stream.ErrDamaged, r.Key)
	}
	copy(chunk.ID[:], r.ID)
	copy(chunk.Prev[:], r.Prev)
	copy(chunk.Original[:], r.Original)
	return chunk, nil
}

// readFailure returns ErrDamaged for a record that does not decode, else
// fault.Unavailable.
func readFailure(err error) error {
	if _, ok := errors.AsType[*bson.DecodeError](err); ok {
		return fmt.Errorf("%w: %w", stream.ErrDamaged, err)
	}
	return unavailableError(err)
}
