package stream

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// handle decides the batch and makes it durable. A nil error means that every
// call of l.taken holds its own result; what did not fit has gone back to the
// queue.
func (l *log[S, C, E, R]) handle(ctx context.Context) error {
	for range l.engine.options.ConflictLimit {
		chunk := l.decide(l.stamp())
		if chunk.Count == 0 {
			if news, err := l.refresh(ctx); news || err != nil {
				if err != nil {
					return err
				}
				continue // what was decided may rest on a state that is past
			}
			return nil
		}
		stored, err := l.commit(ctx, chunk)
		if stored || err != nil {
			return err
		}
		l.rivals = rivalCommits
		if err := l.pace(ctx); err != nil {
			return err
		}
	}
	return fault.New(fault.Unavailable, "too much contention on one stream")
}

// decide runs the rules over the batch and returns the chunk that would hold
// its entries. Each command sees the effect of those before it in a fork; the
// state itself stays that of the head.
func (l *log[S, C, E, R]) decide(at int64) Chunk {
	rules, state, forked := l.engine.rules, l.state, false
	l.entries = l.entries[:0]
	var payload []byte
	for i, it := range l.taken {
		if len(payload) >= l.engine.options.PayloadLimit {
			l.queue.Return(l.taken[i:])
			l.taken = l.taken[:i]
			break
		}
		c := it.Value
		if c.readOnly {
			continue
		}
		var decision Decision[E, R]
		decision, c.err = rules.Decide(state, at, c.command)
		c.result = decision.Result
		if c.err != nil || !decision.Store {
			continue
		}
		l.entries = append(l.entries, decision.Entry)
		payload = rules.AppendEntry(payload, decision.Entry)
		if i == len(l.taken)-1 {
			break // nobody is left to see the effect
		}
		if !forked {
			state, forked = rules.Fork(l.state), true
		}
		rules.Apply(state, at, decision.Entry)
	}
	return Chunk{
		Stream:  l.name,
		Seq:     l.head.Seq + 1,
		At:      at,
		ID:      l.engine.random.id(),
		Prev:    l.head.Sum,
		Count:   len(l.entries),
		Payload: payload,
	}
}

// commit appends the chunk and applies whatever now follows the head. It
// reports whether that includes the chunk; when not, and without an error,
// another chunk has its place.
func (l *log[S, C, E, R]) commit(ctx context.Context, chunk Chunk) (stored bool, err error) {
	pauses := settlePauses()
	uncertain := false
	for range l.engine.options.SettleAttempts {
		switch err = l.engine.store.Append(ctx, chunk); {
		case err == nil:
			l.apply(&chunk, l.entries)
			return true, nil
		case errors.Is(err, ErrConflict):
			if stored, err = l.catchUp(ctx, chunk.ID); stored {
				return true, nil // an earlier attempt, of whose success nobody told
			}
			if err == nil {
				l.engine.stats.conflicts.Add(1)
				return false, nil
			}
			uncertain = true // the chunk in its place may be this very one
		case !notStored(err):
			uncertain = true
		case !uncertain:
			return false, err
		}
		if l.engine.clock.Sleep(ctx, pauses.NextBackOff()) != nil {
			break
		}
	}
	l.engine.stats.unsettled.Add(1)
	return false, fault.Wrap(fault.Uncertain, err, "the outcome of an append is unknown")
}

// notStored reports whether a failed append is certain to have stored nothing.
func notStored(err error) bool {
	kind := fault.KindOf(err)
	return kind == fault.Storage || kind == fault.Unavailable
}

// settlePauses are the pauses between attempts to settle an outcome.
func settlePauses() *backoff.ExponentialBackOff {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval = 5 * time.Millisecond
	pauses.MaxInterval = time.Second
	pauses.RandomizationFactor = 0
	pauses.Multiplier = 2
	return pauses
}

// apply folds a durable chunk into the state and makes it the head.
func (l *log[S, C, E, R]) apply(chunk *Chunk, entries []E) {
	rules, head := l.engine.rules, Head{Seq: chunk.Seq, At: chunk.At, Sum: chunk.Sum()}
	l.mu.Lock()
	for _, entry := range entries {
		rules.Apply(l.state, chunk.At, entry)
	}
	l.head = head
	l.mu.Unlock()
	l.size.Store(int64(rules.Size(l.state)) + logOverhead)
	l.tail.Add(int64(len(chunk.Payload)) + chunkOverhead)
	l.engine.stats.commits.Add(1)
	l.engine.stats.entries.Add(uint64(chunk.Count))
}

const (
	logOverhead   = 512 // what a resident stream costs beside its state, in bytes
	chunkOverhead = 128 // what a chunk costs beside its payload, in bytes
)
