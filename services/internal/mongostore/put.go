package mongostore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/acclaim-dev/acclaim/services/internal/document"
)

// Put implements [document.Store]. Several writes are one transaction where the
// server has transactions. Elsewhere they are made one after the other: all or
// none as far as this process is concerned, but if another writes one of the
// documents at the same time an error may leave some written and others not.
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
	if err := s.insert(ctx, w); err != nil {
		return err
	}
	return s.confirm(ctx, w)
}

// confirm makes sure that a version that was inserted was not there before.
func (s *Store) confirm(ctx context.Context, w document.Write) error {
	newest, err := s.versionOf(ctx, w.Key)
	switch {
	case err != nil:
		return fmt.Errorf("the write was not confirmed: %w", unknown(err))
	case newest >= w.Expect+1+keepVersions:
		return fmt.Errorf("version %d of %s was written while version %d was there", w.Expect+1, w.Key, newest)
	}
	if newest%pruneEvery == 0 {
		s.pruning.start(func(ctx context.Context) { s.prune(ctx, w.Key, newest) })
	}
	return nil
}

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

// insert inserts what a write makes, or answers ErrConflict.
func (s *Store) insert(ctx context.Context, w document.Write) error {
	_, err := s.documents.InsertOne(ctx, documentRecord{
		ID:      numbered(w.Key, w.Expect+1),
		Key:     w.Key,
		Version: int64(w.Expect + 1),
		Write:   w.ID[:],
		Body:    w.Body,
	})
	if mongo.IsDuplicateKeyError(err) {
		return document.ErrConflict
	}
	return written(err)
}

// transact makes several writes in one transaction.
func (s *Store) transact(ctx context.Context, writes []document.Write) error {
	session, err := s.client.StartSession()
	if err != nil {
		return unavailable(err)
	}
	defer session.EndSession(context.WithoutCancel(ctx))
	_, err = session.WithTransaction(ctx, func(ctx context.Context) (any, error) {
		for _, w := range writes {
			switch newest, err := s.versionOf(ctx, w.Key); {
			case err != nil:
				return nil, err
			case newest != w.Expect:
				return nil, document.ErrConflict
			}
			if err := s.insert(ctx, w); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	return err
}

// sequence makes several writes one after the other. It begins only when none
// of them is in conflict.
func (s *Store) sequence(ctx context.Context, writes []document.Write) error {
	keys := make([]string, len(writes))
	for i, w := range writes {
		keys[i] = w.Key
	}
	versions, err := s.versions(ctx, keys)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(writes, func(w document.Write) bool { return versions[w.Key] != int64(w.Expect) }) {
		return document.ErrConflict
	}
	for i, w := range writes {
		switch err := s.insert(ctx, w); {
		case err != nil && i == 0:
			return err
		case err != nil:
			return fmt.Errorf("%d of %d documents were written: %w", i, len(writes), unknown(err))
		}
	}
	return nil
}

// Old versions of a document are kept until there are pruneEvery more than
// keepVersions.
const (
	keepVersions = 32
	pruneEvery   = 16
)

// prune deletes the versions of a document that are too old to matter, one by
// one. What is left by a failure goes with the next.
func (s *Store) prune(ctx context.Context, key string, newest uint64) {
	if newest < keepVersions {
		return
	}
	cursor, err := s.documents.Find(ctx, bson.D{
		{Key: "key", Value: key},
		{Key: "version", Value: bson.D{{Key: "$lte", Value: int64(newest - keepVersions)}}},
	}, options.Find().SetProjection(bson.D{{Key: "_id", Value: 1}}))
	if err != nil {
		return
	}
	var records []documentRecord
	if cursor.All(ctx, &records) != nil {
		return
	}
	for _, r := range records {
		if _, err := s.documents.DeleteOne(ctx, bson.D{{Key: "_id", Value: r.ID}}); err != nil {
			return
		}
	}
}

// Delete implements [document.Store]: it deletes versions, the newest last, until
// there are none, those included that somebody writes meanwhile on top of another. A
// writer that slept since before the first of them was deleted can still leave one.
func (s *Store) Delete(ctx context.Context, key string) error {
	for {
		cursor, err := s.documents.Find(ctx, bson.D{{Key: "key", Value: key}},
			options.Find().SetSort(bson.D{{Key: "version", Value: 1}}).SetProjection(bson.D{{Key: "_id", Value: 1}}))
		if err != nil {
			return unavailable(err)
		}
		var records []documentRecord
		if err := cursor.All(ctx, &records); err != nil {
			return readFailure(err)
		}
		if len(records) == 0 {
			return nil
		}
		for _, r := range records {
			if _, err := s.documents.DeleteOne(ctx, bson.D{{Key: "_id", Value: r.ID}}); err != nil {
				return written(err)
			}
		}
	}
}
