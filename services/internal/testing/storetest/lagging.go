package storetest

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

// Lagging is a store of streams whose reads lag its writes, as the contract of
// [stream.Store] allows: a chunk takes its place at once and readers see it later, or
// never. So does a replica set that stores a chunk on its primary and cannot commit it
// yet, and one whose new primary has not committed what its predecessor did.
//
// It is safe in a synctest bubble: it has no timer, and notices at the next call that a
// chunk is due.
type Lagging struct {
	stream.Store
	lag func(stream.Chunk) Lag

	mu      sync.Mutex
	pending []pendingChunk
}

// Lag is the fate of an append. The zero Lag is that of a store that does not lag.
type Lag struct {
	// For is the time until readers see the chunk.
	For time.Duration
	// RolledBack makes the chunk disappear after that time instead.
	RolledBack bool
	// AnswerLost answers the append at once, with an error that leaves its outcome
	// unknown, instead of when readers see the chunk.
	AnswerLost bool
}

type pendingChunk struct {
	chunk      stream.Chunk
	due        time.Time
	rolledBack bool
}

// NewLagging returns a store over another. lag is called, by one goroutine at a time, for
// each chunk whose place is free.
func NewLagging(store stream.Store, lag func(stream.Chunk) Lag) *Lagging {
	return &Lagging{Store: store, lag: lag}
}

var errLagging = errors.New("storetest: waiting for replication failed")

// Append implements [stream.Store].
func (l *Lagging) Append(ctx context.Context, chunk stream.Chunk) error {
	lag, err := l.place(ctx, chunk)
	switch {
	case err != nil || lag.For == 0:
		return err
	case lag.AnswerLost:
		return errLagging
	}
	if err := stream.SystemClock().Sleep(ctx, lag.For); err != nil {
		return err
	}
	if lag.RolledBack {
		return errLagging
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.settle(ctx)
}

// place gives a chunk its place unless that is taken.
func (l *Lagging) place(ctx context.Context, chunk stream.Chunk) (lag Lag, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.settle(ctx); err != nil {
		return lag, err
	}
	for _, p := range l.pending {
		switch {
		case p.chunk.Stream != chunk.Stream || p.chunk.Seq != chunk.Seq:
		case p.rolledBack: // no store may answer that its place is taken
			return lag, errLagging
		default:
			return lag, stream.ErrConflict
		}
	}
	for there, err := range l.Store.Chunks(ctx, chunk.Stream, chunk.Seq-1) {
		if err != nil {
			return lag, err
		}
		if there.Seq == chunk.Seq {
			return lag, stream.ErrConflict
		}
		break
	}
	if lag = l.lag(chunk); lag.For == 0 {
		return lag, l.Store.Append(ctx, chunk)
	}
	l.pending = append(l.pending, pendingChunk{chunk, time.Now().Add(lag.For), lag.RolledBack})
	return lag, nil
}

// settle makes visible, or drops, what is due. l.mu is held.
func (l *Lagging) settle(ctx context.Context) (err error) {
	l.pending = slices.DeleteFunc(l.pending, func(p pendingChunk) bool {
		if time.Now().Before(p.due) {
			return false
		}
		if !p.rolledBack {
			err = errors.Join(err, l.Store.Append(context.WithoutCancel(ctx), p.chunk))
		}
		return true
	})
	return err
}

// Chunks implements [stream.Store].
func (l *Lagging) Chunks(ctx context.Context, name string, after uint64) iter.Seq2[stream.Chunk, error] {
	return func(yield func(stream.Chunk, error) bool) {
		l.mu.Lock()
		err := l.settle(ctx)
		l.mu.Unlock()
		if err != nil {
			yield(stream.Chunk{}, err)
			return
		}
		l.Store.Chunks(ctx, name, after)(yield)
	}
}
