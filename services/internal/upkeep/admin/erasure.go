package admin

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/engine/rewrite"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/purchase"
	"github.com/acclaim-dev/acclaim/services/state"
)

// ErasureService erases viewers from everything in a store.
type ErasureService struct {
	store     Store
	domains   Domains
	documents DocumentDeleter
}

// DocumentDeleter deletes documents: a store, or the service that owns them.
type DocumentDeleter interface {
	Delete(ctx context.Context, key string) error
}

// NewErasureService returns a service over a store. Domains and documents that this
// process serves must be given as such, so that they drop the viewer from memory, too.
func NewErasureService(store Store, domains Domains, documents DocumentDeleter) *ErasureService {
	return &ErasureService{store, domains, documents}
}

// Target is the viewer to erase.
type Target struct {
	rewrite.Viewer
	// Only erases the given ids and does not search for other ids of the viewer.
	Only bool
	// At is the time that the record of the erasure names.
	At time.Time
}

// ErasureReport lists what an erasure has changed.
type ErasureReport struct {
	Kinds map[string]*ErasedKind `json:"kinds"` // poll, buffer, rank, message, roster, document
	// Followed are ids that were not given and were found to belong to the viewer. They
	// are erased, too.
	Followed []string `json:"followed"`
	// Linked are other ids in the entries of the viewer. They are not erased.
	Linked   []string  `json:"linked"`
	Problems []Problem `json:"problems"`
}

// ErasedKind counts what an erasure has changed in streams or documents of one kind.
type ErasedKind struct {
	Searched int    `json:"searched"` // streams or documents
	Found    int    `json:"found"`    // those that held something of the viewer
	Chunks   uint64 `json:"chunks"`
	Entries  uint64 `json:"entries"`
}

// Erase erases a viewer from what an extension has in both environments. It calls
// progress after each step with the number of steps known so far. A damaged stream is
// reported as a problem, and erasing continues with the others. Erase is idempotent:
// repeated after a failure, it finishes.
func (e *ErasureService) Erase(ctx context.Context, extension string, target Target, progress func(steps int)) (*ErasureReport, error) {
	r := &ErasureReport{Kinds: map[string]*ErasedKind{}, Followed: []string{}, Linked: []string{}, Problems: []Problem{}}
	steps := &stepCounter{report: progress}
	var searches []*viewerSearch
	for _, environment := range []tenant.Environment{tenant.Production, tenant.Sandbox} {
		s, err := e.searchIDs(ctx, environment, extension, target, steps)
		if err != nil {
			return r, err
		}
		searches = append(searches, s)
	}
	// Nothing is erased before the ids of both environments are known to be one viewer's.
	for _, s := range searches {
		if err := e.eraseFrom(ctx, r, s, steps); err != nil {
			return r, err
		}
	}
	for _, ids := range []*[]string{&r.Followed, &r.Linked} {
		slices.Sort(*ids)
		*ids = slices.Compact(*ids)
	}
	return r, e.compact(ctx)
}

// Compactor is a store that keeps replaced and deleted data until it is compacted.
type Compactor interface {
	Compact(ctx context.Context, prefixes ...string) error
}

// compact removes from the disk what the store keeps of the replaced data. A database
// does that itself.
func (e *ErasureService) compact(ctx context.Context) error {
	if store, ok := e.store.(Compactor); ok {
		return store.Compact(ctx)
	}
	return nil
}

// eraseFrom erases a viewer from one environment.
func (e *ErasureService) eraseFrom(ctx context.Context, r *ErasureReport, s *viewerSearch, steps *stepCounter) error {
	err := e.storeIntent(ctx, s)
	if err == nil {
		err = e.list(ctx, s) // again: there may be more by now
	}
	if err != nil {
		return err
	}
	steps.expect(len(s.streams) + len(s.documents))
	viewer := rewrite.Viewer{IDs: s.ids, DropData: s.dropData}
	for _, name := range s.streams {
		if err := e.eraseStream(ctx, r, name, viewer); err != nil {
			return err
		}
		steps.step()
	}
	for _, name := range s.documents {
		if err := e.eraseDocument(ctx, r, name, viewer); err != nil {
			return err
		}
		steps.step()
	}
	r.Followed = append(r.Followed, s.followed()...)
	if err := e.storeRecord(ctx, s); err != nil { // before the intents go: a repetition finds all ids
		return err
	}
	if len(r.Problems) > 0 {
		return nil // the intent record stays for a repetition
	}
	return e.deleteIntents(ctx, s)
}

// searched counts a stream or document and returns the figures of its kind.
func (r *ErasureReport) searched(name string) *ErasedKind {
	kind := key.KindOf(name)
	if r.Kinds[kind] == nil {
		r.Kinds[kind] = &ErasedKind{}
	}
	r.Kinds[kind].Searched++
	return r.Kinds[kind]
}

func (e *ErasureService) eraseStream(ctx context.Context, r *ErasureReport, name string, viewer rewrite.Viewer) error {
	figures := r.searched(name)
	done, err := e.domains[key.KindOf(name)].Erase(ctx, name, viewer)
	if errors.Is(err, stream.ErrDamaged) {
		r.Problems = append(r.Problems, Problem{readableName(name), err.Error()})
		err = nil
	}
	figures.Chunks, figures.Entries = figures.Chunks+done.Chunks, figures.Entries+done.Entries
	if done.Chunks > 0 {
		figures.Found++
	}
	r.Linked = append(r.Linked, done.RelatedIDs...)
	return err
}

func (e *ErasureService) eraseDocument(ctx context.Context, r *ErasureReport, name string, viewer rewrite.Viewer) error {
	figures := r.searched(name)
	id, err := e.viewerOf(ctx, name)
	if err != nil || id == "" || !slices.Contains(viewer.IDs, id) {
		return err
	}
	figures.Found++
	return e.documents.Delete(ctx, name)
}

// viewerOf returns the id of the viewer that a document is about, empty if there is none.
func (e *ErasureService) viewerOf(ctx context.Context, name string) (string, error) {
	if id := state.ViewerOf(name); id != "" {
		return id, nil
	}
	return purchase.ViewerOf(name, func() ([]byte, error) {
		found, err := e.store.Get(ctx, name)
		if err != nil {
			return nil, err
		}
		return found[0].Body, nil
	})
}

// list lists all streams and documents of an environment that can hold something of a
// viewer.
func (e *ErasureService) list(ctx context.Context, s *viewerSearch) (err error) {
	s.streams = nil
	for _, kind := range slices.Sorted(maps.Keys(e.domains)) {
		streams, err := collectNames(e.store.Streams(ctx, key.Prefix(kind, s.environment, s.extension)))
		if err != nil {
			return err
		}
		s.streams = append(s.streams, streams...)
	}
	s.documents, err = collectNames(e.store.Keys(ctx, key.Prefix(key.Document, s.environment, s.extension)))
	return err
}
