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
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// Store is a store whose streams and documents can be listed.
type Store interface {
	stream.Store
	document.Store
	// Streams yields the names of the streams that begin with prefix.
	Streams(ctx context.Context, prefix string) iter.Seq2[string, error]
	// Keys yields the keys of the documents that begin with prefix.
	Keys(ctx context.Context, prefix string) iter.Seq2[string, error]
}

// Domain maintains the streams of one kind.
type Domain struct {
	stream.Admin
	// Retention returns how long entries stay in the logs; 0 keeps them.
	Retention func(tenant.Retention) time.Duration
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
