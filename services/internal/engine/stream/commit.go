package stream

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// handleBatch decides the batch and makes it durable. A nil error means that every
// call of l.taken holds its own result; what did not fit has gone back to the
// queue.
func (l *streamLog[S, C, E, R]) handleBatch(ctx context.Context) error {
	if err := l.findRecovered(ctx); err != nil {
		return err
	}
	began := l.engine.clock.Now()
	for attempt := 0; l.engine.clock.Now().Sub(began) < contentionPatience; attempt++ {
		chunk := l.decideBatch(l.nextTime()).buildChunk(l.head)
		l.trace.EndStep(stepDecide, nil)
		if err := l.checkBusy(); err != nil {
			return err
		}
		if chunk.Count+len(l.header.groups) == 0 {
			news, err := l.refreshState(ctx)
			l.trace.EndStep(stepRead, err)
			if news || err != nil {
				if err != nil {
					return err
				}
				continue // what was decided may rest on a state that is past
			}
			return nil
		}
		// After a lost race this engine is nearly up to date: appending finds a further
		// chunk sooner than asking for it.
		last := chunk.Seq
		if attempt == 0 {
			last = toTheEnd
		}
		stored, err := l.commitChunk(ctx, chunk, last)
		if stored || err != nil {
			return err
		}
		if err := l.paceCommit(ctx, 0); err != nil {
			return err
		}
		l.trace.EndStep(stepWait, nil)
	}
	return fault.New(fault.Unavailable, "too much contention on one stream")
}

// contentionPatience limits how long a batch may lose races in a row, before its callers are
// refused. A new owner that has to read what it lost against loses them all to an old one that
// does not know of it yet, which takes some heartbeats at most. So this is a time, and as long
// as callers of other processes wait: on a fast database a number of races is soon over.
const contentionPatience = forwardPatience

// decideBatch runs the rules over the batch and returns the draft of its chunk: with the chunk
// in its frame too, the rules would outgrow the first stack of a worker. Each command sees the
// effect of those before it in a fork; the state itself stays that of the head.
func (l *streamLog[S, C, E, R]) decideBatch(at int64) *chunkDraft[S, C, E, R] {
	d := &chunkDraft[S, C, E, R]{log: l, at: at, state: l.state, entries: l.entries[:0], payload: l.newPayload()}
	for i, it := range l.taken {
		if d.isFull() {
			l.queue.Return(l.taken[i:])
			l.taken = l.taken[:i]
			break
		}
		d.addCall(it.Value, i == len(l.taken)-1)
	}
	d.addMark()
	l.header, l.entries = d.header, d.entries
	return d
}

// newPayload returns an empty payload with room for the entries of a batch.
func (l *streamLog[S, C, E, R]) newPayload() []byte {
	const usualEntryBytes = 24
	commands := 0
	for _, it := range l.taken {
		commands += len(it.Value.commands)
	}
	room := min(usualEntryBytes*commands, l.engine.tuning.PayloadLimit)
	return append(make([]byte, 0, len(noGroups)+room), noGroups...)
}

// findRecovered searches the log itself for groups to recover that may be in chunks
// older than the de-duplication window.
func (l *streamLog[S, C, E, R]) findRecovered(ctx context.Context) error {
	for _, it := range l.taken {
		g := &it.Value.group
		if !g.recovery || g.lowWatermark >= l.window.lowWatermark {
			continue
		}
		if err := l.searchGroup(ctx, g); err != nil {
			return err
		}
		g.lowWatermark = l.head.Seq
	}
	return nil
}

// searchGroup searches the log after the low watermark of a group for it.
func (l *streamLog[S, C, E, R]) searchGroup(ctx context.Context, g *groupOrigin) error {
	for chunk, err := range l.engine.store.Chunks(ctx, l.name, g.lowWatermark) {
		if err != nil {
			return ReadError(err)
		}
		header, _, err := splitPayload(&chunk)
		if err != nil {
			return ReadError(err)
		}
		if i := slices.IndexFunc(header.groups, func(m storedGroup) bool { return m.id == g.id }); i >= 0 {
			g.known, g.stored = true, header.groups[i].stored
			break
		}
		if chunk.Seq >= l.head.Seq {
			break
		}
	}
	return nil
}

// commitChunk appends the chunk and applies whatever now follows the head. It
// reports whether that includes the chunk; when not, and without an error,
// another chunk has its place and all up to the one numbered last are applied.
func (l *streamLog[S, C, E, R]) commitChunk(ctx context.Context, chunk Chunk, last uint64) (stored bool, err error) {
	pauses := settleBackoff()
	began := l.engine.clock.Now()
	defer l.blocked.Store(nil)
	uncertain := false
	for {
		switch err = l.appendChunk(ctx, chunk); {
		case err == nil:
			l.applyChunk(&chunk, l.header, nil, l.entries)
			l.trace.EndStep(stepApply, nil)
			l.countCommit(&chunk)
			return true, nil
		case errors.Is(err, ErrConflict):
			stored, err = l.catchUp(ctx, chunk.ID, last)
			l.trace.EndStep(stepRead, err)
			if stored {
				l.countCommit(&chunk)
				return true, nil // an earlier attempt succeeded, and its answer was lost
			}
			if err == nil && l.head.Seq >= chunk.Seq {
				l.engine.stats.conflicts.Add(1)
				return false, nil
			}
			uncertain = true // the chunk in its place may be this very one
			err = cmp.Or(err, errOccupantUnseen)
		case !fault.NothingStored(err):
			uncertain = true
		case !uncertain:
			return false, err
		}
		if !l.pauseSettling(ctx, began, pauses.NextBackOff(), err) {
			break
		}
		l.trace.EndStep(stepWait, nil)
	}
	l.engine.stats.unsettled.Add(1)
	return false, fault.Wrap(fault.Uncertain, err, "the outcome of an append is unknown")
}

