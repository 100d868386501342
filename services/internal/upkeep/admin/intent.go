package admin

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
)

// erasureIntent is the body of an intent record, which holds the ids of an erasure until the
// erasure is finished. Without it, repeating an interrupted erasure would miss ids: the
// entries that relate them may be erased already.
type erasureIntent struct {
	IDs      []string `json:"ids"`
	DropData bool     `json:"dropData"`
}

// loadIntents adds the ids of unfinished erasures of the same viewer.
func (e *ErasureService) loadIntents(ctx context.Context, s *viewerSearch) error {
	keys, err := collectNames(e.store.Keys(ctx, key.Prefix(key.Erasure, s.environment, s.extension)))
	if err != nil || len(keys) == 0 {
		return err
	}
	documents, err := e.store.Get(ctx, keys...)
	if err != nil {
		return err
	}
	for i, d := range documents {
		var n erasureIntent
		if d.Version == 0 {
			continue // its erasure has just finished
		}
		if err := json.Unmarshal(d.Body, &n); err != nil {
			return fmt.Errorf("the intent record at %s cannot be read: %w", keys[i], err)
		}
		sameViewer := slices.ContainsFunc(n.IDs, func(id string) bool { return slices.Contains(s.ids, id) })
		if sameViewer && !slices.Contains(s.intents, keys[i]) {
			s.add(n.IDs)
			s.dropData = s.dropData || n.DropData
			s.intents = append(s.intents, keys[i])
		}
	}
	return nil
}

// storeIntent stores an intent record if the search has found ids that were not given.
func (e *ErasureService) storeIntent(ctx context.Context, s *viewerSearch) error {
	if len(s.followed()) == 0 {
		return nil
	}
	body, err := json.Marshal(erasureIntent{s.ids, s.dropData})
	if err != nil {
		return err
	}
	write := document.Write{Key: key.Name{Kind: key.Erasure, Environment: s.environment, Extension: s.extension, ID: rand.Text()}.String(), Body: body}
	if _, err := rand.Read(write.ID[:]); err != nil {
		return err
	}
	s.intents = append(s.intents, write.Key)
	return e.store.Put(ctx, write)
}

// deleteIntents deletes the intent records of a finished erasure.
func (e *ErasureService) deleteIntents(ctx context.Context, s *viewerSearch) error {
	for _, name := range s.intents {
		if err := e.store.Delete(ctx, name); err != nil {
			return err
		}
	}
	return nil
}
