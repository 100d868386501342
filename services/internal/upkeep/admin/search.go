package admin

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// maxFollowedIDs is the most ids that a search may add to the given ones. More means
// that it matched several viewers.
const maxFollowedIDs = 16

// viewerSearch finds all ids of a viewer in one environment of an extension. Production and
// sandbox ids identify different people and are never mixed.
type viewerSearch struct {
	environment, extension string
	streams, documents     []string
	given, ids             []string
	dropData               bool
	// intents are the keys of the intent records of this erasure and of unfinished
	// erasures of the same viewer.
	intents []string
	// at is the time of the erasure. repeated is set where its record exists.
	at       time.Time
	repeated bool
}

// searchIDs finds the ids of a viewer. An entry holds the ids of the token with which
// it was sent, and a token is one viewer's: ids in the same entry are the same
// viewer's.
func (e *ErasureService) searchIDs(ctx context.Context, environment tenant.Environment, extension string, target Target, steps *stepCounter) (*viewerSearch, error) {
	s := &viewerSearch{environment: string(environment), extension: extension, dropData: target.DropData, at: target.At}
	if err := e.list(ctx, s); err != nil {
		return nil, err
	}
	s.add(target.IDs)
	for _, id := range target.IDs {
		if environment == tenant.Sandbox && !target.Only && isUserID(id) {
			s.add([]string{"U" + id}) // the sandbox makes opaque ids from user ids
		}
	}
	if s.given = slices.Clone(s.ids); target.Only {
		return s, nil
	}
	for searched := 0; searched < len(s.ids); {
		added := s.ids[searched:]
		searched = len(s.ids)
		if err := e.addRelated(ctx, s, added, steps); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// addRelated adds the ids that share an entry, or an intent record, with one of ids.
func (e *ErasureService) addRelated(ctx context.Context, s *viewerSearch, ids []string, steps *stepCounter) error {
	if err := e.loadIntents(ctx, s); err != nil {
		return err
	}
	steps.expect(len(s.streams))
	for _, name := range s.streams {
		related, err := e.domains[key.KindOf(name)].RelatedIDs(ctx, name, ids)
		if err != nil && !errors.Is(err, stream.ErrDamaged) { // erasing reports damage
			return err
		}
		s.add(related)
		steps.step()
	}
	return s.check()
}

func (s *viewerSearch) add(ids []string) {
	for _, id := range ids {
		if !slices.Contains(s.ids, id) {
			s.ids = append(s.ids, id)
		}
	}
}

// followed returns the ids that the search has added to the given ones.
func (s *viewerSearch) followed() (found []string) {
	for _, id := range s.ids {
		if !slices.Contains(s.given, id) {
			found = append(found, id)
		}
	}
	return found
}

// check returns an error if the ids found belong to several viewers: a viewer has at
// most one user id. Erasing cannot be undone, so the caller has to decide.
func (s *viewerSearch) check() error {
	users := 0
	for _, id := range s.ids {
		if isUserID(id) {
			users++
		}
	}
	if found := s.followed(); users > 1 && len(found) > 0 || len(found) > maxFollowedIDs {
		return fault.Newf(fault.Invalid, "In %s these ids share entries but cannot belong to one viewer: %.1000q. "+
			"Nothing was erased. To erase the given ids and no others, say only", s.environment, s.ids)
	}
	return nil
}

// isUserID reports whether an id is a shared user id.
func isUserID(id string) bool { return strings.Trim(id, "0123456789") == "" }
