package backup

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
)

// ErrNotEmpty marks a store that holds something which is not of the same restore.
var ErrNotEmpty = errors.New("the store is not empty")

// Target is a store that a restore can claim.
type Target interface {
	Streams(ctx context.Context, prefix string) iter.Seq2[string, error]
	Keys(ctx context.Context, prefix string) iter.Seq2[string, error]
	Get(ctx context.Context, keys ...string) ([]document.Document, error)
	Put(ctx context.Context, writes ...document.Write) error
}

// claim is the body of the document that claims a store. It stays: a restore that has ended
// is not begun again by a repetition that does not know so.
type claim struct {
	Restore string `json:"restore"` // the name of the restore
	Backup  string `json:"backup"`  // the name of the backup
}

// Claim claims an empty store for a restore, whose name the caller chooses, of a backup. It
// returns the name of the backup to restore: that of the first claim, where an earlier
// process with the same name of the restore has begun and a newer backup appeared since. The
// error is [ErrNotEmpty] where the store holds anything else.
func Claim(ctx context.Context, store Target, restore, backup string) (string, error) {
	found, err := store.Get(ctx, key.RestoreClaim)
	if err != nil {
		return "", err
	}
	if found[0].Version > 0 {
		var earlier claim
		if err := json.Unmarshal(found[0].Body, &earlier); err != nil {
			return "", fmt.Errorf("the claim of the store cannot be read: %w", err)
		}
		if earlier.Restore != restore {
			return "", fmt.Errorf("%w: %s was restored into it before", ErrNotEmpty, earlier.Backup)
		}
		return earlier.Backup, nil
	}
	if err := checkEmpty(ctx, store); err != nil {
		return "", err
	}
	body, err := json.Marshal(claim{restore, backup})
	if err != nil {
		return "", err
	}
	write := document.Write{Key: key.RestoreClaim, Body: body}
	if _, err := rand.Read(write.ID[:]); err != nil {
		return "", err
	}
	return backup, store.Put(ctx, write)
}

// checkEmpty returns [ErrNotEmpty] for a store that has a stream or a document.
func checkEmpty(ctx context.Context, store Target) error {
	for name, err := range store.Streams(ctx, "") {
		return notEmpty(name, err)
	}
	for name, err := range store.Keys(ctx, "") {
		return notEmpty(name, err)
	}
	return nil
}

func notEmpty(name string, err error) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: it has something of the kind %s", ErrNotEmpty, key.KindOf(name)) // a name may have a viewer
}
