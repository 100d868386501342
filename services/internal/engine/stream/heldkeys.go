package stream

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

// KeyHolder has the rules of states in which an entry can replace what a viewer had done before.
// The engine keeps the last key of such a record beside it, whatever the room for keys is, and
// of the keys before it those that the ring has room for.
type KeyHolder[S, C, E any] interface {
	// KeyPlace returns the number of the record that e, the last entry applied to s, has replaced.
	// It is false for an entry that adds to the record. A record keeps its number, and numbers
	// are given from 0 without gaps.
	KeyPlace(s S, e E) (place int, ok bool)

	// KeyPlaces returns the records of the viewer of c, noPlace for none: first the one that c would
	// change. replaces reports whether KeyPlace would be true of its entry.
	KeyPlaces(s S, c C) (places [2]int, replaces bool)

	// KeyEpoch returns a number that changes when the records of s end: then numbers begin at 0.
	KeyEpoch(s S) uint64
}

// NoPlace is the place of a record that does not exist.
const NoPlace = -1

// heldKeys are the last keys of records, by the places of these.
type heldKeys struct {
	epoch uint64
	keys  []heldKey
}

// heldKey is the key of a record; zero for none.
type heldKey struct {
	key     keyDigest
	request [4]byte // of the digest of the request
	at      uint32  // Unix time of its chunk in seconds, rounded up
}

const heldKeySize = 16

func newHeldKey(m once.Mark, at int64) heldKey {
	return heldKey{key: m.Key, request: [4]byte(m.Request[:]), at: uint32((at + 999) / time.Second.Milliseconds())}
}

// time returns when the key was stored, in Unix milliseconds.
func (k heldKey) time() int64 { return int64(k.at) * time.Second.Milliseconds() }

// isYoung reports whether the key must not go.
func (k heldKey) isYoung(now int64) bool { return k.at != 0 && !once.IsOld(k.time(), now) }

// at returns the key of a place.
func (h *heldKeys) at(place int) heldKey {
	if place < 0 || place >= len(h.keys) {
		return heldKey{}
	}
	return h.keys[place]
}

// find returns the digest of the request with a key, if the key is that of a place.
func (h *heldKeys) find(place int, m once.Mark, now int64) (request [8]byte, ok bool) {
	k := h.at(place)
	if k.at == 0 || k.key != m.Key || once.IsExpired(k.time(), now) {
		return request, false
	}
	if k.request == [4]byte(m.Request[:]) {
		return m.Request, true
	}
	copy(request[:], k.request[:])
	return request, true
}

// hold makes a key that of a place, and returns the one that was there.
func (h *heldKeys) hold(place int, k heldKey) (before heldKey) {
	if place >= len(h.keys) {
		h.keys = append(h.keys, make([]heldKey, place+1-len(h.keys))...)
	}
	before, h.keys[place] = h.keys[place], k
	return before
}

// release takes all keys, the oldest first.
func (h *heldKeys) release() []heldKey {
	all := slices.DeleteFunc(h.keys, func(k heldKey) bool { return k.at == 0 })
	slices.SortStableFunc(all, func(a, b heldKey) int { return cmp.Compare(a.at, b.at) })
	*h = heldKeys{}
	return all
}

func (h *heldKeys) size() int { return heldKeySize * cap(h.keys) }

func (h *heldKeys) appendSnapshot(buf []byte) []byte {
	buf = binary.AppendUvarint(buf, h.epoch)
	buf = binary.AppendUvarint(slices.Grow(buf, heldKeySize*len(h.keys)), uint64(len(h.keys)))
	for i := range h.keys {
		k := &h.keys[i]
		buf = binary.LittleEndian.AppendUint32(append(append(buf, k.key[:]...), k.request[:]...), k.at)
	}
	return buf
}

