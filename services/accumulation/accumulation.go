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
	"fmt"
	"iter"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/engine/rewrite"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Kind is the first element of the names of buffers' streams; the environment is
// the second.
const Kind = key.Buffer

// Buffer names an accumulation buffer. It belongs to the extension.
type Buffer struct {
	Environment, Extension, Name string
}

// StreamName returns the name of the buffer's stream.
func (b Buffer) StreamName() key.Name {
	return key.Name{Kind: Kind, Environment: b.Environment, Extension: b.Extension, ID: b.Name}
}

// Stream returns the name of the buffer's stream as it is stored.
func (b Buffer) Stream() string { return b.StreamName().String() }

// BufferOf returns the buffer whose stream has a name.
func BufferOf(name key.Name) (Buffer, error) {
	b := Buffer{Environment: name.Environment, Extension: name.Extension, Name: name.ID}
	if b.StreamName() != name {
		return Buffer{}, fmt.Errorf("%+v is not the name of a buffer", name)
	}
	return b, nil
}

// ParseStream returns the buffer whose stream is stored under a name.
func ParseStream(stored string) (Buffer, error) {
	name, err := key.ParseExact(stored)
	if err != nil {
		return Buffer{}, err
	}
	return BufferOf(name)
}

// Submission is one item that a caller appends. Data is a JSON object.
type Submission struct {
	ChannelID string          `json:"channel_id"`
	OpaqueID  string          `json:"opaque_user_id"`
	UserID    string          `json:"user_id"`
	Data      json.RawMessage `json:"data"`
}

// Entry is a submission and when it became visible, in Unix milliseconds. Its JSON is that
// of section 2.5.
type Entry struct {
	Observed int64 `json:"observed"`
	Submission
	// Chunk is the number of the chunk that holds it.
	Chunk uint64 `json:"-"`
}

// Service answers for the buffers of a store.
type Service struct {
	rewrite.Service
	engine *stream.Engine[*chunkIndex, bufferCommand, Submission, readPosition]
}

// NewService returns a service over store. Close ends it.
func NewService(store stream.Store, clock stream.Clock, options stream.Options) *Service {
	engine := stream.New(bufferRules{}, store, clock, options)
	return &Service{rewrite.Service{Runner: engine, Rewriter: rewrite.New(engine, engine, store)}, engine}
}

// Append adds an entry; it is visible to every read that begins afterwards. There is at most
// one key.
func (s *Service) Append(ctx context.Context, b Buffer, submission Submission, keys ...*once.Key) error {
	_, err := s.engine.Do(ctx, b.Stream(), bufferCommand{Submission: submission}, keys...)
	return err
}

// AppendExisting is Append for a buffer that has entries. It refuses another one with
// fault.NotFound.
func (s *Service) AppendExisting(ctx context.Context, b Buffer, submission Submission, keys ...*once.Key) error {
	_, err := s.engine.Do(ctx, b.Stream(), bufferCommand{Submission: submission, existing: true}, keys...)
	return err
}

// Clear removes every entry of a buffer from what reads see, and begins it again: the times
// of later entries go on rising, so that cursors stay valid. Where there is none it does
// nothing. The cleared entries are stored until the log is truncated or purged.
func (s *Service) Clear(ctx context.Context, b Buffer) error {
	_, err := s.engine.Do(ctx, b.Stream(), bufferCommand{})
	return err
}

// Entries yields one page of the entries observed after start, in ascending
// order: those of one channel, or of all when channel is nil. It reads as it
// yields. Only the last page of a buffer is smaller than the limits of a page.
func (s *Service) Entries(ctx context.Context, b Buffer, start int64, channel *string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		from, err := s.engine.View(ctx, b.Stream(), bufferCommand{start: start, query: true})
		if err != nil {
			yield(Entry{}, err)
			return
		}
		entries, size := 0, 0
		for chunk, err := range s.engine.Chunks(ctx, b.Stream(), from.after) {
			if err != nil {
				yield(Entry{}, err)
				return
			}
			if entries >= contract.BufferPage || size >= contract.BufferPageBytes { // whole groups
				return
			}
			if chunk.At <= start || chunk.At < from.cleared {
				continue
			}
			for submission, err := range s.submissions(&chunk, chunk.At == from.cleared, channel) {
				if err != nil {
					yield(Entry{}, fault.Wrap(fault.Storage, err, "the buffer is damaged"))
					return
				}
				entries, size = entries+1, size+len(submission.Data)
				if !yield(Entry{chunk.At, submission, chunk.Seq}, nil) {
					return
				}
			}
		}
	}
}

// submissions yields the submissions of a chunk from one channel, or from all when channel is
// nil; of the chunk with the clearing that counts only those after it.
func (s *Service) submissions(chunk *stream.Chunk, cleared bool, channel *string) iter.Seq2[Submission, error] {
	return func(yield func(Submission, error) bool) {
		var kept []Submission
		for entry, err := range s.engine.Entries(chunk) {
			switch {
			case err == nil && entry.isClearing():
				kept = nil // those of a later clearing are gone, too
			case err == nil && channel != nil && entry.ChannelID != *channel:
			case err == nil && cleared:
				kept = append(kept, entry)
			case !yield(entry, err):
				return
			}
		}
		for _, entry := range kept {
			if !yield(entry, nil) {
				return
			}
		}
	}
}

// Page holds the entries of some chunks of a buffer, all of each.
type Page struct {
	Entries []Entry
	// End is the number of the last chunk that was read, Head of the last one that is known
	// to exist.
	End, Head uint64
}

// Bounds of a page of chunks, which ends with the first chunk that reaches one.
const (
	groupEntries = 256
	groupBytes   = 64 << 10
)

// After returns the entries of the chunks after one. There are none only where the buffer
// has no more.
func (s *Service) After(ctx context.Context, b Buffer, chunk uint64) (Page, error) {
	page, size := Page{End: chunk, Head: chunk}, 0
	from, err := s.engine.View(ctx, b.Stream(), bufferCommand{query: true})
	if err != nil {
		return Page{}, err
	}
	for chunk, err := range s.engine.Chunks(ctx, b.Stream(), chunk) {
		if err != nil {
			return Page{}, err
		}
		page.Head = chunk.Seq
		if len(page.Entries) >= groupEntries || size >= groupBytes {
			break
		}
		page.End = chunk.Seq
		if chunk.At < from.cleared {
			continue
		}
		for submission, err := range s.submissions(&chunk, chunk.At == from.cleared, nil) {
			if err != nil {
				return Page{}, fault.Wrap(fault.Storage, err, "the buffer is damaged")
			}
			page.Entries, size = append(page.Entries, Entry{chunk.At, submission, chunk.Seq}), size+len(submission.Data)
		}
	}
	return page, nil
}

// Head returns the number of the buffer's last chunk, 0 where there is none.
func (s *Service) Head(ctx context.Context, b Buffer) (uint64, error) {
	_, head, err := s.engine.ViewAt(ctx, b.Stream(), bufferCommand{query: true})
	return head.Seq, err
}
