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
	streams map[string]eraseStream // by kind
	delete  func(ctx context.Context, document string) error
}

// eraseStream erases a viewer from one stream of a kind.
type eraseStream func(ctx context.Context, name string, viewer stream.Viewer) (stream.Erased, error)

// newEraser returns an eraser over a store. Where this process serves a domain, the
// domain itself erases, so that it forgets the viewer, too.
func newEraser(a archive, served *domains, halfLife time.Duration) *eraser {
	clock, options := stream.SystemClock(), stream.Options{}
	e := &eraser{store: a, delete: a.Delete, streams: map[string]eraseStream{
		voting.Kind:       voting.NewService(a, clock, options, halfLife).Erase,
		accumulation.Kind: accumulation.NewService(a, clock, options).Erase,
		ranking.Kind:      ranking.NewService(a, clock, options).Erase,
		message.Kind:      message.NewService(a, clock, options).Erase,
	}}
	if served.voting != nil {
		e.streams[voting.Kind] = served.voting.Erase
	}
	if served.accumulation != nil {
		e.streams[accumulation.Kind] = served.accumulation.Erase
	}
	if served.ranking != nil {
		e.streams[ranking.Kind] = served.ranking.Erase
	}
	if served.messages != nil {
		e.streams[message.Kind] = served.messages.Erase
	}
	if served.documents != nil {
		e.delete = served.documents.Delete
	}
	return e
}

// erasure is what was erased.
type erasure struct {
	Kinds map[string]*erased `json:"kinds"` // poll, buffer, rank, message, document
	// Linked are other ids that entries of the viewer hold.
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

// erase erases a viewer from what an extension has in both environments. step is
// called with the number of steps there are, and after each. A stream that is
// damaged is a problem and keeps nothing else from being erased.
func (e *eraser) erase(ctx context.Context, extension string, viewer stream.Viewer, step func(of int)) (*erasure, error) {
	r := &erasure{Kinds: map[string]*erased{}, Linked: []string{}, Problems: []problem{}}
	names, err := e.names(ctx, extension)
	if err != nil {
		return r, err
	}
	for _, name := range names {
		kind, _, _ := strings.Cut(name, "/")
		if r.Kinds[kind] == nil {
			r.Kinds[kind] = &erased{}
		}
		r.Kinds[kind].Searched++
		if err := e.one(ctx, r, kind, name, viewer); err != nil {
			return r, err
		}
		step(len(names))
	}
	slices.Sort(r.Linked)
	r.Linked = slices.Compact(r.Linked)
	return r, nil
}

// names returns those of all streams and documents in which a viewer can be.
func (e *eraser) names(ctx context.Context, extension string) (names []string, err error) {
	for _, environment := range []tenant.Environment{tenant.Production, tenant.Sandbox} {
		for _, kind := range slices.Sorted(maps.Keys(e.streams)) {
			streams, err := collect(e.store.Streams(ctx, key.Join(kind, string(environment), extension)+"/"))
			if err != nil {
				return nil, err
			}
			names = append(names, streams...)
		}
		documents, err := collect(e.store.Keys(ctx, state.OfViewers(string(environment), extension)))
		if err != nil {
			return nil, err
		}
		names = append(names, documents...)
	}
	return names, nil
}

// one erases a viewer from one stream or document.
func (e *eraser) one(ctx context.Context, r *erasure, kind, name string, viewer stream.Viewer) error {
	f := r.Kinds[kind]
	eraseIt, ok := e.streams[kind]
	if !ok {
		if !state.BelongsTo(name, viewer.IDs) {
			return nil
		}
		f.Found++
		return e.delete(ctx, name)
	}
	done, err := eraseIt(ctx, name, viewer)
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

func (r *erasure) write(w io.Writer) error {
	var b strings.Builder
	columns := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(columns, "kind\tsearched\tfound\tchunks\tentries\t")
	for _, kind := range slices.Sorted(maps.Keys(r.Kinds)) {
		f := r.Kinds[kind]
		fmt.Fprintf(columns, "%s\t%d\t%d\t%d\t%d\t\n", kind, f.Searched, f.Found, f.Chunks, f.Entries)
	}
	_ = columns.Flush() // a strings.Builder takes everything
	if len(r.Linked) > 0 {
		fmt.Fprintf(&b, "\nEntries of the viewer held other ids, too. If they are the same viewer, erase them as well: %q\n", r.Linked)
	}
	writeProblems(&b, r.Problems)
	_, err := io.WriteString(w, b.String())
	return err
}
