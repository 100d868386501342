package boltstore

import (
	"context"
	"iter"
	"strings"

	"go.etcd.io/bbolt"
)

// Streams yields the names of the streams that begin with prefix, ascending,
// each once: at least those that had a chunk before the call. It holds nothing
// locked between two names. The first error ends it.
func (s *Store) Streams(ctx context.Context, prefix string) iter.Seq2[string, error] {
	// The keys of a stream's chunks go on with a zero byte, which no name holds.
	return s.owners(ctx, "c", prefix, "\x01")
}

// Keys yields the keys of the documents that begin with prefix, in the way of
// Streams.
func (s *Store) Keys(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return s.owners(ctx, "d", prefix, "\x00")
}

// owners yields the owners of one sort. An owner and what is past it make a key
// that is greater than those of the owner's records and no greater than those of
// the next.
func (s *Store) owners(ctx context.Context, sort, prefix, past string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for pivot := sort + prefix; ; {
			owner, deleted, err := s.nextOwner(ctx, sort+prefix, pivot)
			if err != nil {
				yield("", err)
				return
			}
			if owner == "" || !deleted && !yield(owner[len(sort):], nil) {
				return
			}
			pivot = owner + past
		}
	}
}

// nextOwner returns the first owner from pivot on in the tables, the newest first,
// and in the heads of what is in the records; "" when there is none. A document that
// is deleted may not have left the records yet.
func (s *Store) nextOwner(ctx context.Context, prefix, pivot string) (owner string, deleted bool, err error) {
	if err := ctx.Err(); err != nil {
		return "", false, err
	}
	consider := func(candidate string, gone bool) {
		if owner == "" || candidate < owner {
			owner, deleted = candidate, gone
		}
	}
	s.tables.scan(prefix, pivot, 1, func(entries []entry, _ bool) {
		for _, e := range entries {
			candidate, _ := headOf(e.key, e.record)
			consider(candidate, isDeletion(e.key, e.record))
		}
	})
	err = s.db.view(func(tx *bbolt.Tx) error {
		key, _ := bucket(tx, headsBucket).Cursor().Seek([]byte(pivot))
		if strings.HasPrefix(string(key), prefix) {
			consider(string(key), false)
		}
		return nil
	})
	return owner, deleted, err
}
