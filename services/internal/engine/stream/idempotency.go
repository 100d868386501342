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
	places, replaces := d.keyPlaces(c.commands[span.first : span.first+span.count])
	before, known, err := d.findKey(span.key, places)
	if err == nil && !known && !(replaces && !d.log.keys.held.at(places[0]).isYoung(d.at)) {
		err = d.takeRoom(span.key)
	}
	switch {
	case err != nil:
		for i := range outcomes {
			outcomes[i] = commandOutcome[R]{err: err}
		}
	case known:
		for i := range outcomes {
			outcomes[i] = d.repeatOutcome(c.commands[span.first+i], before.hasAccepted(i))
		}
	default:
		d.decideKeyed(span, outcomes, decide)
	}
}

// decideKeyed decides the commands of a key, and notes it if one of them has an entry.
func (d *chunkDraft[S, C, E, R]) decideKeyed(span keyedSpan, outcomes []commandOutcome[R], decide func(i int)) {
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

// repeatOutcome returns the outcome of a command that was accepted or refused before.
func (d *chunkDraft[S, C, E, R]) repeatOutcome(command C, accepted bool) commandOutcome[R] {
	if !accepted {
		return commandOutcome[R]{err: fault.New(fault.Invalid, "refused when the key was first used"), replayed: true}
	}
	return commandOutcome[R]{result: d.log.engine.rules.RepeatResult(d.state, command), replayed: true}
}

// findKey looks for a key in the log and in the draft.
func (d *chunkDraft[S, C, E, R]) findKey(key *once.Key, places [2]int) (before storedKey, known bool, err error) {
	_, known, err = key.Find(func(m once.Mark) (request [8]byte, ok bool) {
		if i, ok := d.drafted[m.Key]; ok {
			before = d.header.keys[i]
			return before.mark.Request, true
		}
		for _, place := range places {
			if request, ok := d.log.keys.held.find(place, m, d.at); ok {
				return request, true
			}
		}
		if before, ok = d.log.keys.findKey(m, d.at); ok && sameRequest(before.mark, m) {
			return m.Request, true
		}
		return before.mark.Request, ok
	})
	return before, known, err
}

func (d *chunkDraft[S, C, E, R]) addKey(k storedKey) {
	if d.drafted == nil {
		d.drafted = map[keyDigest]int{}
	}
	d.drafted[k.mark.Key] = len(d.header.keys)
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

// isRefusedKey reports whether commands were refused because of their key.
func isRefusedKey(err error) bool {
	kind := fault.KindOf(err)
	return err != nil && (kind == fault.Reused || kind == fault.Unavailable)
}
