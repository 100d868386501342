package transfer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/sync/errgroup"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Limits of a batch and of concurrent calls to the store.
const (
	batchItems = 256
	batchBytes = 8 << 20
	atOnce     = 64
	// storeTimeout limits the retries of a store that fails. It is longer than a
	// database takes to elect another primary.
	storeTimeout = 30 * time.Second
)

// importBatch collects checked lines that are stored together. First all of them
// are compared with the content of the store; the batch is written only if nothing
// differs. So a stream that differs from the export stays as it is: all of its
// chunks in the batch are compared first.
type importBatch struct {
	store Target

	runs  []chunkRun
	named []namedDocument
	items int
	bytes int

	chunks, documents atomic.Uint64 // stored
}

// chunkRun holds consecutive chunks of one stream.
type chunkRun struct {
	stream string
	after  uint64 // the number before the first
	chunks []stream.Chunk
	end    bool // there is no chunk after them
}

func (b *importBatch) addLine(it lineContent, bytes int) {
	switch {
	case it.chunk != nil:
		r := b.runOf(it.chunk.Stream, it.chunk.Seq-1)
		r.chunks = append(r.chunks, *it.chunk)
	case it.end != nil:
		b.runOf(it.end.name, it.end.last).end = true
	case it.document != nil:
		b.named = append(b.named, *it.document)
	default:
		return
	}
	b.items++
	b.bytes += bytes
}

// runOf returns the run of a stream. A new one begins after the given sequence
// number.
func (b *importBatch) runOf(name string, after uint64) *chunkRun {
	if n := len(b.runs); n == 0 || b.runs[n-1].stream != name {
		b.runs = append(b.runs, chunkRun{stream: name, after: after})
	}
	return &b.runs[len(b.runs)-1]
}

func (b *importBatch) isFull() bool { return b.items >= batchItems || b.bytes >= batchBytes }

// flush stores the batch and empties it. After a failure of the store it starts
// again: the part that was stored is then present and equal.
func (b *importBatch) flush(ctx context.Context) error {
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := b.storeMissing(ctx)
		if err != nil && !isTransient(err) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithMaxElapsedTime(storeTimeout))
	b.runs, b.named, b.items, b.bytes = nil, nil, 0, 0
	return err
}

// isTransient reports whether a failure may pass, as when a database is out of
// reach for a moment.
func isTransient(err error) bool {
	if errors.Is(err, ErrDiffers) || errors.Is(err, stream.ErrDamaged) {
		return false
	}
	kind := fault.KindOf(err)
	return kind == fault.Unavailable || kind == fault.Internal
}

// storeMissing compares the batch with the store and writes the missing parts.
func (b *importBatch) storeMissing(ctx context.Context) error {
	absent := make([][]stream.Chunk, len(b.runs))
	err := runConcurrently(ctx, len(b.runs), func(ctx context.Context, i int) (err error) {
		absent[i], err = b.missingChunks(ctx, b.runs[i])
		return err
	})
	if err != nil {
		return err
	}
	documents, err := b.missingDocuments(ctx, b.named)
	if err != nil {
		return err
	}
	chunks := slices.Concat(absent...)
	err = runConcurrently(ctx, len(chunks), func(ctx context.Context, i int) error { return b.appendChunk(ctx, chunks[i]) })
	if err != nil {
		return err
	}
	return runConcurrently(ctx, len(documents), func(ctx context.Context, i int) error { return b.restoreDocument(ctx, documents[i]) })
}

// runConcurrently calls do with 0 to n-1, some at a time, and returns the first
// error.
func runConcurrently(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range n {
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}

// missingChunks returns the chunks of a run that the store does not have.
func (b *importBatch) missingChunks(ctx context.Context, r chunkRun) (absent []stream.Chunk, err error) {
	there := make([]bool, len(r.chunks))
	for chunk, err := range b.store.Chunks(ctx, r.stream, r.after) {
		if err != nil {
			return nil, err
		}
		i := chunk.Seq - r.after - 1
		if i >= uint64(len(r.chunks)) {
			if r.end {
				return nil, fmt.Errorf("%w: %s goes on with chunk %d", ErrDiffers, r.stream, chunk.Seq)
			}
			break
		}
		if chunk.Sum() != r.chunks[i].Sum() {
			return nil, fmt.Errorf("%w: chunk %d of %s is another", ErrDiffers, chunk.Seq, r.stream)
		}
		there[i] = true
	}
	for i, chunk := range r.chunks {
		if !there[i] {
			absent = append(absent, chunk)
		}
	}
	return absent, nil
}

// appendChunk stores a chunk. A chunk that appeared since the comparison was stored
// by this very call, whose answer was lost, or by another writer.
func (b *importBatch) appendChunk(ctx context.Context, chunk stream.Chunk) error {
	err := b.store.Append(ctx, chunk)
	if errors.Is(err, stream.ErrConflict) {
		absent, failed := b.missingChunks(ctx, chunkRun{stream: chunk.Stream, after: chunk.Seq - 1, chunks: []stream.Chunk{chunk}})
		if len(absent) == 0 {
			return failed
		}
	}
	if err == nil {
		b.chunks.Add(1)
	}
	return err
}

// missingDocuments returns the documents that the store does not have.
func (b *importBatch) missingDocuments(ctx context.Context, all []namedDocument) (absent []namedDocument, err error) {
	if len(all) == 0 {
		return nil, nil
	}
	keys := make([]string, len(all))
	for i, d := range all {
		keys[i] = d.name
	}
	found, err := b.store.Get(ctx, keys...)
	if err != nil {
		return nil, err
	}
	for i, d := range all {
		switch {
		case found[i].Version == 0:
			absent = append(absent, d)
		case sumOf(d.name, found[i]) != sumOf(d.name, d.Document):
			return nil, fmt.Errorf("%w: %s is at version %d and another", ErrDiffers, d.name, found[i].Version)
		}
	}
	return absent, nil
}

// restoreDocument stores a document; conflicts are handled as in appendChunk.
func (b *importBatch) restoreDocument(ctx context.Context, d namedDocument) error {
	err := b.store.Restore(ctx, d.name, d.Document)
	if errors.Is(err, document.ErrConflict) {
		absent, failed := b.missingDocuments(ctx, []namedDocument{d})
		if len(absent) == 0 {
			return failed
		}
	}
	if err == nil {
		b.documents.Add(1)
	}
	return err
}
