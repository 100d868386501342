package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/acclaim-dev/acclaim/services/internal/process/app"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/admin"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/backup"
)

// applyErasures erases from restored extensions the viewers that were erased after the backup,
// and keeps all records for the next backup. A record comes into the store after its viewer has
// gone from it.
func applyErasures(ctx context.Context, b *backup.Backup, store app.Store, erasures *backup.Erasures, extensions []string, out io.Writer) ([]admin.Problem, error) {
	environments, err := chooseEnvironments("")
	if err != nil {
		return nil, err
	}
	if err := erasures.Add(ctx, store, environments); err != nil || len(erasures.Known) == 0 {
		return nil, err
	}
	pending, err := admin.RecordsOf(erasures.Pending(), extensions)
	if err != nil {
		return nil, err
	}
	service := admin.NewErasureService(store, app.Domains(store), store)
	found, err := service.FindErased(ctx, pending)
	if err != nil {
		return nil, err
	}
	problems, err := eraseFound(ctx, b, store, service, found, extensions)
	if err != nil {
		return nil, fmt.Errorf("apply the erasures since %s: %w", b.Name, err)
	}
	if err := service.KeepRecords(ctx, erasures.Known); err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(out, "erasures since %s: applied: %d, ids erased again: %d\n", b.Name, len(pending), found.IDs())
	return problems, err
}

// eraseFound erases ids again. Where an earlier process has begun to, it may have ended before
// it compacted the store.
func eraseFound(ctx context.Context, b *backup.Backup, store app.Store, service *admin.ErasureService, found *admin.ErasedAgain, extensions []string) ([]admin.Problem, error) {
	begun := false
	for _, extension := range extensions {
		noted, err := b.IsImported(ctx, store, extension)
		if err == nil && !noted && found.IDs() > 0 {
			err = b.NoteImported(ctx, store, extension)
		}
		if err != nil {
			return nil, err
		}
		begun = begun || noted
	}
	if !begun && found.IDs() == 0 {
		return nil, nil
	}
	return service.EraseAgain(ctx, found)
}
