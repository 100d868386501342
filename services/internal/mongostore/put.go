package mongostore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/acclaim-dev/acclaim/services/internal/document"
)

// mark tells the records of one Put from those of others, so that a Put whose
// insert is refused knows whether that is because it was made already: by itself,
// where a driver or a server repeated it, or, of several writes, by the attempt
// before.
type mark [16]byte

// Put implements [document.Store]. Several writes are one transaction where the
// server has transactions. Elsewhere they are made one after the other: all or
// none as far as this process is concerned, but if another writes one of the
// documents at the same time some may be written and others not, for good.
func (s *Store) Put(ctx context.Context, writes ...document.Write) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(writes) == 1 {
		s.several.RLock()
		defer s.several.RUnlock()
		return s.put(ctx, writes[0])
	}
	if s.transactions {
		return s.transact(ctx, writes)
	}
	s.several.Lock()
	defer s.several.Unlock()
	return s.sequence(ctx, writes)
}

// put makes one write: the insert of the version after the expected one.
//
// That insert alone would be wrong in two cases. The expected version may not
// exist yet: so it is looked for. And the one after it may have existed and been
// pruned, for a writer that slept between reading and writing: so afterwards the
// newest version is looked at. Of the newest keepVersions none is ever pruned, so
// if the written one is among them it was not there before.
func (s *Store) put(ctx context.Context, w document.Write) error {
	if w.Expect > 0 {
		switch found, err := s.has(ctx, w.Key, w.Expect); {
		case err != nil:
			return err
		case !found:
			return document.ErrConflict
		}
	}
	var own mark
	rand.Read(own[:])
	if err := s.insert(ctx, w, own); err != nil {
		return err
	}
	newest, err := s.versionOf(ctx, w.Key)
	if err != nil {
		return unconfirmed(err)
	}
	return s.confirm(map[string]int64{w.Key: int64(newest)}, w)
}

// confirm makes sure that the versions that were inserted were not there before.
func (s *Store) confirm(newest map[string]int64, writes ...document.Write) error {
	for _, w := range writes {
		if v := newest[w.Key]; v >= int64(w.Expect)+1+keepVersions {
			return fmt.Errorf("version %d of %s was written while version %d was there", w.Expect+1, w.Key, v)
		}
	}
	s.pruneDue(newest)
	return nil
}

func unconfirmed(err error) error { return fmt.Errorf("the write was not confirmed: %w", unknown(err)) }

// unknown keeps the kind of an error from saying that nothing was stored.
func unknown(err error) error { return errors.New(err.Error()) }

func (s *Store) has(ctx context.Context, key string, version uint64) (bool, error) {
	var r documentRecord
	return s.one(ctx, s.documents, bson.D{{Key: "_id", Value: numbered(key, version)}}, &r,
		options.FindOne().SetProjection(bson.D{{Key: "_id", Value: 1}}))
}

func (s *Store) versionOf(ctx context.Context, key string) (uint64, error) {
	var r documentRecord
	_, err := s.one(ctx, s.documents, bson.D{{Key: "key", Value: key}}, &r,
		options.FindOne().SetSort(newestFirst()).SetProjection(bson.D{{Key: "version", Value: 1}}))
	return uint64(r.Version), err
}

// insert makes sure that what a write makes is there, marked as that of one Put,
// or answers ErrConflict.
func (s *Store) insert(ctx context.Context, w document.Write, own mark) error {
	err := s.tryInsert(ctx, w, own)
	if !errors.Is(err, document.ErrConflict) {
		return err
	}
	var r documentRecord
	switch found, err := s.one(ctx, s.documents, bson.D{{Key: "_id", Value: numbered(w.Key, w.Expect+1)}}, &r,
		options.FindOne().SetProjection(bson.D{{Key: "put", Value: 1}})); {
	case err != nil:
		return unconfirmed(err)
	case !found:
		return fmt.Errorf("version %d of %s came and went", w.Expect+1, w.Key)
	case own.is(r):
		return nil
	}
	return document.ErrConflict
}

func (m mark) is(r documentRecord) bool { return string(m[:]) == string(r.Put) }

func (s *Store) tryInsert(ctx context.Context, w document.Write, own mark) error {
	_, err := s.documents.InsertOne(ctx, documentRecord{
		ID:      numbered(w.Key, w.Expect+1),
		Key:     w.Key,
		Version: int64(w.Expect + 1),
		Write:   w.ID[:],
		Put:     own[:],
		Body:    w.Body,
	})
	if mongo.IsDuplicateKeyError(err) {
		return document.ErrConflict
	}
	return written(err)
}
