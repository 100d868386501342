// Package accumulation is the domain of accumulation buffers: small JSON objects
// appended by anyone and read back in order by cursor (section 4.2).
//
// A buffer is one stream. An entry is observed at the time of the chunk that
// holds it; those times rise strictly from chunk to chunk, and a page never
// ends inside a chunk. So a reader that passes the last time it saw never
// misses an entry and never sees one twice, however many writers there are.
//
// The package may not know HTTP or a database, has no clock of its own and
// imports no other domain.
package accumulation

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/key"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

// Kind is the first element of the names of buffers' streams; the environment is
// the second.
const Kind = "buffer"

// Buffer names an accumulation buffer. It belongs to the extension.
type Buffer struct {
	Environment, Extension, Name string
}

// Stream returns the name of the buffer's stream.
func (b Buffer) Stream() string {
	return key.Join(Kind, b.Environment, b.Extension, b.Name)
}

// Submission is what a caller appends. Data is a JSON object.
type Submission struct {
	ChannelID, OpaqueID, UserID string
	Data                        json.RawMessage
}

// Entry is a submission and when it became visible, in Unix milliseconds.
type Entry struct {
	Observed int64
	Submission
}

// A page ends with the first group of entries that reaches one of these.
const (
	pageEntries = 10_000
	pageBytes   = 8 << 20
)

// Service answers for the buffers of a store.
type Service struct {
	engine *stream.Engine[*index, command, Submission, uint64]
}

// NewService returns a service over store. Close ends it.
func NewService(store stream.Store, clock stream.Clock, options stream.Options) *Service {
	return &Service{engine: stream.New(rules{}, store, clock, options)}
}

// Append adds an entry; it is visible to every read that begins afterwards.
func (s *Service) Append(ctx context.Context, b Buffer, submission Submission) error {
	_, err := s.engine.Do(ctx, b.Stream(), command{Submission: submission})
	return err
}

// Entries yields one page of the entries observed after start, in ascending
// order: those of one channel, or of all when channel is nil. It reads as it
// yields. Only the last page of a buffer is smaller than the limits of a page.
func (s *Service) Entries(ctx context.Context, b Buffer, start int64, channel *string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		after, err := s.engine.View(ctx, b.Stream(), command{start: start, query: true})
		if err != nil {
			yield(Entry{}, err)
			return
		}
		entries, size := 0, 0
		for chunk, err := range s.engine.Chunks(ctx, b.Stream(), after) {
			if err != nil {
				yield(Entry{}, err)
				return
			}
			if entries >= pageEntries || size >= pageBytes {
				return
			}
			if chunk.At <= start {
				continue
			}
			for submission, err := range s.engine.Entries(&chunk) {
				if err != nil {
					yield(Entry{}, fault.Wrap(fault.Storage, err, "the buffer is damaged"))
					return
				}
				if channel != nil && submission.ChannelID != *channel {
					continue
				}
				entries, size = entries+1, size+len(submission.Data)
				if !yield(Entry{chunk.At, submission}, nil) {
					return
				}
			}
		}
	}
}

// Serve answers what another process passed on with Options.Peers.
func (s *Service) Serve(ctx context.Context, request []byte) ([]byte, error) {
	return s.engine.Serve(ctx, request)
}

// Verify replays the stream with that name and compares it with its snapshot.
// [stream.ErrDamaged] says that it is not sound.
func (s *Service) Verify(ctx context.Context, name string) (stream.Report, error) {
	return s.engine.Verify(ctx, name, (*index).equal)
}

// Linked returns what other ids entries of a viewer hold in the stream with that name,
// as [stream.Engine.Linked] does.
func (s *Service) Linked(ctx context.Context, name string, ids []string) ([]string, error) {
	return s.engine.Linked(ctx, name, ids)
}

// Erase gives a viewer random names in the stream with that name, as
// [stream.Engine.Erase] does.
func (s *Service) Erase(ctx context.Context, name string, viewer stream.Viewer) (stream.Erased, error) {
	return s.engine.Erase(ctx, name, viewer)
}

// Trim takes the entries from before a time out of the stream with that name, as
// [stream.Engine.Trim] does.
func (s *Service) Trim(ctx context.Context, name string, before time.Time) (stream.Trimmed, error) {
	return s.engine.Trim(ctx, name, before)
}

// Trimmable reports whether Trim has something to do.
func (s *Service) Trimmable(ctx context.Context, name string, before time.Time) (bool, error) {
	return s.engine.Trimmable(ctx, name, before)
}

// DropSnapshot deletes the snapshot of the stream with that name if nothing was
// appended since a time.
func (s *Service) DropSnapshot(ctx context.Context, name string, before time.Time) (bool, error) {
	return s.engine.DropSnapshot(ctx, name, before)
}

// Stats returns the figures of the engine.
func (s *Service) Stats() stream.Stats { return s.engine.Stats() }

// Close drains the service.
func (s *Service) Close(ctx context.Context) error { return s.engine.Close(ctx) }
