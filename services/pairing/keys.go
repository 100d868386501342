package pairing

import (
	"context"
	"slices"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// revocable is a key that a channel lists by its id until it is revoked or over.
type revocable interface {
	identity() string
	isOver(now time.Time) bool
}

// keyRecord is the document of the keys of one kind of a channel.
type keyRecord[K revocable] struct {
	Keys []K `json:"keys,omitempty"` // the oldest first
}

// addKey puts a key in force, unless mayAdd refuses it beside those that are held.
func addKey[K revocable](ctx context.Context, s *Service, name string, k K, now time.Time, mayAdd func(held []K) error) error {
	return edit(ctx, s, name, func(r *keyRecord[K]) error {
		r.Keys = slices.DeleteFunc(r.Keys, func(k K) bool { return k.isOver(now) })
		if err := mayAdd(r.Keys); err != nil {
			return err
		}
		r.Keys = append(r.Keys, k)
		return nil
	})
}

// listKeys returns the keys in force, the oldest first.
func listKeys[K revocable](ctx context.Context, s *Service, name string, now time.Time) ([]K, error) {
	record, err := document.ReadRecord[keyRecord[K]](ctx, s.documents, name)
	return slices.DeleteFunc(record.Keys, func(k K) bool { return k.isOver(now) }), err
}

// revokeKey ends a key. One that does not exist is fault.NotFound for the given reason.
func revokeKey[K revocable](ctx context.Context, s *Service, name, id, missing string) error {
	return edit(ctx, s, name, func(r *keyRecord[K]) error {
		at := slices.IndexFunc(r.Keys, func(k K) bool { return k.identity() == id })
		if at < 0 {
			return fault.New(fault.NotFound, missing)
		}
		r.Keys = slices.Delete(r.Keys, at, at+1)
		return nil
	})
}

// resolveKey returns a key that is in force. Any other is fault.Unauthenticated for the given reason.
func resolveKey[K revocable](ctx context.Context, s *Service, name, id string, now time.Time, ended string) (k K, err error) {
	keys, err := listKeys[K](ctx, s, name, now)
	if err != nil {
		return k, err
	}
	at := slices.IndexFunc(keys, func(k K) bool { return k.identity() == id })
	if at < 0 {
		return k, fault.New(fault.Unauthenticated, ended)
	}
	return keys[at], nil
}