func restoreHeldKeys(r *wire.Reader) (h heldKeys) {
	h.epoch = r.Uvarint()
	h.keys = make([]heldKey, r.Count(heldKeySize))
	encoded := r.Take(heldKeySize * len(h.keys))
	for i := range h.keys {
		b := (*[heldKeySize]byte)(encoded[heldKeySize*i:])
		h.keys[i] = heldKey{keyDigest(b[:8]), [4]byte(b[8:12]), binary.LittleEndian.Uint32(b[12:])}
	}
	return h
}

// keyPlaces returns the places at which the key of one command may be held, and whether it would
// be.
func (d *chunkDraft[S, C, E, R]) keyPlaces(commands []C) (places [2]int, replaces bool) {
	if holder := d.log.engine.holder; holder != nil && len(commands) == 1 {
		return holder.KeyPlaces(d.log.state, commands[0])
	}
	return [2]int{NoPlace, NoPlace}, false
}

// applyEntries folds the entries of a chunk into the state, and keeps its keys.
func (l *streamLog[S, C, E, R]) applyEntries(chunk *Chunk, keys []storedKey, entries []E) {
	rules, holder := l.engine.rules, l.engine.holder
	if len(keys) == 0 && len(l.keys.keys)+len(l.keys.held.keys) == 0 {
		for _, entry := range entries {
			rules.Apply(l.state, chunk.At, entry)
		}
		return
	}
	allowed := l.allowedKeys()
	for i, entry := range entries {
		rules.Apply(l.state, chunk.At, entry)
		if holder == nil {
			continue
		}
		if len(l.keys.held.keys) > 0 && l.keys.held.epoch != holder.KeyEpoch(l.state) {
			l.keys.addReleased(chunk, allowed)
		}
		if len(keys) > 0 && keys[0].first == i {
			l.addKey(chunk, keys[0], entry, allowed)
			keys = keys[1:]
		}
	}
	for _, k := range keys {
		l.keys.addKey(chunk.Seq, chunk.At, k, chunk.At, allowed)
	}
	l.keys.dropOld(chunk.At, allowed)
}

// addKey keeps the key of an entry, or of several that begin with it. The entry is in the state.
func (l *streamLog[S, C, E, R]) addKey(chunk *Chunk, k storedKey, entry E, allowed int) {
	holder := l.engine.holder
	place, ok := NoPlace, false
	if k.entries == 1 && k.accepted == nil {
		place, ok = holder.KeyPlace(l.state, entry)
	}
	if !ok {
		l.keys.addKey(chunk.Seq, chunk.At, k, chunk.At, allowed)
		return
	}
	h := &l.keys.held
	if len(h.keys) == 0 {
		h.epoch = holder.KeyEpoch(l.state)
	}
	before := h.hold(place, newHeldKey(k.mark, chunk.At))
	if before.at != 0 && before.key != k.mark.Key {
		l.keys.addDisplaced(chunk, before, k.mark.Owner, allowed)
	}
}

// addDisplaced adds a key that was held, unless it is old and there is no room.
func (r *keyRing) addDisplaced(chunk *Chunk, k heldKey, owner once.Owner, allowed int) {
	at := min(k.time(), chunk.At)
	if once.IsExpired(at, chunk.At) || len(r.names) >= allowed && once.IsOld(at, chunk.At) {
		return
	}
	m := once.Mark{Owner: owner, Key: k.key}
	copy(m.Request[:], k.request[:])
	r.addKey(chunk.Seq, at, storedKey{mark: m}, chunk.At, allowed)
}

// addReleased adds the keys of all records, which have ended: young ones above what is allowed,
// too.
func (r *keyRing) addReleased(chunk *Chunk, allowed int) {
	all := r.held.release()
	for len(all) > 0 && len(r.names)+len(all) > allowed && once.IsOld(all[0].time(), chunk.At) {
		all = all[1:]
	}
	for _, k := range all {
		r.addDisplaced(chunk, k, once.Owner{}, allowed)
	}
}
