package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/acclaim-dev/acclaim/services/internal/document"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/key"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// search looks for all ids by which one environment of an extension knows a viewer.
// Ids of production and of the sandbox are other people's: they are not mixed.
type search struct {
	environment, extension string
	streams, documents     []string
	given, ids             []string
	dropData               bool
	// unfinished are the notes of erasures of the viewer that were cut off, and that of
	// this one.
	unfinished []string
}

// followed returns the ids that were found beside the given ones.
func (s *search) followed() (found []string) {
	for _, id := range s.ids {
		if !slices.Contains(s.given, id) {
			found = append(found, id)
		}
	}
	return found
}

// mostIDs is how many ids one viewer may have. Who seems to have more is several.
const mostIDs = 16

// search finds the ids of a viewer. An entry holds the ids of the token with which it
// was sent, all of them one viewer's, so what stands beside an id in an entry is
// another of the same viewer.
func (e *eraser) search(ctx context.Context, environment tenant.Environment, extension string, viewer whom, p *progress) (*search, error) {
	s := &search{environment: string(environment), extension: extension, dropData: viewer.DropData}
	if err := e.find(ctx, s); err != nil {
		return nil, err
	}
	s.add(viewer.IDs)
	for _, id := range viewer.IDs {
		if environment == tenant.Sandbox && !viewer.only && isUser(id) {
			s.add([]string{"U" + id}) // of which the sandbox makes its opaque ids
		}
	}
	if s.given = slices.Clone(s.ids); viewer.only {
		return s, nil
	}
	for looked := 0; looked < len(s.ids); {
		unknown := s.ids[looked:]
		looked = len(s.ids)
		if err := e.follow(ctx, s, unknown, p); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// follow adds what stands beside some of the ids.
func (e *eraser) follow(ctx context.Context, s *search, ids []string, p *progress) error {
	if err := e.recall(ctx, s); err != nil {
		return err
	}
	p.of += len(s.streams)
	for _, name := range s.streams {
		kind, _, _ := strings.Cut(name, "/")
		linked, err := e.streams[kind].Linked(ctx, name, ids)
		if err != nil && !errors.Is(err, stream.ErrDamaged) { // which erasing tells of
			return err
		}
		s.add(linked)
		p.step(p.of)
	}
	return s.check()
}

func (s *search) add(ids []string) {
	for _, id := range ids {
		if !slices.Contains(s.ids, id) {
			s.ids = append(s.ids, id)
		}
	}
}

// isUser reports whether an id is a shared user id.
func isUser(id string) bool { return strings.Trim(id, "0123456789") == "" }

// check refuses what are several viewers: a viewer has one user id at most. Nothing
// that is erased comes back, so somebody has to say what is meant.
func (s *search) check() error {
	users := 0
	for _, id := range s.ids {
		if isUser(id) {
			users++
		}
	}
	if found := s.followed(); users > 1 && len(found) > 0 || len(found) > mostIDs {
		return fault.Newf(fault.Invalid, "In %s these ids stand beside one another and cannot be one viewer's: %.1000q. "+
			"Nothing was erased; say that only the given ids are meant", s.environment, s.ids)
	}
	return nil
}

// kindErasure is the first element of the keys of notes: what is erased of a viewer
// until it is done. Whoever repeats an erasure that was cut off would find no links
// where they are erased already, and leave what stands alone elsewhere.
const kindErasure = "erasure"

// note is the body of a note.
type note struct {
	IDs      []string `json:"ids"`
	DropData bool     `json:"dropData"`
}

// recall adds what notes say of the viewer.
func (e *eraser) recall(ctx context.Context, s *search) error {
	keys, err := collect(e.store.Keys(ctx, key.Join(kindErasure, s.environment, s.extension)+"/"))
	if err != nil || len(keys) == 0 {
		return err
	}
	found, err := e.store.Get(ctx, keys...)
	if err != nil {
		return err
	}
	for i, d := range found {
		var n note
		if d.Version == 0 {
			continue // it was finished just now
		}
		if err := json.Unmarshal(d.Body, &n); err != nil {
			return fmt.Errorf("the note at %s cannot be read: %w", keys[i], err)
		}
		if slices.ContainsFunc(n.IDs, func(id string) bool { return slices.Contains(s.ids, id) }) && !slices.Contains(s.unfinished, keys[i]) {
			s.add(n.IDs)
			s.dropData = s.dropData || n.DropData
			s.unfinished = append(s.unfinished, keys[i])
		}
	}
	return nil
}

// begin notes what is to be erased, if not all of it was given.
func (e *eraser) begin(ctx context.Context, s *search) error {
	if len(s.followed()) == 0 {
		return nil
	}
	body, err := json.Marshal(note{s.ids, s.dropData})
	if err != nil {
		return err
	}
	write := document.Write{Key: key.Join(kindErasure, s.environment, s.extension, rand.Text()), Body: body}
	if _, err := rand.Read(write.ID[:]); err != nil {
		return err
	}
	s.unfinished = append(s.unfinished, write.Key)
	return e.store.Put(ctx, write)
}

// end takes the notes away of what is done.
func (e *eraser) end(ctx context.Context, s *search) error {
	for _, name := range s.unfinished {
		if err := e.store.Delete(ctx, name); err != nil {
			return err
		}
	}
	return nil
}
