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

	"github.com/acclaim-dev/acclaim/services/internal/document"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

// Bounds of a batch and of what is asked of the store at a time.
const (
	batchItems = 256
	batchBytes = 8 << 20
	atOnce     = 64
	// patience is how long a store that fails is asked again: longer than a
	// database takes to elect another primary.
	patience = 30 * time.Second
)

// batch is checked lines that go to the store together. First all of them are
// compared with what is there, and only if nothing differs is anything written.
// So a stream that goes on otherwise than the export is left as it is: those of
// its chunks that the batch has are all there to compare with.
type batch struct {
	store Target

	runs  []run
	named []named
	items int
	bytes int

	chunks, documents atomic.Uint64 // stored
}

// run is chunks of one stream in a row.
type run struct {
	stream string
	after  uint64 // the number before the first
	chunks []stream.Chunk
	end    bool // there is no chunk after them
}

func (b *batch) add(it item, bytes int) {
	switch {
	case it.chunk != nil:
		r := b.run(it.chunk.Stream, it.chunk.Seq-1)
		r.chunks = append(r.chunks, *it.chunk)
	case it.end != nil:
		b.run(it.end.name, it.end.last).end = true
	case it.document != nil:
		b.named = append(b.named, *it.document)
	default:
		return
	}
	b.items++
	b.bytes += bytes
}

// run returns that of a stream, which begins after a number if it is new.
func (b *batch) run(name string, after uint64) *run {
	if n := len(b.runs); n == 0 || b.runs[n-1].stream != name {
		b.runs = append(b.runs, run{stream: name, after: after})
	}
	return &b.runs[len(b.runs)-1]
}

func (b *batch) full() bool { return b.items >= batchItems || b.bytes >= batchBytes }

// flush brings the batch into the store and empties it. Where the store fails it
// begins anew: what was stored is then there and the same.
func (b *batch) flush(ctx context.Context) error {
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := b.place(ctx)
		if err != nil && !worthRepeating(err) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithMaxElapsedTime(patience))
	b.runs, b.named, b.items, b.bytes = nil, nil, 0, 0
	return err
}

// worthRepeating tells a database that cannot be reached for a moment from
// failures that stay.
func worthRepeating(err error) bool {
	if errors.Is(err, ErrOther) || errors.Is(err, stream.ErrDamaged) {
		return false
	}
	kind := fault.KindOf(err)
	return kind == fault.Unavailable || kind == fault.Internal
}

// place compares the batch with the store and writes what is not there.
func (b *batch) place(ctx context.Context) error {
	absent := make([][]stream.Chunk, len(b.runs))
	err := concurrently(ctx, len(b.runs), func(ctx context.Context, i int) (err error) {
		absent[i], err = b.absent(ctx, b.runs[i])
		return err
	})
	if err != nil {
		return err
	}
	documents, err := b.absentDocuments(ctx, b.named)
	if err != nil {
		return err
	}
	chunks := slices.Concat(absent...)
	err = concurrently(ctx, len(chunks), func(ctx context.Context, i int) error { return b.append(ctx, chunks[i]) })
	if err != nil {
		return err
	}
	return concurrently(ctx, len(documents), func(ctx context.Context, i int) error { return b.restore(ctx, documents[i]) })
}

// concurrently calls do with 0 to n-1, some at a time, and returns the first error.
func concurrently(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range n {
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}

// absent returns the chunks of a run that the store does not have.
func (b *batch) absent(ctx context.Context, r run) (absent []stream.Chunk, err error) {
	there := make([]bool, len(r.chunks))
	for chunk, err := range b.store.Chunks(ctx, r.stream, r.after) {
		if err != nil {
			return nil, err
		}
		i := chunk.Seq - r.after - 1
		if i >= uint64(len(r.chunks)) {
			if r.end {
				return nil, fmt.Errorf("%w: %s goes on with chunk %d", ErrOther, r.stream, chunk.Seq)
			}
			break
		}
		if chunk.Sum() != r.chunks[i].Sum() {
			return nil, fmt.Errorf("%w: chunk %d of %s is another", ErrOther, chunk.Seq, r.stream)
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

// append stores a chunk. One that is there although it was not before was stored
// by this very call, whose answer was lost, or is somebody else's.
func (b *batch) append(ctx context.Context, chunk stream.Chunk) error {
	err := b.store.Append(ctx, chunk)
	if errors.Is(err, stream.ErrConflict) {
		absent, failed := b.absent(ctx, run{stream: chunk.Stream, after: chunk.Seq - 1, chunks: []stream.Chunk{chunk}})
		if len(absent) == 0 {
			return failed
		}
	}
	if err == nil {
		b.chunks.Add(1)
	}
	return err
}

// absentDocuments returns those that the store does not have.
func (b *batch) absentDocuments(ctx context.Context, all []named) (absent []named, err error) {
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
			return nil, fmt.Errorf("%w: %s is at version %d and another", ErrOther, d.name, found[i].Version)
		}
	}
	return absent, nil
}

// restore stores a document, in the way of append.
func (b *batch) restore(ctx context.Context, d named) error {
	err := b.store.Restore(ctx, d.name, d.Document)
	if errors.Is(err, document.ErrConflict) {
		absent, failed := b.absentDocuments(ctx, []named{d})
		if len(absent) == 0 {
			return failed
		}
	}
	if err == nil {
		b.documents.Add(1)
	}
	return err
}
