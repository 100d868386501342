package boltstore

import (
	"context"

	"go.etcd.io/bbolt"

	"github.com/acclaim-dev/acclaim/services/internal/document"
)

// Put implements [document.Store].
func (s *Store) Put(ctx context.Context, writes ...document.Write) error {
	var r replacement
	for i := range writes {
		if err := checkName(writes[i].Key); err != nil {
			return err
		}
		key, record := encodeDocument(&writes[i])
		r = append(r, entry{key, record})
	}
	if len(r) == 0 {
		return nil
	}
	return s.writer.submit(ctx, r)
}

// replacement stores documents in place of the versions before them.
type replacement []entry

func (r replacement) stage(b *batch) error {
	for _, e := range r {
		version, _, err := b.head(e.key)
		if err != nil {
			return err
		}
		if _, next := headOf(e.key, e.record); next != version+1 {
			return document.ErrConflict
		}
	}
	for _, e := range r {
		owner, version := headOf(e.key, e.record)
		b.put(e, owner, version)
	}
	return nil
}

func (r replacement) size() (total int) {
	for _, e := range r {
		total += e.size()
	}
	return total
}

// Get implements [document.Store]. A document that is not as it was written is
// reported as [stream.ErrDamaged].
func (s *Store) Get(ctx context.Context, keys ...string) ([]document.Document, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	found := make([]document.Document, len(keys))
	stored, err := s.recentDocuments(keys, found)
	if err != nil {
		return nil, err
	}
	err = s.db.view(func(tx *bbolt.Tx) (err error) {
		for _, i := range stored {
			if found[i], err = storedDocument(tx, documentKey(keys[i])); err != nil {
				return err
			}
		}
		return nil
	})
	return found, err
}

// recentDocuments fills in the documents that the tables hold and returns the
// indices of the others.
func (s *Store) recentDocuments(keys []string, found []document.Document) (others []int, err error) {
	for i, name := range keys {
		if err := checkName(name); err != nil {
			return nil, err
		}
		key := documentKey(name)
		record, ok := s.tables.get(key)
		if !ok {
			others = append(others, i)
			continue
		}
		if found[i], err = decodeDocument(key, record); err != nil {
			return nil, err
		}
	}
	return others, nil
}

// storedDocument returns the document at a key of the records.
func storedDocument(tx *bbolt.Tx, key string) (found document.Document, err error) {
	head, err := readHead(bucket(tx, headsBucket), key)
	if err != nil {
		return document.Document{}, err
	}
	if record := bucket(tx, recordsBucket).Get([]byte(key)); record != nil {
		if found, err = decodeDocument(key, record); err != nil {
			return document.Document{}, err
		}
	}
	if found.Version != head {
		return document.Document{}, damaged(recordsBucket, key, "the version is not what it was")
	}
	return found, nil
}