// countCommit counts a chunk that this process has stored, once: not when it is read again, and not
// one of another process.
func (l *streamLog[S, C, E, R]) countCommit(chunk *Chunk) {
	l.engine.stats.commits.Add(1)
	l.engine.stats.entries.Add(uint64(chunk.Count))
}

// settlePatience limits how long calls wait behind a chunk whose outcome is unknown: one lost
// answer is settled in milliseconds.
const settlePatience = time.Second

// pauseSettling waits before the next attempt to append a chunk whose outcome is unknown,
// and reports whether the time for it is left.
func (l *streamLog[S, C, E, R]) pauseSettling(ctx context.Context, began time.Time, pause time.Duration, err error) bool {
	took := l.engine.clock.Now().Sub(began)
	if fault.NothingStored(err) || took > settlePatience {
		l.refuseWaiting(err)
	}
	return took+pause <= l.engine.tuning.SettleTimeout && l.engine.clock.Sleep(ctx, pause) == nil
}

// errOccupantUnseen is the outcome of an append while the chunk that has its place cannot
// be read yet.
var errOccupantUnseen = errors.New("what has the sequence number cannot be read yet")

// refuseWaiting fails the calls that wait behind a chunk whose outcome stays unknown, those
// of its batch that only ask, and those that come until it is known: that may take long. The
// log is blocked for them.
func (l *streamLog[S, C, E, R]) refuseWaiting(err error) {
	refusal := fault.Wrap(fault.Unavailable, err, "the store is away")
	l.blocked.Store(refusal)
	refuse := func(it *callItem[C, R]) {
		it.Value.err = refusal
		it.Finish()
	}
	for _, it := range l.queue.Clear() {
		refuse(it)
	}
	l.taken = slices.DeleteFunc(l.taken, func(it *callItem[C, R]) bool {
		asks := len(it.Value.commands) == 0
		if asks {
			refuse(it)
		}
		return asks
	})
}

// appendChunk stores the chunk and notes how long that took.
func (l *streamLog[S, C, E, R]) appendChunk(ctx context.Context, chunk Chunk) error {
	clock := l.engine.clock
	began := clock.Now()
	err := l.engine.store.Append(ctx, chunk)
	l.took.Store(int64(clock.Now().Sub(began)))
	l.trace.EndStep(stepAppend, err).Describe(len(l.taken), chunk.Count, len(chunk.Payload))
	return err
}

// settleBackoff are the pauses between attempts to settle an outcome.
func settleBackoff() *backoff.ExponentialBackOff {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval = 5 * time.Millisecond
	pauses.MaxInterval = time.Second
	pauses.RandomizationFactor = 0
	pauses.Multiplier = 2
	return pauses
}

// applyChunk folds a durable chunk into the state and makes it the head.
func (l *streamLog[S, C, E, R]) applyChunk(chunk *Chunk, header chunkHeader, record *ControlRecord, entries []E) {
	rules, head := l.engine.rules, chunk.Head()
	l.mu.Lock()
	switch {
	case record.StartsAgain():
		l.state, l.folds, l.keys = rules.New(), l.folds+1, keyRing{}
	case record.HasKind(RecordTruncating), record.HasKind(RecordTruncated):
		l.keys.dropUntil(record.Until)
	}
	l.applyEntries(chunk, header.keys, entries)
	l.head = head
	l.mu.Unlock()
	if l.detached {
		return
	}
	l.window.addGroups(chunk.Seq, header.groups, l.engine.tuning.GroupMemory)
	l.measureSize()
	l.tail.Add(int64(len(chunk.Payload)) + chunkOverhead)
	l.engine.options.Applied(l.name, chunk.Seq)
}

// measureSize notes how many bytes and keys the stream keeps resident.
func (l *streamLog[S, C, E, R]) measureSize() {
	l.size.Store(int64(l.engine.rules.Size(l.state) + logOverhead + groupOverhead*len(l.window.order) + l.keys.size()))
	l.chargeKeys()
}

const (
	logOverhead   = 512 // of a resident stream beside its state, in bytes
	groupOverhead = 128 // of a group in the de-duplication window, in bytes
	// chunkOverhead counts for a chunk beside its payload in the tail, in bytes. A database
	// stores some 400 more, and a new owner reads and applies the chunk in the time of a
	// thousand, while its callers wait.
	chunkOverhead = 1 << 10
)
