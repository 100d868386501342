package event

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/acclaim-dev/acclaim/services/message"
)

// Stores are read for changes. Every read reflects all writes that any process
// acknowledged before it.
type Stores struct {
	Polls     PollReader
	Documents DocumentReader
	Messages  MessageReader
	Buffers   BufferReader
	Questions QuestionReader
}

// Reader reads sources and finds what has changed. Its users share reads: the one
// that follows a hint also serves the next user that has a hint of the same change.
type Reader struct {
	stores Stores

	mu sync.Mutex
	// Reads of the current period and of the one before, by the names of sources.
	young, old map[string]*sharedRead
	period     time.Time // when the current period began
}

// sharePeriod limits the age of a read that another user reuses.
const sharePeriod = 2 * time.Second

// sharedRead is the last read of a source. Its users take turns.
type sharedRead struct {
	turn chan struct{} // 1: its holder reads, and reads last
	last *sourceRead
}

// sourceRead is a read of a source at one moment.
type sourceRead struct {
	at   time.Time
	head uint64
	// diff returns what the read has that a side of an audience does not know.
	diff  func(s Source, known Knowledge, now time.Time, side Sight) Change
	after uint64 // it has the messages, or the chunks of a buffer, after this one
}

// NewReader returns a reader of stores.
func NewReader(stores Stores) *Reader {
	return &Reader{stores: stores, young: map[string]*sharedRead{}, old: map[string]*sharedRead{}}
}

// Current returns the knowledge of a side of an audience that has read the source now.
func (r *Reader) Current(ctx context.Context, s Source, now time.Time, side Sight) (Knowledge, error) {
	if s.Kind == Feed {
		page, err := r.stores.Messages.Since(ctx, s.messageFeed(), math.MaxUint64)
		return Knowledge{Head: page.Head, Message: page.Last, Before: page.Last}, err
	}
	if s.Kind == Buffer {
		head, err := r.stores.Buffers.Head(ctx, s.buffer())
		return Knowledge{Head: head}, err
	}
	change, err := r.Changes(ctx, s, Knowledge{}, 0, now, side)
	return change.Final, err
}

// Changes returns what has changed in a source since a side of its audience got its
// knowledge. A read that reaches the hinted head, and the known one, is reused where there is
// one. When hinted is 0 the source is read now.
func (r *Reader) Changes(ctx context.Context, s Source, known Knowledge, hinted uint64, now time.Time, side Sight) (Change, error) {
	found, err := r.read(ctx, s, known, hinted, now)
	if err != nil {
		return Change{}, err
	}
	return found.diff(s, known, now, side), nil
}

// Replay returns the change of a feed with the messages that a Changes before it
// missed, as long as the log has them. It may end before the feed does.
func (r *Reader) Replay(ctx context.Context, s Source, known Knowledge, missed Change) (Change, error) {
	from := message.Place{Chunk: known.Head, Last: known.Before}
	if from.Last == 0 {
		from.Chunk = 0 // it is not known which messages come after the chunk
	}
	messages, end, err := r.stores.Messages.Forward(ctx, s.messageFeed(), from, known.Message)
	if err != nil {
		return Change{}, err
	}
	if len(messages) == 0 { // truncated, or the log is not the one of the knowledge
		return missed, nil
	}
	reached := Knowledge{Head: end.Chunk, Message: end.Last, Before: end.Last}
	return Change{Steps: s.messageSteps(messages, from, reached), Final: missed.Final}, nil
}

// read returns a read that covers the hinted and the known head.
func (r *Reader) read(ctx context.Context, s Source, known Knowledge, hinted uint64, now time.Time) (*sourceRead, error) {
	x := r.sharedOf(s.Name, now)
	select {
	case x.turn <- struct{}{}:
		defer func() { <-x.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if last := x.last; hinted > 0 && last != nil && now.Sub(last.at).Abs() < sharePeriod && last.coversHint(s.Kind, known, hinted) {
		return last, nil
	}
	found, err := r.loadSource(ctx, s, known, now)
	if err != nil {
		return nil, err
	}
	found.at, x.last = now, found
	return found, nil
}

// coversHint reports whether a read may serve a user with some knowledge and a hint.
func (r *sourceRead) coversHint(kind SourceKind, known Knowledge, hinted uint64) bool {
	return r.head >= max(hinted, known.Head) && (kind != Feed || r.after <= known.Message) && (kind != Buffer || r.after == known.Head)
}

// sharedOf returns the last read of a source, and forgets reads that are too old.
func (r *Reader) sharedOf(name string, now time.Time) *sharedRead {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.period).Abs() >= sharePeriod {
		r.old, r.young, r.period = r.young, map[string]*sharedRead{}, now
	}
	x := r.young[name]
	if x == nil {
		if x = r.old[name]; x == nil {
			x = &sharedRead{turn: make(chan struct{}, 1)}
		}
		r.young[name] = x
	}
	return x
}

// loadSource reads a source.
func (r *Reader) loadSource(ctx context.Context, s Source, known Knowledge, now time.Time) (*sourceRead, error) {
	if s.Kind == 0 {
		return nil, fmt.Errorf("event: %q is no source", s.Name)
	}
	return sourceTypes()[s.Kind].load(ctx, &r.stores, s, known, now)
}
