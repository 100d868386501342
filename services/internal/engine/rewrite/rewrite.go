// Package rewrite changes what streams have stored: it erases viewers, truncates and
// purges logs, and verifies that they hold what that has left. The package comment of
// stream has the invariants.
//
// It knows no domain and no commands: an engine reads, redacts and folds chunks for it
// ([Log]), appends its control records, and goes on committing meanwhile. The engine
// reads what this package writes and does not import it. Everything that a rewriting
// under way knows comes from the log, so that any process may go on with it.
package rewrite

import (
	"context"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

// Log is an engine of streams to what rewrites them. [stream.Engine] implements it and
// describes the methods.
type Log interface {
	CheckOpen() error
	ReadNext(head stream.Head, chunk *stream.Chunk, each func(ids []string)) (*stream.ControlRecord, error)
	AppendRecord(ctx context.Context, name string, head stream.Head, record *stream.ControlRecord) error
	Replay(name string) stream.Replay
	Refresh(ctx context.Context, name string) error
}

// Content is an engine of streams to what looks for viewers in what they hold. [stream.Engine]
// implements it and describes the methods.
type Content interface {
	RedactChunk(chunk *stream.Chunk, erasing *stream.ControlRecord) (redacted *stream.Chunk, entries uint64, err error)
	VisitCheckpointIDs(checkpoint *stream.ControlRecord, visit func(id string)) error
}

// Rewriter rewrites the streams of an engine.
type Rewriter struct {
	log     Log
	content Content
	store   stream.Store
	// beforeErase is called with the stream and the ids of an erasure before it begins; nil for none.
	beforeErase func(ctx context.Context, name string, ids []string) error
	// keepsEntries reports whether a stream is not to be truncated yet; nil for none.
	keepsEntries func(ctx context.Context, name string) (bool, error)
}

// New returns a rewriter of the streams of an engine over a store. An engine is both.
func New(log Log, content Content, store stream.Store) *Rewriter {
	return &Rewriter{log: log, content: content, store: store}
}

// BeforeErase has a function called with the stream and the ids of each erasure before it begins. Its
// error ends the erasure. It is set before the rewriter is used.
func (r *Rewriter) BeforeErase(announce func(ctx context.Context, name string, ids []string) error) {
	r.beforeErase = announce
}

// KeepEntries has truncations ask whether the entries of a stream have to stay. It is set before the
// rewriter is used.
func (r *Rewriter) KeepEntries(keeps func(ctx context.Context, name string) (bool, error)) {
	r.keepsEntries = keeps
}

// Service is the part of the service of a domain that knows no domain: its engine to
// the process that runs it, and what rewrites its streams.
type Service struct {
	stream.Runner
	*Rewriter
}

// Rewriting returns what rewrites the streams of the service.
func (s Service) Rewriting() *Rewriter { return s.Rewriter }
