package mongostore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
)

// putMark identifies the records of one Put, so that a Put whose insert is refused
// can tell whether it made the record itself: in a retry by the driver or the
// server, or in an earlier attempt at several writes.
type putMark [16]byte

// Put implements [document.Store]. Several writes are one transaction where the
// server has transactions. Elsewhere they are made one after the other: all or none
// within this process, but if another process writes one of the documents at the
// same time, some may be written and others not, permanently.
func (s *Store) Put(ctx context.Context, writes ...document.Write) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(writes) == 1 {
		s.several.RLock()
		defer s.several.RUnlock()
		return s.putOne(ctx, writes[0])
	}
	if s.transactions {
		return s.putInTransaction(ctx, writes)
	}
	s.several.Lock()
	defer s.several.Unlock()
	return s.putInSequence(ctx, writes)
}

// putOne makes one write: the insert of the version after the expected one.
//
// That insert alone would be wrong in two cases. The expected version may not
// exist: putOne reads it first. And the version after it may have existed and been
// pruned while the writer stalled: putOne reads the newest version afterwards. The
// newest keepVersions are never pruned, so a written version among them did not
// exist before.
func (s *Store) putOne(ctx context.Context, w document.Write) error {
	if w.Expect > 0 {
		switch found, err := s.hasVersion(ctx, w.Key, w.Expect); {
		case err != nil:
			return err
		case !found:
			return document.ErrConflict
		}
	}
	var own putMark
	rand.Read(own[:])
	if err := s.insertVersion(ctx, w, own); err != nil {
		return err
	}
	newest, err := s.versionOf(ctx, w.Key)
	if err != nil {
		return unconfirmedError(err)
	}
	return s.confirmInserted(map[string]int64{w.Key: int64(newest)}, w)
}

// confirmInserted checks that the inserted versions did not exist before.
func (s *Store) confirmInserted(newest map[string]int64, writes ...document.Write) error {
	for _, w := range writes {
		if v := newest[w.Key]; v >= int64(w.Expect)+1+keepVersions {
			return fmt.Errorf("version %d of %s was written while version %d was there", w.Expect+1, w.Key, v)
		}
	}
	s.pruneDue(newest)
	return nil
}

func unconfirmedError(err error) error {
	return fmt.Errorf("the write was not confirmed: %w", withoutKind(err))
}

// withoutKind removes the kind of an error, which could claim that nothing was
// stored.
func withoutKind(err error) error { return errors.New(err.Error()) }

func (s *Store) hasVersion(ctx context.Context, key string, version uint64) (bool, error) {
	var r documentRecord
	return s.readOne(ctx, s.documents, s.versionFilter(key, version), &r, options.FindOne().SetProjection(onlyID()))
}

func (s *Store) versionOf(ctx context.Context, key string) (uint64, error) {
	var r documentRecord
	_, err := s.readOne(ctx, s.documents, bson.D{{Key: "key", Value: key}}, &r,
		options.FindOne().SetSort(newestFirst()).SetProjection(onlyField("version")))
	return uint64(r.Version), err
}

// insertVersion stores the version that a write makes, with the mark of its Put, or
// returns ErrConflict.
func (s *Store) insertVersion(ctx context.Context, w document.Write, own putMark) error {
	err := s.tryInsert(ctx, w, own)
	if !errors.Is(err, document.ErrConflict) {
		return err
	}
	var r documentRecord
	switch found, err := s.readOne(ctx, s.documents, s.versionFilter(w.Key, w.Expect+1), &r,
		options.FindOne().SetProjection(bson.D{{Key: "put", Value: 1}})); {
	case err != nil:
		return unconfirmedError(err)
	case !found:
		return fmt.Errorf("version %d of %s came and went", w.Expect+1, w.Key)
	case own.isOn(r):
		return nil
	}
	return document.ErrConflict
}

func (m putMark) isOn(r documentRecord) bool { return string(m[:]) == string(r.Put) }

func (s *Store) tryInsert(ctx context.Context, w document.Write, own putMark) error {
	_, err := s.documents.InsertOne(ctx, documentRecord{
		ID:      numberedKey(w.Key, w.Expect+1),
		Key:     w.Key,
		Version: int64(w.Expect + 1),
		Write:   w.ID[:],
		Put:     own[:],
		Body:    w.Body,
		Keys:    once.AppendKept(nil, w.Keys),
	})
	if mongo.IsDuplicateKeyError(err) {
		return document.ErrConflict
	}
	return writeError(err)
}

// Delete implements [document.Store]: it deletes all versions, oldest first, and
// repeats until none is left, so it also deletes versions written concurrently. A
// writer that stalls from before the first deletion until after the last can still
// leave one.
func (s *Store) Delete(ctx context.Context, key string) error {
	for {
		cursor, err := s.documents.Find(ctx, bson.D{{Key: "key", Value: key}},
			options.Find().SetSort(bson.D{{Key: "version", Value: 1}}).SetProjection(onlyField("version")))
		if err != nil {
			return unavailableError(err)
		}
		var records []documentRecord
		if err := cursor.All(ctx, &records); err != nil {
			return readFailure(err)
		}
		if len(records) == 0 {
			return nil
		}
		for _, r := range records {
			if _, err := s.documents.DeleteOne(ctx, s.versionFilter(key, uint64(r.Version))); err != nil {
				return writeError(err)
			}
		}
	}
}
