package stream

import (
	"encoding/binary"
	"slices"

	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// keyedSpan is the commands of a call that one key covers.
type keyedSpan struct {
	first, count int
	key          *once.Key
}

// storedKey is a key that a chunk holds.
type storedKey struct {
	mark once.Mark
	// first and entries are the place and number of the key's entries in the chunk.
	first, entries int
	// accepted has a bit for each command of the key, set if it was accepted; nil: all were.
	accepted commandBitmap
}

func (k *storedKey) hasAccepted(i int) bool { return k.accepted == nil || k.accepted.has(i) }

// keysGroup is the id of the group that stands for the keys of a chunk in its encoding, so
// that versions without keys skip them. Its bitmap is the encoding of the keys.
const keysGroup = "idempotency-keys"

func encodeKeys(keys []storedKey) (buf commandBitmap) {
	for i := range keys {
		k := &keys[i]
		buf = binary.AppendUvarint(k.mark.AppendTo(buf), uint64(k.first))
		buf = wire.AppendBytes(binary.AppendUvarint(buf, uint64(k.entries)), k.accepted)
	}
	return buf
}

func decodeKeys(encoded []byte) (keys []storedKey, err error) {
	r := wire.NewReader(encoded)
	for len(r.Rest()) > 0 {
		k := storedKey{mark: once.ReadMark(r.Take(once.MarkSize)), first: int(r.Uvarint()), entries: int(r.Uvarint()), accepted: readAccepted(r)}
		if min(k.first, k.entries) < 0 {
			r.Fail(wire.ErrMalformed)
		}
		keys = append(keys, k)
	}
	return keys, r.Err()
}

// readAccepted reads a bitmap, nil where it is empty.
func readAccepted(r *wire.Reader) commandBitmap {
	if b := r.Bytes(); len(b) > 0 {
		return slices.Clone(b) // not to keep the whole chunk
	}
	return nil
}

// keysWithout returns the keys of a chunk without those of single entries that drop returns
// true for. A key of several entries names their sender alone.
func keysWithout(keys []storedKey, drop func(entry int) bool) []storedKey {
	return slices.DeleteFunc(slices.Clone(keys), func(k storedKey) bool { return k.entries == 1 && drop(k.first) })
}

// markName is the part of a mark by which a key is found.
type markName struct {
	owner once.Owner
	key   [8]byte
}

func nameOf(m once.Mark) markName { return markName{m.Owner, m.Key} }

// keyRing holds the keys of a stream, the oldest first, which is never gone. It follows from the chunks alone:
// each key leaves it 24 hours after its chunk, or when the ring is full. Then an owner of
// more than a sixteenth of the ring loses its own oldest key, and else all the oldest.
type keyRing struct {
	keys  []ringKey
	base  uint64 // the number of keys[0]
	names map[markName]uint64
	own   map[once.Owner]ownKeys
	bytes int
}

type ringKey struct {
	storedKey
	seq  uint64 // of its chunk
	at   int64
	next uint64 // the number of the owner's next key
	gone bool
}

// ownKeys are the numbers of an owner's keys.
type ownKeys struct {
	count          int
	oldest, newest uint64
}

const (
	ringShare   = 16  // the part of the ring from which an owner makes room for itself
	ringKeySize = 192 // of a key in memory, roughly, in bytes
)

// addKeys adds the keys of a chunk, and drops the oldest above limit and those that expired.
func (r *keyRing) addKeys(seq uint64, at int64, keys []storedKey, limit int) {
	for len(r.keys) > 0 && once.IsExpired(r.keys[0].at, at) {
		r.removeKey(r.base)
	}
	for _, k := range keys {
		r.addKey(ringKey{storedKey: k, seq: seq, at: at})
		if len(r.names) <= limit {
			continue
		}
		victim := r.own[k.mark.Owner]
		if victim.count <= limit/ringShare {
			victim.oldest = r.base
		}
		r.removeKey(victim.oldest)
	}
	if len(r.keys) > 2*max(len(r.names), limit/ringShare) {
		r.compactKeys()
	}
}

func (r *keyRing) addKey(k ringKey) {
	if r.names == nil {
		r.names, r.own = map[markName]uint64{}, map[once.Owner]ownKeys{}
	}
	n, name := r.base+uint64(len(r.keys)), nameOf(k.mark)
	if _, known := r.names[name]; known {
		return // a process without keys, of an older version, may have let it in again
	}
	own, ok := r.own[k.mark.Owner]
	if ok {
		r.keys[own.newest-r.base].next = n
	} else {
		own.oldest = n
	}
	own.count, own.newest = own.count+1, n
	r.own[k.mark.Owner], r.names[name] = own, n
	r.keys = append(r.keys, k)
	r.bytes += ringKeySize + len(k.accepted)
}

// removeKey forgets a key, which is the oldest of its owner.
func (r *keyRing) removeKey(n uint64) {
	k := &r.keys[n-r.base]
	k.gone = true
	delete(r.names, nameOf(k.mark))
	r.bytes -= ringKeySize + len(k.accepted)
	own := r.own[k.mark.Owner]
	own.count, own.oldest = own.count-1, k.next
	if r.own[k.mark.Owner] = own; own.count == 0 {
		delete(r.own, k.mark.Owner)
	}
	for len(r.keys) > 0 && r.keys[0].gone {
		r.keys, r.base = r.keys[1:], r.base+1
	}
}

// dropUntil forgets the keys of the chunks up to a sequence number, which are truncated.
func (r *keyRing) dropUntil(seq uint64) {
	for len(r.keys) > 0 && r.keys[0].seq <= seq {
		r.removeKey(r.base)
	}
}

// compactKeys gives the room of forgotten keys back.
func (r *keyRing) compactKeys() {
	fresh := keyRing{}
	for _, k := range r.keys {
		if !k.gone {
			fresh.addKey(ringKey{storedKey: k.storedKey, seq: k.seq, at: k.at})
		}
	}
	*r = fresh
}

// findKey returns a key that is not expired.
func (r *keyRing) findKey(m once.Mark, at int64) (storedKey, bool) {
	n, ok := r.names[nameOf(m)]
	if !ok {
		return storedKey{}, false
	}
	k := r.keys[n-r.base]
	return k.storedKey, !once.IsExpired(k.at, at)
}

// encodeSnapshot returns the encoding of the keys: their number, and of each its chunk, time,
// mark and bitmap.
func (r *keyRing) encodeSnapshot() []byte {
	buf := binary.AppendUvarint(nil, uint64(len(r.names)))
	for i := range r.keys {
		if k := &r.keys[i]; !k.gone {
			buf = wire.AppendBytes(k.mark.AppendTo(binary.AppendVarint(binary.AppendUvarint(buf, k.seq), k.at)), k.accepted)
		}
	}
	return buf
}

func restoreKeys(r *wire.Reader) (ring keyRing) {
	for range r.Count(once.MarkSize + 3) {
		seq, at := r.Uvarint(), r.Varint()
		ring.addKey(ringKey{storedKey: storedKey{mark: once.ReadMark(r.Take(once.MarkSize)), accepted: readAccepted(r)}, seq: seq, at: at})
	}
	return ring
}

// equal reports whether two rings hold the same keys.
func (r *keyRing) equal(o *keyRing) bool {
	return string(r.encodeSnapshot()) == string(o.encodeSnapshot())
}

// decideCommands decides the commands of a call in order, those of a key together.
func (d *chunkDraft[S, C, E, R]) decideCommands(c *submittedCall[C, R], decide func(i int)) {
	spans := c.spans
	for i := 0; i < len(c.commands); i++ {
		if len(spans) == 0 || spans[0].first != i {
			decide(i)
			continue
		}
		d.decideSpan(c, spans[0], decide)
		i += spans[0].count - 1
		spans = spans[1:]
	}
}

// decideSpan decides the commands of a key, or answers them as those of the request before
// that had it.
func (d *chunkDraft[S, C, E, R]) decideSpan(c *submittedCall[C, R], span keyedSpan, decide func(i int)) {
	outcomes := c.outcomes[span.first : span.first+span.count]
	switch before, known, err := d.findKey(span.key); {
	case err != nil:
		for i := range outcomes {
			outcomes[i] = commandOutcome[R]{err: err}
		}
	case known:
		for i := range outcomes {
			outcomes[i] = d.repeatOutcome(c.commands[span.first+i], before.hasAccepted(i))
		}
	default:
		first, accepted, all := len(d.entries), newBitmap(span.count), true
		for i := range outcomes {
			d.keyed = true
			decide(span.first + i)
			d.keyed = false
			if outcomes[i].err != nil {
				all = false
				continue
			}
			accepted.set(i)
		}
		if all {
			accepted = nil
		}
		if entries := len(d.entries) - first; entries > 0 {
			d.addKey(storedKey{span.key.Marks[0], first, entries, accepted})
		}
	}
}

// repeatOutcome returns the outcome of a command that was accepted or refused before.
func (d *chunkDraft[S, C, E, R]) repeatOutcome(command C, accepted bool) commandOutcome[R] {
	if !accepted {
		return commandOutcome[R]{err: fault.New(fault.Invalid, "refused when the key was first used"), replayed: true}
	}
	return commandOutcome[R]{result: d.log.engine.rules.RepeatResult(d.state, command), replayed: true}
}

// findKey looks for a key in the log and in the draft.
func (d *chunkDraft[S, C, E, R]) findKey(key *once.Key) (before storedKey, known bool, err error) {
	_, known, err = key.Find(func(m once.Mark) (request [8]byte, ok bool) {
		if i, ok := d.drafted[nameOf(m)]; ok {
			before = d.header.keys[i]
			return before.mark.Request, true
		}
		before, ok = d.log.keys.findKey(m, d.at)
		return before.mark.Request, ok
	})
	return before, known, err
}

func (d *chunkDraft[S, C, E, R]) addKey(k storedKey) {
	if d.drafted == nil {
		d.drafted = map[markName]int{}
	}
	d.drafted[nameOf(k.mark)] = len(d.header.keys)
	d.header.keys = append(d.header.keys, k)
}

// appendSpans appends the keys of a call.
func appendSpans(buf []byte, spans []keyedSpan) []byte {
	for _, s := range spans {
		buf = binary.AppendUvarint(binary.AppendUvarint(buf, uint64(s.first)), uint64(s.count))
		buf = binary.AppendUvarint(buf, uint64(len(s.key.Marks)))
		for _, m := range s.key.Marks {
			buf = m.AppendTo(buf)
		}
	}
	return buf
}

// readSpans reads the keys of a call with a number of commands, which is all that r has.
func readSpans(r *wire.Reader, commands int) (spans []keyedSpan) {
	for end := 0; len(r.Rest()) > 0; {
		s := keyedSpan{first: int(r.Uvarint()), count: int(r.Uvarint()), key: &once.Key{}}
		for range r.Count(once.MarkSize) {
			s.key.Marks = append(s.key.Marks, once.ReadMark(r.Take(once.MarkSize)))
		}
		if s.first < end || s.first > commands || s.count < 1 || s.count > commands-s.first || len(s.key.Marks) == 0 {
			r.Fail(wire.ErrMalformed)
			return nil
		}
		end = s.first + s.count
		spans = append(spans, s)
	}
	return spans
}

// markReplayed tells the keys of a call whether their commands were repeated.
func (c *submittedCall[C, R]) markReplayed() {
	for _, s := range c.spans {
		s.key.Replayed = c.outcomes[s.first].replayed
	}
}

// setKeys gives a call of several commands one key for all or, if that is nil, one or nil
// for each.
func (c *submittedCall[C, R]) setKeys(whole *once.Key, each []*once.Key) {
	if whole != nil {
		c.spans = []keyedSpan{{count: len(c.commands), key: whole}}
		return
	}
	for i, key := range each {
		if key != nil {
			c.spans = append(c.spans, keyedSpan{i, 1, key})
		}
	}
}
