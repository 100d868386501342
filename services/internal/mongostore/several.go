package mongostore

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/acclaim-dev/acclaim/services/internal/document"
)

// markOf returns the mark of several writes, the same for each attempt at them.
func markOf(writes []document.Write) (own mark) {
	h := sha256.New()
	for _, w := range writes {
		h.Write(w.ID[:])
		h.Write(binary.BigEndian.AppendUint64(nil, w.Expect))
		h.Write([]byte(w.Key + "\x00"))
	}
	copy(own[:], h.Sum(nil))
	return own
}

// transact makes several writes in one transaction.
func (s *Store) transact(ctx context.Context, writes []document.Write) error {
	own := markOf(writes)
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
			if err := s.tryInsert(ctx, w, own); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	if errors.Is(err, document.ErrConflict) {
		// The driver may have begun again after a commit of which it heard nothing.
		now, failure := s.standing(ctx, writes, own)
		switch {
		case failure != nil:
			return unconfirmed(failure)
		case now.written == len(writes):
			err = nil
		}
	}
	if err != nil {
		return err
	}
	return s.confirmAll(ctx, writes)
}

// confirmAll is confirm for several writes. If one of them came too late that
// does not say what became of the others.
func (s *Store) confirmAll(ctx context.Context, writes []document.Write) error {
	newest, err := s.versions(ctx, keysOf(writes))
	if err == nil {
		err = s.confirm(newest, writes...)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", document.ErrIncomplete, unconfirmed(err))
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

// standing is how far several writes have come.
type standing struct {
	open    []document.Write // neither written nor overtaken yet
	written int
	// overtaken counts those whose version another writer made. Of those in pruned
	// that can no longer be told.
	overtaken, pruned int
}

func (s *Store) standing(ctx context.Context, writes []document.Write, own mark) (now standing, err error) {
	newest, err := s.versions(ctx, keysOf(writes))
	if err != nil {
		return now, err
	}
	var ids []string
	for _, w := range writes {
		ids = append(ids, numbered(w.Key, w.Expect+1))
	}
	cursor, err := s.documents.Find(ctx, bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: ids}}}},
		options.Find().SetProjection(bson.D{{Key: "put", Value: 1}}))
	if err != nil {
		return now, unavailable(err)
	}
	var records []documentRecord
	if err := cursor.All(ctx, &records); err != nil {
		return now, readFailure(err)
	}
	ours := make(map[string]bool, len(records))
	for _, r := range records {
		ours[r.ID] = own.is(r)
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

// sequence makes several writes one after the other, those that an earlier
// attempt has not made yet. It begins only when none of them is in conflict.
//
// The order is that of the writes: while the first is not there, nothing of them
// is, and a conflict of the first means that nothing ever will be.
func (s *Store) sequence(ctx context.Context, writes []document.Write) error {
	own := markOf(writes)
	now, err := s.standing(ctx, writes, own)
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
		err := s.insert(ctx, w, own)
		switch {
		case err != nil && now.written == 0 && (errors.Is(err, document.ErrConflict) || neverSent(err)):
			return err
		case err != nil:
			return fmt.Errorf("%w: %d of %d are there: %w", document.ErrIncomplete, now.written, len(writes), unknown(err))
		}
		now.written++
	}
	return s.confirmAll(ctx, writes)
}
