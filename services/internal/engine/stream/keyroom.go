package stream

import (
	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
)

// An engine has room for Options.KeyBudget bytes of keys in the rings of its streams. Above a
// half of it the stream that gets a key drops those that are older than once.KeptAtLeast. So what
// is left above a half is young, and a caller gets no more of it than is free: one caller at
// most a half, each of two a third, and there is always room for others.

// KeyStats are the keys of requests in an engine.
type KeyStats struct {
	Used, Limit     int64  // keys in memory, beside those that are held beside a record
	Full, OverShare uint64 // commands refused because there was no room, and because their caller has too much
}

// otherKeys returns the number of keys of other streams.
func (l *streamLog[S, C, E, R]) otherKeys() int {
	if !l.resident {
		return 0
	}
	return int(l.engine.keysUsed.Load()) - l.chargedKeys
}

// allowedKeys returns the number of keys above which the stream drops old ones.
func (l *streamLog[S, C, E, R]) allowedKeys() int {
	return max(0, l.engine.keyLimit/2-1-l.otherKeys())
}

// chargeKeys counts the keys of a resident stream among those of the engine.
func (l *streamLog[S, C, E, R]) chargeKeys() {
	if n := len(l.keys.names); l.resident && n != l.chargedKeys {
		l.engine.keysUsed.Add(int64(n - l.chargedKeys))
		l.chargedKeys = n
	}
}

// takeRoom returns once.ErrFull where there is no room for a key.
func (d *chunkDraft[S, C, E, R]) takeRoom(key *once.Key) error {
	l, owner := d.log, key.Marks[0].Owner
	limit := l.engine.keyLimit
	free := limit - l.otherKeys() - len(l.keys.names) - d.newKeys
	if free <= limit/2 {
		d.countKeys()
		free += d.oldKeys
	}
	switch {
	case free > limit/2: // more than any caller has
	case free <= 0:
		l.engine.stats.keysFull.Add(1)
		return once.ErrFull
	case l.keys.countOf(owner)+d.own[owner] >= free:
		l.engine.stats.keysOverShare.Add(1)
		return once.ErrFull
	}
	d.newKeys++
	if d.own != nil {
		d.own[owner]++
	}
	return nil
}

// countKeys counts the keys that the chunk will drop, and those of each owner in the draft.
func (d *chunkDraft[S, C, E, R]) countKeys() {
	if d.own != nil {
		return
	}
	d.oldKeys = d.log.keys.countOld(d.at, d.log.allowedKeys())
	d.own = map[once.Owner]int{}
	for i := range d.header.keys {
		d.own[d.header.keys[i].mark.Owner]++
	}
}
