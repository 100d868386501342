package stream

import (
	"encoding/binary"
	"errors"

	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// A request between processes is a number of groups, the parts of its answer hold as many
// statuses:
//
//	request = { size name id low watermark commands queries keys }
//	part    = { group size status head { kind result | kind reason } time }
//
// where size counts the bytes of the rest, and group is the place of a group in the request. The
// time is that of head; earlier releases neither send nor read it. A request is decoded as a
// whole before any of it runs.

// What an engine states about a group as a whole.
const (
	groupDone   = iota // outcomes follow
	groupStale         // errStaleWatermark: nothing was stored, and head may be the low watermark of another attempt
	groupFailed        // a fault follows that all outcomes share
	groupClosed        // this engine takes nothing any more; nothing was stored
)

// usualGroupBytes is enough for the encoding of a group of one command, and of its answer.
const usualGroupBytes = 128

// encodeGroup encodes a call for another process.
func (e *Engine[S, C, E, R]) encodeGroup(name string, c *submittedCall[C, R]) []byte {
	buf := wire.AppendBytes(make([]byte, 0, usualGroupBytes), name)
	buf = append(buf, c.group.id[:]...)
	buf = binary.AppendUvarint(buf, c.group.lowWatermark)
	for _, commands := range [][]C{c.commands, c.queries} {
		buf = binary.AppendUvarint(buf, uint64(len(commands)))
		for _, command := range commands {
			buf = e.rules.AppendCommand(buf, command)
		}
	}
	return appendSpans(buf, c.spans)
}

func (e *Engine[S, C, E, R]) decodeGroup(buf []byte) (name string, c *submittedCall[C, R], err error) {
	r := wire.NewReader(buf)
	c = &submittedCall[C, R]{}
	name = r.Text()
	c.group.id, c.group.lowWatermark = GroupID(r.Take(len(c.group.id))), r.Uvarint()
	c.commands = e.decodeCommands(r, c.single[:0])
	c.queries = e.decodeCommands(r, nil)
	c.spans = readSpans(r, len(c.commands))
	c.makeOutcomes()
	return name, c, r.Err()
}

// decodeCommands decodes commands, and appends them to the empty slice buf.
func (e *Engine[S, C, E, R]) decodeCommands(r *wire.Reader, buf []C) (commands []C) {
	commands = buf
	for range r.Count(1) {
		command := e.rules.DecodeCommand(r)
		if r.Err() != nil {
			return nil
		}
		commands = append(commands, command)
	}
	return commands
}

// statusReplayed is the kind of an outcome without a failure whose command was a repetition.
const statusReplayed = 0xff

// encodeOutcomes encodes what a call came to. Kinds are shifted by one: 0 is an
// outcome without a failure.
func (e *Engine[S, C, E, R]) encodeOutcomes(buf []byte, outcomes []commandOutcome[R]) []byte {
	var before R
	for _, o := range outcomes {
		if o.err != nil {
			buf = appendFault(buf, o.err)
			continue
		}
		status := byte(0)
		if o.replayed {
			status = statusReplayed
		}
		buf = e.rules.AppendResult(append(buf, status), o.result, before)
		before = o.result
	}
	return buf
}

// readTime returns the time behind the outcomes, 0 where there is none.
func readTime(r *wire.Reader) (at int64, err error) {
	if len(r.Rest()) > 0 {
		at = r.Varint()
	}
	return at, r.Err()
}

func (e *Engine[S, C, E, R]) decodeOutcomes(r *wire.Reader, outcomes []commandOutcome[R]) error {
	var before R
	for i := range outcomes {
		o := &outcomes[i]
		switch kind := r.Byte(); {
		case kind == 0, kind == statusReplayed:
			o.replayed = kind == statusReplayed
			if r.Err() == nil {
				o.result = e.rules.DecodeResult(r, before)
				before = o.result
			}
		default:
			o.err = fault.New(fault.Kind(kind-1), r.Text())
		}
		if err := r.Err(); err != nil {
			return err
		}
	}
	return nil
}

// appendFault encodes the kind and the reason of a failure. Its cause stays in the
// log of the process where it happened.
func appendFault(buf []byte, err error) []byte {
	reason := ""
	if f, ok := errors.AsType[*fault.Error](err); ok {
		reason = f.Reason
	}
	return wire.AppendBytes(append(buf, byte(1+fault.KindOf(err))), reason)
}
