package admin

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

// maxIDsAtOnce limits the ids that one pass over the streams erases: they are in one control
// record of each.
const maxIDsAtOnce = 100

// ErasedAgain are the viewers of records that a store has again, by environment and extension.
type ErasedAgain struct {
	searches []*viewerSearch
	ids      int
}

// IDs returns the number of ids that the store holds.
func (a *ErasedAgain) IDs() int { return a.ids }

// recordGroup are the records of an environment of an extension.
type recordGroup struct {
	environment, extension string
	records                []erasureRecord
	found                  map[string]bool // the ids to erase: whether to drop their data, too
	other                  map[string]bool // ids that no record names
}

// FindErased finds the ids that the store holds and that records, by their keys, name by digest.
func (e *ErasureService) FindErased(ctx context.Context, records map[string]json.RawMessage) (*ErasedAgain, error) {
	groups := map[string]*recordGroup{}
	for name, body := range records {
		n, r, err := parseRecord(name, body)
		if err != nil {
			return nil, err
		}
		of := n.Siblings()
		if groups[of] == nil {
			groups[of] = &recordGroup{environment: n.Environment, extension: n.Extension, found: map[string]bool{}, other: map[string]bool{}}
		}
		groups[of].records = append(groups[of].records, r)
	}
	all := &ErasedAgain{}
	for _, of := range slices.Sorted(maps.Keys(groups)) {
		g := groups[of]
		if err := e.searchGroup(ctx, g); err != nil {
			return nil, err
		}
		all.searches, all.ids = append(all.searches, g.newSearches()...), all.ids+len(g.found)
	}
	return all, nil
}

// searchGroup compares all ids of an environment of an extension with records.
func (e *ErasureService) searchGroup(ctx context.Context, g *recordGroup) error {
	s := &viewerSearch{environment: g.environment, extension: g.extension}
	if err := e.list(ctx, s); err != nil {
		return err
	}
	for _, name := range s.streams {
		err := e.domains[key.KindOf(name)].VisitIDs(ctx, name, g.compare)
		if err != nil && !errors.Is(err, stream.ErrDamaged) { // verification reports damage
			return err
		}
	}
	for _, name := range s.documents {
		id, err := e.viewerOf(ctx, name)
		if err != nil {
			return err
		}
		if id != "" {
			g.compare(id)
		}
	}
	return nil
}

// compare notes an id that a record names.
func (g *recordGroup) compare(id string) {
	_, known := g.found[id]
	if known || g.other[id] {
		return
	}
	named, drop := false, false
	for i := range g.records {
		if g.records[i].names(id) {
			named, drop = true, drop || g.records[i].DropData
		}
	}
	if named {
		g.found[id] = drop
	} else {
		g.other[id] = true
	}
}

// newSearches returns erasures of the ids that were found, and no others.
func (g *recordGroup) newSearches() (searches []*viewerSearch) {
	for _, drop := range []bool{false, true} {
		var ids []string
		for _, id := range slices.Sorted(maps.Keys(g.found)) {
			if g.found[id] == drop {
				ids = append(ids, id)
			}
		}
		for some := range slices.Chunk(ids, maxIDsAtOnce) {
			searches = append(searches, &viewerSearch{
				environment: g.environment, extension: g.extension, given: some, ids: some, dropData: drop, repeated: true,
			})
		}
	}
	return searches
}

// EraseAgain erases viewers as [ErasureService.Erase] did before, and compacts the store: an
// earlier process may have erased them and ended before it did so.
func (e *ErasureService) EraseAgain(ctx context.Context, all *ErasedAgain) (problems []Problem, err error) {
	r := &ErasureReport{Kinds: map[string]*ErasedKind{}}
	steps := &stepCounter{report: func(int) {}}
	for _, s := range all.searches {
		if err := e.eraseFrom(ctx, r, s, steps); err != nil {
			return r.Problems, err
		}
	}
	return r.Problems, e.compact(ctx)
}
