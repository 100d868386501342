package stream

import (
	"encoding/binary"
	"errors"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// A request between processes is a number of groups, an answer as many statuses:
//
//	request = { size name id floor commands queries }
//	answer  = { size status head { kind result | kind reason } }
//
// where size counts the bytes of the rest, so that a group that nobody can
// decode spoils no other.
var errMalformed = errors.New("stream: malformed message between processes")

// What an engine says of a group as a whole.
const (
	groupDone   = iota // outcomes follow
	groupStale         // errStale: nothing was stored, and head may be the floor of another attempt
	groupFailed        // a fault follows that all outcomes share
	groupClosed        // this engine takes nothing any more; nothing was stored
)

func appendFramed(buf, frame []byte) []byte {
	return append(binary.AppendUvarint(buf, uint64(len(frame))), frame...)
}

func cutFramed(buf []byte) (frame, rest []byte, err error) {
	size, n := binary.Uvarint(buf)
	if n <= 0 || size > uint64(len(buf)-n) {
		return nil, nil, errMalformed
	}
	return buf[n : n+int(size)], buf[n+int(size):], nil
}

func cutUvarint(buf []byte) (v uint64, rest []byte, err error) {
	v, n := binary.Uvarint(buf)
	if n <= 0 {
		return 0, nil, errMalformed
	}
	return v, buf[n:], nil
}

// encodeGroup encodes a call for another process.
func (e *Engine[S, C, E, R]) encodeGroup(name string, c *call[C, R]) []byte {
	buf := appendFramed(nil, []byte(name))
	buf = append(buf, c.group.id[:]...)
	buf = binary.AppendUvarint(buf, c.group.floor)
	for _, commands := range [][]C{c.commands, c.queries} {
		buf = binary.AppendUvarint(buf, uint64(len(commands)))
		for _, command := range commands {
			buf = e.rules.AppendCommand(buf, command)
		}
	}
	return buf
}

func (e *Engine[S, C, E, R]) decodeGroup(buf []byte) (name string, c *call[C, R], err error) {
	encoded, buf, err := cutFramed(buf)
	c = &call[C, R]{}
	if err != nil || len(buf) < len(c.group.id) {
		return "", nil, errMalformed
	}
	buf = buf[copy(c.group.id[:], buf):]
	if c.group.floor, buf, err = cutUvarint(buf); err != nil {
		return "", nil, err
	}
	for _, commands := range []*[]C{&c.commands, &c.queries} {
		if *commands, buf, err = e.decodeCommands(buf); err != nil {
			return "", nil, err
		}
	}
	c.outcomes = make([]outcome[R], len(c.commands)+len(c.queries))
	return string(encoded), c, nil
}

func (e *Engine[S, C, E, R]) decodeCommands(buf []byte) (commands []C, rest []byte, err error) {
	count, buf, err := cutUvarint(buf)
	if err != nil || count > uint64(len(buf)) {
		return nil, nil, errMalformed
	}
	for range count {
		var command C
		if command, buf, err = e.rules.DecodeCommand(buf); err != nil {
			return nil, nil, err
		}
		commands = append(commands, command)
	}
	return commands, buf, nil
}

// encodeOutcomes encodes what a call came to. Kinds are shifted by one: 0 is an
// outcome without a failure.
func (e *Engine[S, C, E, R]) encodeOutcomes(buf []byte, outcomes []outcome[R]) []byte {
	var before R
	for _, o := range outcomes {
		if o.err != nil {
			buf = appendFault(buf, o.err)
			continue
		}
		buf = e.rules.AppendResult(append(buf, 0), o.result, before)
		before = o.result
	}
	return buf
}

func (e *Engine[S, C, E, R]) decodeOutcomes(buf []byte, outcomes []outcome[R]) (err error) {
	var before R
	for i := range outcomes {
		o := &outcomes[i]
		switch {
		case len(buf) == 0:
			return errMalformed
		case buf[0] != 0:
			o.err, buf, err = cutFault(buf)
		default:
			o.result, buf, err = e.rules.DecodeResult(buf[1:], before)
			before = o.result
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// appendFault encodes what a caller may hear of a failure. Its cause stays in
// the log of the process where it happened.
func appendFault(buf []byte, err error) []byte {
	reason := ""
	if f, ok := errors.AsType[*fault.Error](err); ok {
		reason = f.Reason
	}
	return appendFramed(append(buf, byte(1+fault.KindOf(err))), []byte(reason))
}

func cutFault(buf []byte) (failure error, rest []byte, err error) {
	reason, rest, err := cutFramed(buf[1:])
	if err != nil {
		return nil, nil, err
	}
	return fault.New(fault.Kind(buf[0]-1), string(reason)), rest, nil
}
