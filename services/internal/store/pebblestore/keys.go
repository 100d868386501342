package pebblestore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// The first byte of a key. A sort's keys end before the byte that follows.
const (
	chunkSort    = 'c'
	documentSort = 'd'
	commitsSort  = 'm'
	snapshotSort = 's'
)

const longestName = 16 << 10 // bytes

// checkName refuses what cannot be the name of a stream or the key of a document.
func checkName(name string) error {
	if name == "" || len(name) > longestName || strings.IndexByte(name, 0) >= 0 {
		return fault.Newf(fault.Invalid, "the name %.64q is empty, too long or holds a zero byte", name)
	}
	return nil
}

// keyOf returns a sort's key for a name, with room for what may follow.
func keyOf(sort byte, name string) []byte {
	return append(append(make([]byte, 0, 1+len(name)+1+8), sort), name...)
}

// keyAfter returns the least key that is greater than all with a prefix.
func keyAfter(prefix []byte) []byte {
	after := bytes.Clone(bytes.TrimRight(prefix, "\xff"))
	after[len(after)-1]++
	return after
}

func chunkKey(name string, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(append(keyOf(chunkSort, name), 0), seq)
}

// chunksEnd is greater than the keys of a stream's chunks.
func chunksEnd(name string) []byte { return append(keyOf(chunkSort, name), 1) }

func seqOf(key []byte) uint64 { return binary.BigEndian.Uint64(key[len(key)-8:]) }

func commitsKey() []byte { return []byte{commitsSort} }

// get returns a copy of the value at a key, nil where there is none.
func get(reader pebble.Reader, key []byte) ([]byte, error) {
	value, closer, err := reader.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer closer.Close()
	return append([]byte{}, value...), nil
}

// iterate calls fn with an iterator over the keys from one to before another.
func iterate(reader pebble.Reader, from, to []byte, fn func(*pebble.Iterator) error) error {
	iterator, err := reader.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return err
	}
	return errors.Join(fn(iterator), iterator.Close())
}

// readFunc reads an item at the key of an iterator. It returns the item's size in
// bytes, and the least key at which the next item may begin.
type readFunc[T any] func(*pebble.Iterator) (item T, size int, next []byte, err error)

// scan yields the items at the keys from one to before another, ascending. It
// reads a page at a time and holds nothing while it yields. The first error ends it.
func scan[T any](ctx context.Context, s *Store, from, to []byte, read readFunc[T]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for from := from; from != nil; {
			var page []T
			err := ctx.Err()
			if err == nil {
				page, from, err = readPage(s, from, to, read)
			}
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, item := range page {
				if !yield(item, nil) {
					return
				}
			}
		}
	}
}

// readPage returns the first items from a key on, and the key at which the next
// ones begin, nil where there are none.
func readPage[T any](s *Store, from, to []byte, read readFunc[T]) (page []T, next []byte, err error) {
	err = s.view(func(db *pebble.DB) error {
		return iterate(db, from, to, func(iterator *pebble.Iterator) error {
			for valid, total := iterator.First(), 0; valid; valid = iterator.SeekGE(next) {
				if total >= s.config.page {
					return nil
				}
				item, size, after, err := read(iterator)
				if err != nil {
					return err
				}
				page, next, total = append(page, item), after, total+size
			}
			next = nil
			return nil
		})
	})
	return page, next, err
}

// Streams yields the names of the streams that begin with prefix, ascending,
// each once: at least those that had a chunk before the call. It holds nothing
// locked between two names. The first error ends it.
func (s *Store) Streams(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return s.StreamsAfter(ctx, prefix, "")
}

// StreamsAfter is Streams for the names after one, whose predecessors it does not read.
func (s *Store) StreamsAfter(ctx context.Context, prefix, after string) iter.Seq2[string, error] {
	return s.names(ctx, keyOf(chunkSort, prefix), keyOf(chunkSort, after+"\x01"), len(chunkKey("", 0))-1)
}

// Keys yields the keys of the documents that begin with prefix, as Streams does.
func (s *Store) Keys(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return s.names(ctx, keyOf(documentSort, prefix), nil, 0)
}

// names yields the names in the keys with a prefix from one on. The keys go on with suffix
// more bytes.
func (s *Store) names(ctx context.Context, prefix, from []byte, suffix int) iter.Seq2[string, error] {
	read := func(iterator *pebble.Iterator) (name string, size int, next []byte, err error) {
		key := bytes.Clone(iterator.Key())
		key = key[:len(key)-suffix]
		// A name holds no zero byte, and in a chunk's key one follows it.
		return string(key[1:]), len(key), append(key, byte(min(suffix, 1))), nil
	}
	if bytes.Compare(from, prefix) < 0 {
		from = prefix
	}
	return scan(ctx, s, from, keyAfter(prefix), read)
}
