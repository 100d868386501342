// Package roster is the domain of the viewers that share their user id with an extension:
// who they are, in the order in which the extension first saw them.
//
// The viewers of an extension are one stream, whose entries say that a viewer was seen, or
// has stopped to share the id. Nothing else of a viewer is kept.
//
// The package may not know HTTP or a database, has no clock of its own and imports no other
// domain.
package roster

import (
	"context"
	"fmt"

	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/engine/rewrite"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

// Kind is the first element of the names of rosters' streams; the environment is the second.
const Kind = key.Roster

// Roster names the viewers of an extension.
type Roster struct{ Environment, Extension string }

// OnlyID is the id of each roster: an extension has one.
const OnlyID = "users"

// Stream returns the name of the roster's stream as it is stored.
func (r Roster) Stream() string {
	return key.Name{Kind: Kind, Environment: r.Environment, Extension: r.Extension, ID: OnlyID}.String()
}

// ParseStream returns the roster whose stream has a name.
func ParseStream(stored string) (Roster, error) {
	name, err := key.Parse(stored)
	if err != nil {
		return Roster{}, err
	}
	r := Roster{name.Environment, name.Extension}
	if r.Stream() != stored {
		return Roster{}, fmt.Errorf("%s is not the name of a roster", stored)
	}
	return r, nil
}

// Page is a part of a roster.
type Page struct {
	UserIDs []string
	// Next is the place from which the next page begins, 0 where there is none.
	Next uint64
}

// Service answers for the rosters of a store.
type Service struct {
	rewrite.Service
	engine *stream.Engine[*viewerList, rosterCommand, rosterEntry, Page]
}

// NewService returns a service over store. Close ends it.
func NewService(store stream.Store, clock stream.Clock, options stream.Options) *Service {
	options.AllowEqualTimestamps = true // only the order matters
	engine := stream.New(rosterRules{}, store, clock, options)
	return &Service{rewrite.Service{Runner: engine, Rewriter: rewrite.New(engine, engine, store)}, engine}
}

// Note records that a viewer shares the user id or, if not shared, does not any more. It is
// cheap where that is known.
func (s *Service) Note(ctx context.Context, r Roster, userID string, shared bool) error {
	if !isUserID(userID) {
		return nil
	}
	_, err := s.engine.Do(ctx, r.Stream(), rosterCommand{rosterEntry: rosterEntry{gone: !shared, id: userID}})
	return err
}

// List returns the viewers from a place on, which is 0 for the beginning or a Next. A viewer
// is on one page only, as long as it stays.
func (s *Service) List(ctx context.Context, r Roster, from uint64) (Page, error) {
	return s.engine.View(ctx, r.Stream(), rosterCommand{query: true, from: from})
}

// isUserID reports whether an id is one of the platform's. The id of a viewer who was erased
// is none.
func isUserID(id string) bool {
	for i := range len(id) {
		if id[i] < '0' || id[i] > '9' {
			return false
		}
	}
	return id != ""
}
