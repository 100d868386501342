package stream

import (
	"encoding/binary"

	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

// keyDigest finds a key: its scope is part of the digest.
type keyDigest = [8]byte

// keyRing holds the keys of a stream, the oldest first, which is never gone. A key leaves it 24
// hours after its chunk, or when the ring holds more than it is allowed to and the key is
// older than once.KeptAtLeast. Then an owner of more than a sixteenth of the ring loses its own
// oldest key, and else all the oldest.
//
// What processes are allowed to hold differs, so their rings do. Those of a stream agree in the
// keys that both hold, and both hold all younger ones.
type keyRing struct {
	keys  []ringKey
	base  uint32 // the number of keys[0]; numbers wrap around
	names map[keyDigest]uint32
	own   map[once.Owner]ownKeys
	// partly holds the bitmaps of keys with commands that were refused.
	partly map[keyDigest]commandBitmap
	held   heldKeys
	bytes  int // of keys and bitmaps in memory, roughly
}

type ringKey struct {
	mark once.Mark
	at   int64
	seq  uint64 // of its chunk; 0 for a key that is gone
	next uint32 // the number of the owner's next key
}

// ownKeys are the numbers of an owner's keys.
type ownKeys struct{ count, oldest, newest uint32 }

const (
	ringShare = 16 // the part of the ring from which an owner makes room for itself
	// KeySize approximates the memory of a key, in bytes, with its places in both maps.
	KeySize = 112
)

// addKey adds a key of a chunk, and drops another if there are more than allowed.
func (r *keyRing) addKey(seq uint64, at int64, k storedKey, chunkAt int64, allowed int) {
	r.appendKey(seq, at, k)
	if len(r.names) <= allowed {
		return
	}
	victim := r.own[k.mark.Owner]
	if int(victim.count) <= allowed/ringShare || !once.IsOld(r.keys[victim.oldest-r.base].at, chunkAt) {
		victim.oldest = r.base
	}
	if once.IsOld(r.keys[victim.oldest-r.base].at, chunkAt) {
		r.removeKey(victim.oldest)
	}
}

func (r *keyRing) appendKey(seq uint64, at int64, k storedKey) {
	if r.names == nil {
		r.names, r.own = map[keyDigest]uint32{}, map[once.Owner]ownKeys{}
	}
	if known, ok := r.names[k.mark.Key]; ok { // expired, or let in again by a process of an older version
		again := &r.keys[known-r.base]
		again.at, again.mark.Request = max(again.at, at), k.mark.Request
		r.setAccepted(k)
		return
	}
	n := r.base + uint32(len(r.keys))
	own, ok := r.own[k.mark.Owner]
	if ok {
		r.keys[own.newest-r.base].next = n
	} else {
		own.oldest = n
	}
	own.count, own.newest = own.count+1, n
	r.own[k.mark.Owner], r.names[k.mark.Key] = own, n
	r.keys = append(r.keys, ringKey{mark: k.mark, seq: seq, at: at})
	r.bytes += KeySize
	r.setAccepted(k)
}

// setAccepted notes which commands of a key were accepted.
func (r *keyRing) setAccepted(k storedKey) {
	if before, ok := r.partly[k.mark.Key]; ok {
		delete(r.partly, k.mark.Key)
		r.bytes -= KeySize + len(before)
	}
	if k.accepted == nil {
		return
	}
	if r.partly == nil {
		r.partly = map[keyDigest]commandBitmap{}
	}
	r.partly[k.mark.Key] = k.accepted
	r.bytes += KeySize + len(k.accepted)
}

// removeKey forgets a key, which is the oldest of its owner.
func (r *keyRing) removeKey(n uint32) {
	k := &r.keys[n-r.base]
	k.seq = 0
	delete(r.names, k.mark.Key)
	r.bytes -= KeySize
	r.setAccepted(storedKey{mark: k.mark})
	own := r.own[k.mark.Owner]
	own.count, own.oldest = own.count-1, k.next
	if r.own[k.mark.Owner] = own; own.count == 0 {
		delete(r.own, k.mark.Owner)
	}
	for len(r.keys) > 0 && r.keys[0].seq == 0 {
		r.keys, r.base = r.keys[1:], r.base+1
	}
	if len(r.keys) > 2*len(r.names)+64 {
		r.compactKeys()
	}
}

// dropOld forgets the keys that are expired, and old ones above a number.
func (r *keyRing) dropOld(now int64, allowed int) {
	for len(r.keys) > 0 {
		at := r.keys[0].at
		if !once.IsExpired(at, now) && (len(r.names) <= allowed || !once.IsOld(at, now)) {
			return
		}
		r.removeKey(r.base)
	}
}

// countOld returns the number of keys that dropOld would forget for others to come.
func (r *keyRing) countOld(now int64, allowed int) (n int) {
	for k := range r.present {
		if n >= len(r.names)-allowed || !once.IsOld(k.at, now) {
			break
		}
		n++
	}
	return n
}

// dropUntil forgets the keys of the chunks up to a sequence number, which are truncated.
func (r *keyRing) dropUntil(seq uint64) {
	for len(r.keys) > 0 && r.keys[0].seq <= seq {
		r.removeKey(r.base)
	}
}

// compactKeys gives the room of forgotten keys back.
func (r *keyRing) compactKeys() {
	fresh := keyRing{held: r.held}
	for k := range r.present {
		fresh.appendKey(k.seq, k.at, r.stored(k))
	}
	*r = fresh
}

// present yields the keys that are not gone.
func (r *keyRing) present(yield func(k *ringKey) bool) {
	for i := range r.keys {
		if k := &r.keys[i]; k.seq != 0 && !yield(k) {
			return
		}
	}
}

func (r *keyRing) stored(k *ringKey) storedKey {
	return storedKey{mark: k.mark, accepted: r.partly[k.mark.Key]}
}

// findKey returns a key that is not expired.
func (r *keyRing) findKey(m once.Mark, now int64) (storedKey, bool) {
	n, ok := r.names[m.Key]
	if !ok {
		return storedKey{}, false
	}
	k := &r.keys[n-r.base]
	return r.stored(k), !once.IsExpired(k.at, now)
}

// countOf returns the number of an owner's keys.
func (r *keyRing) countOf(owner once.Owner) int { return int(r.own[owner].count) }

// size returns the bytes in memory of all keys, roughly.
func (r *keyRing) size() int { return r.bytes + r.held.size() }

// encodeSnapshot returns the encoding of the keys: their number, and of each its chunk, time,
// mark and bitmap.
func (r *keyRing) encodeSnapshot() []byte {
	buf := binary.AppendUvarint(nil, uint64(len(r.names)))
	for k := range r.present {
		buf = k.mark.AppendTo(binary.AppendVarint(binary.AppendUvarint(buf, k.seq), k.at))
		buf = wire.AppendBytes(buf, r.partly[k.mark.Key])
	}
	return buf
}

func restoreKeys(r *wire.Reader) (ring keyRing) {
	for range r.Count(once.MarkSize + 3) {
		seq, at := r.Uvarint(), r.Varint()
		k := storedKey{mark: once.ReadMark(r.Take(once.MarkSize)), accepted: readAccepted(r)}
		if seq == 0 {
			r.Fail(wire.ErrMalformed)
			return ring
		}
		ring.appendKey(seq, at, k)
	}
	return ring
}

// agreesWith reports whether the keys of a snapshot may follow from the chunks that the keys in
// full do. Other processes may have dropped more keys, and kept in the ring what is held in
// full. Versions without once.KeptAtLeast also dropped young keys above fewestDropped.
func (r *keyRing) agreesWith(full *keyRing, now int64) bool {
	const fewestDropped = 65_536
	lacksYoung := false
	for want := range full.present {
		known, same := r.hasSame(full.stored(want))
		if known && !same {
			return false
		}
		lacksYoung = lacksYoung || !known && !once.IsOld(want.at, now)
	}
	same, lacks := r.agreesWithHeld(full, now)
	lacksYoung = lacksYoung || lacks
	if !same {
		return false
	}
	return !lacksYoung || len(r.names) >= fewestDropped
}

// agreesWithHeld compares what is held: whether all of it is the same, and whether a young key is
// neither held nor in the ring.
func (r *keyRing) agreesWithHeld(full *keyRing, now int64) (same, lacksYoung bool) {
	for place := range max(len(r.held.keys), len(full.held.keys)) {
		k, want := r.held.at(place), full.held.at(place)
		if k.at != 0 && k != want {
			return false, lacksYoung
		}
		_, inRing := r.names[want.key]
		lacksYoung = lacksYoung || k.at == 0 && !inRing && want.isYoung(now)
	}
	return true, lacksYoung
}

// hasSame reports whether the ring has a key, and whether that is of the same request.
func (r *keyRing) hasSame(k storedKey) (known, same bool) {
	n, known := r.names[k.mark.Key]
	return known, known && sameRequest(r.keys[n-r.base].mark, k.mark) && string(r.partly[k.mark.Key]) == string(k.accepted)
}

// sameRequest reports whether two marks are of the same request. It compares the part of their
// digests that is left of keys that were held.
func sameRequest(a, b once.Mark) bool { return [4]byte(a.Request[:]) == [4]byte(b.Request[:]) }
