package stream

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// handle decides the batch and makes it durable. A nil error means that every
// call of l.taken holds its own result; what did not fit has gone back to the
// queue.
func (l *log[S, C, E, R]) handle(ctx context.Context) error {
	if err := l.recall(ctx); err != nil {
		return err
	}
	for attempt := range l.engine.options.ConflictLimit {
		chunk := l.decide(l.stamp())
		if err := l.busy(); err != nil {
			return err
		}
		if chunk.Count+len(l.groups) == 0 {
			if news, err := l.refresh(ctx); news || err != nil {
				if err != nil {
					return err
				}
				continue // what was decided may rest on a state that is past
			}
			return nil
		}
		// Who has lost once is nearly up to date: the next append tells sooner than
		// a question whether there is yet another chunk.
		last := chunk.Seq
		if attempt == 0 {
			last = toTheEnd
		}
		stored, err := l.commit(ctx, chunk, last)
		if stored || err != nil {
			return err
		}
		if err := l.pace(ctx, 0); err != nil {
			return err
		}
	}
	return fault.New(fault.Unavailable, "too much contention on one stream")
}

// decide runs the rules over the batch and returns the chunk that would hold
// its entries. Each command sees the effect of those before it in a fork; the
// state itself stays that of the head.
func (l *log[S, C, E, R]) decide(at int64) Chunk {
	d := draft[S, C, E, R]{log: l, at: at, state: l.state, entries: l.entries[:0], payload: []byte(noGroups)}
	for i, it := range l.taken {
		if d.full() {
			l.queue.Return(l.taken[i:])
			l.taken = l.taken[:i]
			break
		}
		d.add(it.Value, i == len(l.taken)-1)
	}
	l.groups, l.entries = d.groups, d.entries
	return d.chunk(l.head)
}

// recall looks in the log itself for groups to recover that may be in chunks
// older than the memory.
func (l *log[S, C, E, R]) recall(ctx context.Context) error {
	for _, it := range l.taken {
		g := &it.Value.group
		if !g.recovery || g.floor >= l.memory.floor {
			continue
		}
		for chunk, err := range l.engine.store.Chunks(ctx, l.name, g.floor) {
			if err != nil {
				return unread(err)
			}
			groups, _, err := splitPayload(&chunk)
			if err != nil {
				return unread(err)
			}
			if i := slices.IndexFunc(groups, func(m membership) bool { return m.id == g.id }); i >= 0 {
				g.known, g.stored = true, groups[i].stored
				break
			}
			if chunk.Seq >= l.head.Seq {
				break
			}
		}
		g.floor = l.head.Seq
	}
	return nil
}

// commit appends the chunk and applies whatever now follows the head. It
// reports whether that includes the chunk; when not, and without an error,
// another chunk has its place and all up to the one numbered last are applied.
func (l *log[S, C, E, R]) commit(ctx context.Context, chunk Chunk, last uint64) (stored bool, err error) {
	pauses := settlePauses()
	uncertain := false
	for range l.engine.options.SettleAttempts {
		switch err = l.append(ctx, chunk); {
		case err == nil:
			l.apply(&chunk, l.groups, l.entries)
			return true, nil
		case errors.Is(err, ErrConflict):
			if stored, err = l.catchUp(ctx, chunk.ID, last); stored {
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
		if notStored(err) {
			l.refuseWaiting(err)
		}
		if l.engine.clock.Sleep(ctx, pauses.NextBackOff()) != nil {
			break
		}
	}
	l.engine.stats.unsettled.Add(1)
	return false, fault.Wrap(fault.Uncertain, err, "the outcome of an append is unknown")
}

// refuseWaiting answers those who wait behind a chunk whose fate cannot be known
// while the store is away. That may take long, and they need not.
func (l *log[S, C, E, R]) refuseWaiting(err error) {
	for _, it := range l.queue.Clear() {
		it.Value.err = fault.Wrap(fault.Unavailable, err, "the store is away")
		it.Finish()
	}
}

// append stores the chunk and notes how long that took.
func (l *log[S, C, E, R]) append(ctx context.Context, chunk Chunk) error {
	clock := l.engine.clock
	began := clock.Now()
	err := l.engine.store.Append(ctx, chunk)
	l.took.Store(int64(clock.Now().Sub(began)))
	return err
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
func (l *log[S, C, E, R]) apply(chunk *Chunk, groups []membership, entries []E) {
	rules, head := l.engine.rules, chunk.head()
	l.mu.Lock()
	for _, entry := range entries {
		rules.Apply(l.state, chunk.At, entry)
	}
	l.head = head
	l.mu.Unlock()
	l.memory.add(chunk.Seq, groups, l.engine.options.GroupMemory)
	l.measure()
	l.tail.Add(int64(len(chunk.Payload)) + chunkOverhead)
	l.engine.stats.commits.Add(1)
	l.engine.stats.entries.Add(uint64(chunk.Count))
	l.engine.options.Applied(l.name, chunk.Seq)
}

// measure notes how many bytes the stream keeps resident.
func (l *log[S, C, E, R]) measure() {
	l.size.Store(int64(l.engine.rules.Size(l.state) + logOverhead + groupOverhead*len(l.memory.order)))
}

const (
	logOverhead   = 512 // what a resident stream costs beside its state, in bytes
	groupOverhead = 128 // what a remembered group costs, in bytes
	chunkOverhead = 128 // what a chunk costs beside its payload, in bytes
)
