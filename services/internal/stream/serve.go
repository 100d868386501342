package stream

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/wire"
)

// answerTogether limits the time in which groups of a request are answered together. One
// that takes longer, such as that of a stream with an unknown outcome, is answered by itself
// and does not hold up the others.
const answerTogether = 20 * time.Millisecond

// Serve runs a request that another process sent with [Peer.Send], and gives answer each
// part of the answer to send back, one at a time. An error means that the request is
// malformed: then nothing is run.
func (e *Engine[S, C, E, R]) Serve(ctx context.Context, request []byte, answer func(part []byte)) error {
	running, err := e.beginRequest(request)
	if err != nil {
		return err
	}
	soon, cancel := context.WithTimeout(ctx, answerTogether)
	defer cancel()
	var part []byte
	var slow int
	late := make(chan []byte)
	for i, r := range running {
		if r.isDone(soon) {
			part = e.appendAnswer(part, i, r.call, r.finish(ctx))
			continue
		}
		slow++
		go func() { late <- e.appendAnswer(nil, i, r.call, r.finish(ctx)) }()
	}
	if len(part) > 0 {
		answer(part)
	}
	for range slow {
		answer(<-late)
	}
	return nil
}

// beginRequest begins to run the groups of a request.
func (e *Engine[S, C, E, R]) beginRequest(request []byte) (running []localCall[S, C, E, R], err error) {
	var names []string
	var calls []*submittedCall[C, R]
	for r := wire.NewReader(request); len(r.Rest()) > 0; {
		frame := r.Bytes()
		if err := r.Err(); err != nil {
			return nil, err
		}
		name, c, err := e.decodeGroup(frame)
		if err != nil {
			return nil, err
		}
		names, calls = append(names, name), append(calls, c)
	}
	running = make([]localCall[S, C, E, R], len(calls))
	for i, c := range calls {
		running[i] = e.beginLocally(names[i], c)
	}
	return running, nil
}

// isDone waits until finish would not, or reports false when ctx is done before.
func (r *localCall[S, C, E, R]) isDone(ctx context.Context) bool {
	if r.item == nil {
		return true
	}
	select {
	case <-r.item.Done():
		return true
	case <-ctx.Done():
		return false
	}
}

// appendAnswer appends the answer to a group that was run, the given one of its request.
func (e *Engine[S, C, E, R]) appendAnswer(buf []byte, group int, c *submittedCall[C, R], err error) []byte {
	buf = binary.AppendUvarint(buf, uint64(group)) //nolint:gosec // an index
	return wire.AppendBytes(buf, e.answerGroup(c, err))
}

// answerGroup returns the answer to a group that was run.
func (e *Engine[S, C, E, R]) answerGroup(c *submittedCall[C, R], err error) []byte {
	switch {
	case err == nil:
		return e.encodeOutcomes(answerHeader(groupDone, c.head), c.outcomes)
	case errors.Is(err, errStaleWatermark):
		return answerHeader(groupStale, c.head)
	case errors.Is(err, errClosed):
		return answerHeader(groupClosed, 0)
	}
	// The call may be under way still, so nothing of it is looked at.
	return appendFault(answerHeader(groupFailed, 0), err)
}

func answerHeader(status byte, head uint64) []byte {
	return binary.AppendUvarint([]byte{status}, head)
}
