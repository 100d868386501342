package backup

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
)

// imported is the body of the document that names the backup from which an extension was
// imported, before viewers are erased from it: then the store differs from the backup, and a
// repetition of the restore could not import it.
type imported struct {
	Backup string `json:"backup"`
}

func importedKey(extension string) string { return key.RestoreImported + "/" + key.Join(extension) }

// IsImported reports whether a restore of the backup has imported an extension and has begun to
// erase viewers from it.
func (b *Backup) IsImported(ctx context.Context, store Target, extension string) (bool, error) {
	found, err := store.Get(ctx, importedKey(extension))
	if err != nil || found[0].Version == 0 {
		return false, err
	}
	var of imported
	if err := json.Unmarshal(found[0].Body, &of); err != nil {
		return false, fmt.Errorf("the document that names the restored backup cannot be read: %w", err)
	}
	return of.Backup == b.Name, nil
}

// NoteImported notes that the backup's data of an extension is in a store.
func (b *Backup) NoteImported(ctx context.Context, store Target, extension string) error {
	found, err := store.Get(ctx, importedKey(extension))
	if err != nil {
		return err
	}
	body, err := json.Marshal(imported{b.Name})
	if err != nil {
		return err
	}
	write := document.Write{Key: importedKey(extension), Expect: found[0].Version, Body: body}
	if _, err := rand.Read(write.ID[:]); err != nil {
		return err
	}
	return store.Put(ctx, write)
}
