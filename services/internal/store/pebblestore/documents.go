package pebblestore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Put implements [document.Store].
func (s *Store) Put(ctx context.Context, writes ...document.Write) error {
	for _, w := range writes {
		if err := checkName(w.Key); err != nil {
			return err
		}
	}
	if len(writes) == 0 {
		return nil
	}
	return s.submit(ctx, func(b *writeBatch) error {
		for _, w := range writes {
			if version, err := b.version(w.Key); err != nil || version != w.Expect {
				return cmp.Or(err, document.ErrConflict)
			}
		}
		for _, w := range writes {
			if err := b.setDocument(w.Key, document.Document{Version: w.Expect + 1, ID: w.ID, Body: w.Body, Keys: w.Keys}); err != nil {
				return err
			}
		}
		return nil
	})
}

// Restore stores a document as it was in another store, its version and write id
// included. Where a document exists it stores nothing and returns
// [document.ErrConflict].
func (s *Store) Restore(ctx context.Context, key string, d document.Document) error {
	if err := checkName(key); err != nil {
		return err
	}
	if d.Version == 0 {
		return fault.New(fault.Invalid, "a document begins with version 1")
	}
	return s.submit(ctx, func(b *writeBatch) error {
		if version, err := b.version(key); err != nil || version > 0 {
			return cmp.Or(err, document.ErrConflict)
		}
		return b.setDocument(key, d)
	})
}

// Delete implements [document.Store].
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := checkName(key); err != nil {
		return err
	}
	return s.submit(ctx, func(b *writeBatch) error {
		if version, err := b.version(key); err != nil || version == 0 {
			return err
		}
		b.heads.Add(owner{documentSort, key}, 0)
		b.documents = append(b.documents, namedDocument{name: key})
		return b.remove(keyOf(documentSort, key))
	})
}

// version returns the version of a document after the batch so far, 0 where there
// is none.
func (b *writeBatch) version(name string) (uint64, error) {
	return b.head(owner{documentSort, name}, func() (uint64, error) {
		d, err := getDocument(b, name)
		return d.Version, err
	})
}

func (b *writeBatch) setDocument(name string, d document.Document) error {
	b.heads.Add(owner{documentSort, name}, d.Version)
	b.documents = append(b.documents, namedDocument{name, d})
	value := make([]byte, 0, 32+len(d.Body))
	if len(d.Keys) > 0 {
		value = wire.AppendBytes(append(value, keysFollow), once.AppendKept(nil, d.Keys))
	}
	value = binary.AppendUvarint(value, d.Version)
	return b.set(keyOf(documentSort, name), append(append(value, d.ID[:]...), d.Body...))
}

// Get implements [document.Store].
func (s *Store) Get(ctx context.Context, keys ...string) ([]document.Document, error) {
	found := make([]document.Document, len(keys))
	err := s.view(func(db *pebble.DB) (err error) {
		for i := 0; i < len(keys) && err == nil; i++ {
			if err = cmp.Or(ctx.Err(), checkName(keys[i])); err == nil {
				found[i], err = s.findDocument(db, keys[i])
			}
		}
		return err
	})
	return found, err
}

// keysFollow stands before the keys of a document, and before no version.
const keysFollow = 0

// findDocument returns a document as the last commit left it.
func (s *Store) findDocument(db *pebble.DB, name string) (document.Document, error) {
	if d, ok := s.recent.find(name); ok {
		return d, nil
	}
	return getDocument(db, name)
}

func getDocument(reader pebble.Reader, name string) (d document.Document, err error) {
	value, err := get(reader, keyOf(documentSort, name))
	if err != nil || value == nil {
		return document.Document{}, err
	}
	r := wire.NewReader(value)
	if d.Version = r.Uvarint(); d.Version == keysFollow {
		if d.Keys, err = once.ReadKept(r.Bytes()); err != nil {
			r.Fail(err)
		}
		d.Version = r.Uvarint()
	}
	copy(d.ID[:], r.Take(len(d.ID)))
	d.Body = r.Rest()
	return d, r.Err()
}

// namedDocument is a document that a batch writes, of version 0 where it deletes it.
type namedDocument struct {
	name string
	document.Document
}

// recentDocuments are the documents that were written last: a patch reads its
// document first. Only the writer adds to them, after the commit, so that none is older than the
// database. They are not copied for a read: a document does not change.
type recentDocuments struct {
	mu    sync.Mutex
	byKey *simplelru.LRU[string, document.Document]
	bytes int
}

func newRecentDocuments() *recentDocuments {
	r := &recentDocuments{}
	byKey, err := simplelru.NewLRU(headsKept, func(name string, d document.Document) { r.bytes -= recentSize(name, d) })
	if err != nil {
		panic(err) // only a size below one is refused
	}
	r.byKey = byKey
	return r
}

func recentSize(name string, d document.Document) int {
	return len(name) + len(d.Body) + 40*len(d.Keys) + 200
}

func (r *recentDocuments) find(name string) (document.Document, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byKey.Get(name)
}

func (r *recentDocuments) replace(written []namedDocument) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range written {
		r.byKey.Remove(w.name)
		if w.Version == 0 {
			continue
		}
		w.Body = bytes.Clone(w.Body)
		r.byKey.Add(w.name, w.Document)
		for r.bytes += recentSize(w.name, w.Document); r.bytes > recentBytes; {
			r.byKey.RemoveOldest()
		}
	}
}
