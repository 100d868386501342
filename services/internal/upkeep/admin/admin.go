// Package admin maintains what a store holds, whichever service wrote it: it erases
// viewers, truncates logs that are older than the retention period, and verifies
// every log and document.
//
// It works on a table of domains and on a store that can be listed. It prints
// nothing: progress goes to callbacks, and results are values. It may not import a
// command, a route or an implementation of a store.
package admin

import (
	"context"
	"iter"
	"strings"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/engine/rewrite"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// Store is a store to what maintains it. [stream.Store] and [document.Store] describe the
// methods without a comment.
type Store interface {
	// Streams yields the names of the streams that begin with prefix.
	Streams(ctx context.Context, prefix string) iter.Seq2[string, error]
	Chunks(ctx context.Context, name string, after uint64) iter.Seq2[stream.Chunk, error]
	// Keys yields the keys of the documents that begin with prefix.
	Keys(ctx context.Context, prefix string) iter.Seq2[string, error]
	Get(ctx context.Context, keys ...string) ([]document.Document, error)
	Put(ctx context.Context, writes ...document.Write) error
	Delete(ctx context.Context, key string) error
}

// Domain maintains the streams of one kind.
type Domain struct {
	Eraser
	Truncater
	Purger
	Verifier
	// Retention returns how long entries stay in the logs; 0 keeps them.
	Retention func(tenant.Retention) time.Duration
}

// NewDomain returns the domain whose streams a rewriter rewrites.
func NewDomain(r *rewrite.Rewriter, retention func(tenant.Retention) time.Duration) Domain {
	return Domain{Eraser: r, Truncater: r, Purger: r, Verifier: r, Retention: retention}
}

// Eraser deletes viewers. [rewrite.Rewriter] describes the methods, as those of the
// interfaces below.
type Eraser interface {
	RelatedIDs(ctx context.Context, name string, ids []string) ([]string, error)
	VisitIDs(ctx context.Context, name string, visit func(id string)) error
	Erase(ctx context.Context, name string, viewer rewrite.Viewer) (rewrite.Erasure, error)
}

// Truncater removes what is older than the retention period.
type Truncater interface {
	NeedsTruncation(ctx context.Context, name string, before time.Time) (bool, error)
	Truncate(ctx context.Context, name string, before time.Time) (rewrite.Truncation, error)
	DropSnapshot(ctx context.Context, name string, before time.Time) (bool, error)
}

// Purger empties streams.
type Purger interface {
	Purge(ctx context.Context, name string, before time.Time, dryRun bool) (rewrite.PurgeResult, error)
}

// Verifier verifies streams.
type Verifier interface {
	Verify(ctx context.Context, name string) (rewrite.Report, error)
}

// Domains are all domains by the kind of their streams, which is the first element of
// the streams' names.
type Domains map[string]Domain

// Problem is something in the store that is not sound.
type Problem struct {
	Name   string `json:"name"` // of the stream or document
	Reason string `json:"reason"`
}

// readableName returns a name without escapes, as logs and registries show its parts.
func readableName(name string) string {
	parts, err := key.Split(name)
	if err != nil {
		return name
	}
	return strings.Join(parts, " / ")
}

// collectNames returns all names, or the first error.
func collectNames(names iter.Seq2[string, error]) (all []string, err error) {
	for name, err := range names {
		if err != nil {
			return nil, err
		}
		all = append(all, name)
	}
	return all, nil
}

// stepCounter counts steps while more of them become known.
type stepCounter struct {
	known  int
	report func(known int)
}

func (c *stepCounter) expect(steps int) { c.known += steps }

// step reports that one more step is done.
func (c *stepCounter) step() { c.report(c.known) }
