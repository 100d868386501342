package boltstore

import (
	"context"

	"github.com/acclaim-dev/acclaim/services/internal/document"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Restore stores a document as it was in another store, its version and write id
// included. Where one was ever written it stores nothing and returns
// [document.ErrConflict].
func (s *Store) Restore(ctx context.Context, key string, d document.Document) error {
	if err := checkName(key); err != nil {
		return err
	}
	if d.Version == 0 {
		return fault.New(fault.Invalid, "a document begins with version 1")
	}
	stored, record := encodeDocument(&document.Write{Key: key, Expect: d.Version - 1, ID: d.ID, Body: d.Body})
	return s.writer.submit(ctx, restoration{stored, record})
}

// restoration stores a document where there is none.
type restoration entry

func (r restoration) stage(b *batch) error {
	version, _, err := b.head(r.key)
	if err != nil {
		return err
	}
	if version > 0 {
		return document.ErrConflict
	}
	owner, version := headOf(r.key, r.record)
	b.put(entry(r), owner, version)
	return nil
}

func (r restoration) size() int { return entry(r).size() }
