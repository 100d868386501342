package admin

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/engine/rewrite"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// minPurgeAge is the least age of streams that can be purged. By then the outcome of every
// append is known, and no viewer is in the middle of a poll.
const minPurgeAge = time.Hour

// maxPurgeNames limits the names in a report.
const maxPurgeNames = 1000

// PurgeService removes polls, questions and buffers that are no longer used.
type PurgeService struct {
	store   Store
	domains Domains
	remover StreamRemover
	now     func() time.Time
}

// StreamRemover is a store that can remove a stream as a whole. Only a process that serves
// nothing may do so, and only if no other process uses the store: an engine would append
// behind chunks that are gone.
type StreamRemover interface {
	RemoveStream(ctx context.Context, name string) error
}

// NewPurgeService returns a service over a store. Domains that this process serves must be
// given as such. A purge leaves empty streams behind, which other processes may append to;
// with remover, which may be nil, it leaves nothing.
func NewPurgeService(store Store, domains Domains, remover StreamRemover, now func() time.Time) *PurgeService {
	return &PurgeService{store, domains, remover, now}
}

// PurgeFilter selects streams of one extension and environment.
type PurgeFilter struct {
	Extension   string
	Environment tenant.Environment
	Kinds       []string // poll, question, buffer; none: all of them
	Channel     string   // "": those of all channels, global ones and buffers included
	Prefix      string   // of ids
	// OlderThan is the least time since the last write, an hour or more.
	OlderThan time.Duration
	// DryRun reports and removes nothing.
	DryRun bool
}

// PurgeReport lists what a purge has removed, or would remove.
type PurgeReport struct {
	Kinds map[string]*PurgedKind `json:"kinds"` // poll, rank, buffer
	// Names are those of the first 1,000 streams.
	Names    []string  `json:"names"`
	Problems []Problem `json:"problems"`
}

// PurgedKind counts what a purge has removed of one kind.
type PurgedKind struct {
	Searched int    `json:"searched"`
	Found    int    `json:"found"`
	Entries  uint64 `json:"entries"`
	Bytes    uint64 `json:"bytes"` // of the payloads
}

// questionName is the name by which people select questions. Reports have key.Question,
// which people may type as well.
const questionName = "question"

// PurgeableKinds returns the names of the kinds that can be purged.
func PurgeableKinds() []string { return []string{key.Buffer, key.Poll, questionName} }

func (f *PurgeFilter) check() error {
	if f.OlderThan < minPurgeAge {
		return fault.Newf(fault.Invalid, "The age must be at least %v", minPurgeAge)
	}
	if len(f.Kinds) == 0 {
		f.Kinds = PurgeableKinds()
	}
	f.Kinds = slices.Clone(f.Kinds)
	for i, kind := range f.Kinds {
		if kind == questionName {
			f.Kinds[i] = key.Question
		} else if kind != key.Question && !slices.Contains(PurgeableKinds(), kind) {
			return fault.Newf(fault.Invalid, "The kind %.40q is none of %s", kind, strings.Join(PurgeableKinds(), ", "))
		}
	}
	return nil
}

func (f *PurgeFilter) selects(n key.Name) bool {
	return strings.HasPrefix(n.ID, f.Prefix) && (f.Channel == "" || n.Scope == key.Channel && n.Channel == f.Channel)
}

// Purge removes the streams that the filter selects and to which nothing was written for
// the given time. It calls progress after each stream with the number of streams known so
// far. A damaged stream is reported as a problem, and purging continues with the others. It
// is idempotent: repeated after a failure, it finishes.
func (p *PurgeService) Purge(ctx context.Context, filter PurgeFilter, progress func(steps int)) (*PurgeReport, error) {
	r := &PurgeReport{Kinds: map[string]*PurgedKind{}, Names: []string{}, Problems: []Problem{}}
	if err := filter.check(); err != nil {
		return r, err
	}
	steps := &stepCounter{report: progress}
	removed := map[string]bool{}
	for _, kind := range filter.Kinds {
		names, err := collectNames(p.store.Streams(ctx, key.Prefix(kind, string(filter.Environment), filter.Extension)))
		if err != nil {
			return r, err
		}
		steps.expect(len(names))
		r.Kinds[kind] = &PurgedKind{}
		for _, name := range names {
			if err := p.purgeStream(ctx, r, &filter, name, removed); err != nil {
				return r, errors.Join(err, p.forgetPositions(ctx, &filter, removed))
			}
			steps.step()
		}
	}
	return r, p.forgetPositions(ctx, &filter, removed)
}

// purgeStream adds the stream to removed if nothing is left of it.
func (p *PurgeService) purgeStream(ctx context.Context, r *PurgeReport, filter *PurgeFilter, name string, removed map[string]bool) error {
	figures := r.Kinds[key.KindOf(name)]
	figures.Searched++
	parsed, err := key.Parse(name)
	if err != nil {
		return err
	}
	if !filter.selects(parsed) {
		return nil
	}
	found, err := p.domains[parsed.Kind].Purge(ctx, name, p.now().Add(-filter.OlderThan), filter.DryRun || p.remover != nil)
	gone := found.Found || found.Empty
	if err == nil && gone && p.remover != nil && !filter.DryRun {
		removed[name] = true
		err = p.remover.RemoveStream(ctx, name)
	}
	if errors.Is(err, stream.ErrDamaged) {
		r.Problems = append(r.Problems, Problem{readableName(name), err.Error()})
		return nil
	}
	if err == nil && found.Found {
		r.addFound(figures, name, found)
	}
	return err
}

// addFound counts a stream that is purged, or would be.
func (r *PurgeReport) addFound(figures *PurgedKind, name string, found rewrite.PurgeResult) {
	figures.Found, figures.Entries, figures.Bytes = figures.Found+1, figures.Entries+found.Entries, figures.Bytes+found.Bytes
	if len(r.Names) < maxPurgeNames {
		r.Names = append(r.Names, readableName(name))
	}
}

// forgetPositions cleans up after streams that are gone. It deletes the positions of sinks in
// them: the numbers of their chunks begin with 1 again.
func (p *PurgeService) forgetPositions(ctx context.Context, filter *PurgeFilter, removed map[string]bool) error {
	if len(removed) == 0 {
		return nil
	}
	if store, ok := p.store.(Compactor); ok { // for the room on the disk
		if err := store.Compact(ctx); err != nil {
			return err
		}
	}
	keys, err := collectNames(p.store.Keys(ctx, key.Prefix(key.Sink, string(filter.Environment), filter.Extension)))
	for _, name := range keys {
		if n, invalid := key.Parse(name); invalid == nil && n.Scope == key.Position && removed[n.ID] {
			err = errors.Join(err, p.store.Delete(ctx, name))
		}
	}
	return err
}

// Total returns the figures of all kinds together.
func (r *PurgeReport) Total() (total PurgedKind) {
	for kind := range maps.Values(r.Kinds) {
		total.Searched, total.Found = total.Searched+kind.Searched, total.Found+kind.Found
		total.Entries, total.Bytes = total.Entries+kind.Entries, total.Bytes+kind.Bytes
	}
	return total
}
