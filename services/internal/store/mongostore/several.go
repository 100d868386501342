package mongostore

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// markOf returns the mark of several writes, the same for each attempt at them.
func markOf(writes []document.Write) (own putMark) {
	h := sha256.New()
	for _, w := range writes {
		h.Write(w.ID[:])
		h.Write(binary.BigEndian.AppendUint64(nil, w.Expect))
		h.Write([]byte(w.Key + "\x00"))
	}
	copy(own[:], h.Sum(nil))
	return own
}

// putInTransaction makes several writes in one transaction.
func (s *Store) putInTransaction(ctx context.Context, writes []document.Write) error {
	own := markOf(writes)
	err := s.runTransaction(ctx, writes, own)
	if isWriteConflict(err) {
		return fault.Wrap(fault.Unavailable, err, "the documents are being changed")
	}
	if errors.Is(err, document.ErrConflict) {
		// The driver may have started again after a commit whose answer was lost.
		now, failure := s.readProgress(ctx, writes, own)
		switch {
		case failure != nil:
			return unconfirmedError(failure)
		case now.written == len(writes):
			err = nil
		}
	}
	if err != nil {
		return err
	}
	return s.confirmAll(ctx, writes)
}

// runTransaction runs the transaction, and again where another one was in its way.
func (s *Store) runTransaction(ctx context.Context, writes []document.Write, own putMark) error {
	session, err := s.client.StartSession()
	if err != nil {
		return unavailableError(err)
	}
	_, err = session.WithTransaction(ctx, func(ctx context.Context) (any, error) {
		for _, w := range writes {
			switch newest, err := s.versionOf(ctx, w.Key); {
			case err != nil:
				return nil, err
			case newest != w.Expect:
				return nil, document.ErrConflict
			}
			if err := s.tryInsert(ctx, w, own); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	if err == nil || errors.Is(err, document.ErrConflict) || isWriteConflict(err) {
		session.EndSession(context.WithoutCancel(ctx))
	} else {
		s.abandoned.end(session)
	}
	return err
}

// confirmAll is confirm for several writes. If one of them came too late, the
// outcome of the others is unknown.
func (s *Store) confirmAll(ctx context.Context, writes []document.Write) error {
	newest, err := s.newestVersions(ctx, s.documents, keysOf(writes))
	if err == nil {
		err = s.confirmInserted(newest, writes...)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", document.ErrIncomplete, unconfirmedError(err))
	}
	return nil
}

func keysOf(writes []document.Write) []string {
	keys := make([]string, len(writes))
	for i, w := range writes {
		keys[i] = w.Key
	}
	return keys
}

// writeProgress is the state of several writes.
type writeProgress struct {
	open    []document.Write // neither written nor overtaken yet
	written int
	// overtaken counts the writes whose version another writer made, pruned those
	// whose version no longer shows who made it.
	overtaken, pruned int
}

func (s *Store) readProgress(ctx context.Context, writes []document.Write, own putMark) (now writeProgress, err error) {
	newest, err := s.newestVersions(ctx, s.documents, keysOf(writes))
	if err != nil {
		return now, err
	}
	var ids []string
	for _, w := range writes {
		ids = append(ids, numberedKey(w.Key, w.Expect+1))
	}
	cursor, err := s.documents.Find(ctx, s.filterByID(anyOf(ids), keyField, anyOf(keysOf(writes))),
		options.Find().SetProjection(bson.D{{Key: "put", Value: 1}}))
	if err != nil {
		return now, unavailableError(err)
	}
	var records []documentRecord
	if err := cursor.All(ctx, &records); err != nil {
		return now, readFailure(err)
	}
	ours := make(map[string]bool, len(records))
	for _, r := range records {
		ours[r.ID] = own.isOn(r)
	}
	for i, w := range writes {
		switch mine, there := ours[ids[i]]; {
		case mine:
			now.written++
		case there, newest[w.Key] < int64(w.Expect):
			now.overtaken++
		case newest[w.Key] > int64(w.Expect):
			now.pruned++
		default:
			now.open = append(now.open, w)
		}
	}
	return now, nil
}

// putInSequence makes several writes one after the other, except those that an
// earlier attempt made. It starts only when none of them conflicts.
//
// The order is that of the writes: while the first is missing, all are, and a
// conflict of the first means that none will ever be made.
func (s *Store) putInSequence(ctx context.Context, writes []document.Write) error {
	own := markOf(writes)
	now, err := s.readProgress(ctx, writes, own)
	switch {
	case err != nil:
		return err
	case now.pruned > 0:
		return fmt.Errorf("%w: it is too late to tell", document.ErrIncomplete)
	case now.overtaken > 0 && now.written == 0:
		return document.ErrConflict
	case now.overtaken > 0:
		return fmt.Errorf("%w: %d of %d", document.ErrPartial, now.written, len(writes))
	}
	for _, w := range now.open {
		err := s.insertVersion(ctx, w, own)
		switch {
		case err != nil && now.written == 0 && (errors.Is(err, document.ErrConflict) || neverSent(err)):
			return err
		case err != nil:
			return fmt.Errorf("%w: %d of %d are there: %w", document.ErrIncomplete, now.written, len(writes), withoutKind(err))
		}
		now.written++
	}
	return s.confirmAll(ctx, writes)
}
