package boltstore

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"math"
	"slices"

	"go.etcd.io/bbolt"

	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

// Append implements [stream.Store].
func (s *Store) Append(ctx context.Context, chunk stream.Chunk) error {
	if err := checkName(chunk.Stream); err != nil {
		return err
	}
	key, record := encodeChunk(&chunk)
	return s.writer.submit(ctx, insertion{key, record})
}

// insertion stores a chunk where there is none.
type insertion entry

func (i insertion) stage(b *batch) error {
	owner, seq := headOf(i.key, i.record)
	head, known, err := b.head(owner)
	if err != nil {
		return err
	}
	// Most often seq is past everything there is, which takes no look at the records.
	if !known || seq <= head {
		if held, err := b.holds(i.key); held || err != nil {
			return cmp.Or(err, stream.ErrConflict)
		}
	}
	b.put(entry(i), owner, seq)
	return nil
}

func (i insertion) size() int { return entry(i).size() }

// Chunks implements [stream.Store]. A chunk or an end of the stream that is not
// as it was written is reported as [stream.ErrDamaged]; gaps are not looked for.
func (s *Store) Chunks(ctx context.Context, name string, after uint64) iter.Seq2[stream.Chunk, error] {
	return func(yield func(stream.Chunk, error) bool) {
		for more := after < math.MaxUint64; more; {
			p, err := s.page(ctx, name, after)
			if err != nil {
				yield(stream.Chunk{}, err)
				return
			}
			for _, chunk := range p.chunks {
				if !yield(chunk, nil) {
					return
				}
				after = chunk.Seq
			}
			more = !p.all
		}
	}
}

// page is the next chunks of a stream; all means that there are no more.
type page struct {
	chunks []stream.Chunk
	all    bool
}

// page returns the next chunks of a stream after a seq, about a page of bytes.
func (s *Store) page(ctx context.Context, name string, after uint64) (page, error) {
	if err := cmp.Or(ctx.Err(), checkName(name)); err != nil {
		return page{}, err
	}
	pages, err := s.recentPages(name, after)
	if err != nil {
		return page{}, err
	}
	err = s.db.view(func(tx *bbolt.Tx) error {
		stored, err := storedPage(tx, name, after, s.limits.page)
		pages = append(pages, stored)
		return err
	})
	if err != nil {
		return page{}, err
	}
	return merge(pages), nil
}

// recentPages returns the next chunks of a stream in each table.
func (s *Store) recentPages(name string, after uint64) (pages []page, err error) {
	var found [][]entry
	s.tables.scan(streamPrefix(name), chunkKey(name, after+1), s.limits.page, func(entries []entry, all bool) {
		found = append(found, entries)
		pages = append(pages, page{all: all})
	})
	for i, entries := range found {
		for _, e := range entries {
			chunk, err := decodeChunk(name, e.key, e.record)
			if err != nil {
				return nil, err
			}
			pages[i].chunks = append(pages[i].chunks, chunk)
		}
	}
	return pages, nil
}

// storedPage returns the next chunks of a stream in the records. Those that it
// finds to be the last must end where the stream does.
func storedPage(tx *bbolt.Tx, name string, after uint64, limit int) (page, error) {
	p, size, prefix := page{all: true}, 0, []byte(streamPrefix(name))
	cursor := bucket(tx, recordsBucket).Cursor()
	key, record := cursor.Seek([]byte(chunkKey(name, after+1)))
	for ; p.all && bytes.HasPrefix(key, prefix); key, record = cursor.Next() {
		chunk, err := decodeChunk(name, string(key), record)
		if err != nil {
			return page{}, err
		}
		p.chunks = append(p.chunks, chunk)
		size += len(record)
		p.all = size < limit
	}
	if p.all {
		return p, checkEnd(tx, name, after, p.chunks)
	}
	return p, nil
}

// checkEnd compares the last chunks of a stream in the records, all those after
// a seq, with its head.
func checkEnd(tx *bbolt.Tx, name string, after uint64, chunks []stream.Chunk) error {
	owner := "c" + name
	head, err := readHead(bucket(tx, headsBucket), owner)
	if err != nil {
		return err
	}
	if n := len(chunks); n > 0 && chunks[n-1].Seq != head || n == 0 && head > after {
		return damaged(recordsBucket, owner, "the stream does not end where it did")
	}
	return nil
}

// merge returns the chunks of several pages in order, up to the last of which
// no page can lack one before.
func merge(pages []page) page {
	merged, end := page{all: true}, uint64(math.MaxUint64)
	for _, p := range pages {
		merged.chunks = append(merged.chunks, p.chunks...)
		if !p.all {
			merged.all = false
			end = min(end, p.chunks[len(p.chunks)-1].Seq)
		}
	}
	slices.SortFunc(merged.chunks, func(a, b stream.Chunk) int { return cmp.Compare(a.Seq, b.Seq) })
	merged.chunks = slices.CompactFunc(merged.chunks, func(a, b stream.Chunk) bool { return a.Seq == b.Seq })
	merged.chunks = slices.DeleteFunc(merged.chunks, func(c stream.Chunk) bool { return c.Seq > end })
	return merged
}
