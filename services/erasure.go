package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/key"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/message"
	"github.com/acclaim-dev/acclaim/services/ranking"
	"github.com/acclaim-dev/acclaim/services/state"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// eraser erases viewers from everything in a store.
type eraser struct {
	store   archive
	streams map[string]eraserOf // by kind
	delete  func(ctx context.Context, document string) error
}

// eraserOf is a domain as an eraser sees it.
type eraserOf interface {
	Linked(ctx context.Context, name string, ids []string) ([]string, error)
	Erase(ctx context.Context, name string, viewer stream.Viewer) (stream.Erased, error)
}

// newEraser returns an eraser over a store. Where this process serves a domain, the
// domain itself erases, so that it forgets the viewer, too.
func newEraser(a archive, served *domains, halfLife time.Duration) *eraser {
	clock, options := stream.SystemClock(), stream.Options{}
	e := &eraser{store: a, delete: a.Delete, streams: map[string]eraserOf{
		voting.Kind:       voting.NewService(a, clock, options, halfLife),
		accumulation.Kind: accumulation.NewService(a, clock, options),
		ranking.Kind:      ranking.NewService(a, clock, options),
		message.Kind:      message.NewService(a, clock, options),
	}}
	if served.voting != nil {
		e.streams[voting.Kind] = served.voting
	}
	if served.accumulation != nil {
		e.streams[accumulation.Kind] = served.accumulation
	}
	if served.ranking != nil {
		e.streams[ranking.Kind] = served.ranking
	}
	if served.messages != nil {
		e.streams[message.Kind] = served.messages
	}
	if served.documents != nil {
		e.delete = served.documents.Delete
	}
	return e
}

// erasure is what was erased.
type erasure struct {
	Kinds map[string]*erased `json:"kinds"` // poll, buffer, rank, message, document
	// Followed are ids that were not given and were found to be the viewer's: they are
	// erased, too.
	Followed []string `json:"followed"`
	// Linked are other ids that entries of the viewer hold. They are not erased.
	Linked   []string  `json:"linked"`
	Problems []problem `json:"problems"`
}

// erased is what was erased of a kind.
type erased struct {
	Searched int    `json:"searched"` // streams or documents
	Found    int    `json:"found"`    // those that held something of the viewer
	Chunks   uint64 `json:"chunks"`
	Entries  uint64 `json:"entries"`
}

// whom is who is to be erased.
type whom struct {
	stream.Viewer
	// only says not to look for other ids of the viewer.
	only bool
}

// erase erases a viewer from what an extension has in both environments. step is
// called with the number of steps that are known, and after each. A stream that is
// damaged is a problem and keeps nothing else from being erased.
func (e *eraser) erase(ctx context.Context, extension string, viewer whom, step func(of int)) (*erasure, error) {
	r := &erasure{Kinds: map[string]*erased{}, Followed: []string{}, Linked: []string{}, Problems: []problem{}}
	p := &progress{step: step}
	var searches []*search
	for _, environment := range []tenant.Environment{tenant.Production, tenant.Sandbox} {
		s, err := e.search(ctx, environment, extension, viewer, p)
		if err != nil {
			return r, err
		}
		searches = append(searches, s)
	}
	for _, s := range searches { // all of which have found one viewer
		if err := e.eraseFrom(ctx, r, s, p); err != nil {
			return r, err
		}
	}
	for _, ids := range []*[]string{&r.Followed, &r.Linked} {
		slices.Sort(*ids)
		*ids = slices.Compact(*ids)
	}
	return r, nil
}

// progress counts steps, of which more become known.
type progress struct {
	of   int
	step func(of int)
}

// eraseFrom erases a viewer from one environment.
func (e *eraser) eraseFrom(ctx context.Context, r *erasure, s *search, p *progress) error {
	err := e.begin(ctx, s)
	if err == nil {
		err = e.find(ctx, s) // again: there may be more by now
	}
	if err != nil {
		return err
	}
	p.of += len(s.streams) + len(s.documents)
	for _, name := range append(s.streams, s.documents...) {
		kind, _, _ := strings.Cut(name, "/")
		if r.Kinds[kind] == nil {
			r.Kinds[kind] = &erased{}
		}
		r.Kinds[kind].Searched++
		if err := e.one(ctx, r, kind, name, stream.Viewer{IDs: s.ids, DropData: s.dropData}); err != nil {
			return err
		}
		p.step(p.of)
	}
	r.Followed = append(r.Followed, s.followed()...)
	if len(r.Problems) > 0 {
		return nil // the note stays for a repetition
	}
	return e.end(ctx, s)
}

// one erases a viewer from one stream or document.
func (e *eraser) one(ctx context.Context, r *erasure, kind, name string, viewer stream.Viewer) error {
	f := r.Kinds[kind]
	domain, ok := e.streams[kind]
	if !ok {
		if !state.BelongsTo(name, viewer.IDs) {
			return nil
		}
		f.Found++
		return e.delete(ctx, name)
	}
	done, err := domain.Erase(ctx, name, viewer)
	if errors.Is(err, stream.ErrDamaged) {
		r.Problems = append(r.Problems, problem{readable(name), err.Error()})
		err = nil
	}
	f.Chunks, f.Entries = f.Chunks+done.Chunks, f.Entries+done.Entries
	if done.Chunks > 0 {
		f.Found++
	}
	r.Linked = append(r.Linked, done.Linked...)
	return err
}

// find lists all streams and documents of an environment in which a viewer can be.
func (e *eraser) find(ctx context.Context, s *search) (err error) {
	s.streams = nil
	for _, kind := range slices.Sorted(maps.Keys(e.streams)) {
		streams, err := collect(e.store.Streams(ctx, key.Join(kind, s.environment, s.extension)+"/"))
		if err != nil {
			return err
		}
		s.streams = append(s.streams, streams...)
	}
	s.documents, err = collect(e.store.Keys(ctx, state.OfViewers(s.environment, s.extension)))
	return err
}

func (r *erasure) write(w io.Writer) error {
	var b strings.Builder
	columns := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(columns, "kind\tsearched\tfound\tchunks\tentries\t")
	for _, kind := range slices.Sorted(maps.Keys(r.Kinds)) {
		f := r.Kinds[kind]
		fmt.Fprintf(columns, "%s\t%d\t%d\t%d\t%d\t\n", kind, f.Searched, f.Found, f.Chunks, f.Entries)
	}
	_ = columns.Flush() // a strings.Builder takes everything
	if len(r.Followed) > 0 {
		fmt.Fprintf(&b, "\nThe viewer was known by other ids, too, which are erased as well: %q\n", r.Followed)
	}
	if len(r.Linked) > 0 {
		fmt.Fprintf(&b, "\nEntries of the viewer held other ids, which are not erased: %q\n", r.Linked)
	}
	writeProblems(&b, r.Problems)
	_, err := io.WriteString(w, b.String())
	return err
}
