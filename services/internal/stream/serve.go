package stream

import (
	"context"
	"encoding/binary"
	"errors"
	"runtime"

	"go.opentelemetry.io/otel/trace"

	"github.com/acclaim-dev/acclaim/services/internal/wire"
)

// Serve runs a request that another process sent with [Peer.Send], and gives answer each
// part of the answer to send back. An error means that the request is malformed: then nothing
// is run. A group is answered as soon as it is done, so that a stream whose append has an
// unknown outcome holds up no other.
func (e *Engine[S, C, E, R]) Serve(ctx context.Context, request []byte, answer func(part []byte)) error {
	running, finished, spans, err := e.beginRequest(request)
	if err != nil {
		return err
	}
	defer e.endServing(spans)
	for left := len(running); left > 0; {
		var part []byte
		places := takeFinished(ctx, finished, left)
		for _, i := range places {
			part = e.appendAnswer(part, i, running[i].call, running[i].finish(ctx))
			running[i].ended = true
		}
		if left -= len(places); len(places) == 0 { // the sender waits no longer
			break
		}
		answer(part)
	}
	for i := range running {
		if !running[i].ended {
			_ = running[i].finish(ctx)
		}
	}
	return nil
}

// beginRequest begins to run the groups of a request. finished gets the place of each that
// has an outcome. spans are those of its sampled calls.
func (e *Engine[S, C, E, R]) beginRequest(request []byte) (running []localCall[S, C, E, R], finished chan int, spans []trace.Span, err error) {
	var names []string
	var traces string
	var calls []*submittedCall[C, R]
	for r := wire.NewReader(request); len(r.Rest()) > 0; {
		frame := r.Bytes()
		if err := r.Err(); err != nil {
			return nil, nil, nil, err
		}
		name, c, err := e.decodeGroup(frame)
		if err != nil {
			return nil, nil, nil, err
		}
		if c.isTraces(name) && len(calls) == 0 && traces == "" {
			traces = name
			continue
		}
		names, calls = append(names, name), append(calls, c)
	}
	spans = e.startServing(traces, calls)
	running, finished = make([]localCall[S, C, E, R], len(calls)), make(chan int, len(calls))
	for i, c := range calls {
		if running[i] = e.beginLocally(names[i], c, finished, i); running[i].item == nil {
			finished <- i
		}
	}
	return running, finished, spans, nil
}

// takeFinished waits until a group is finished, and returns all that are: none when ctx is
// done before. It yields to workers that are about to finish more.
func takeFinished(ctx context.Context, finished <-chan int, left int) (places []int) {
	select {
	case i := <-finished:
		places = append(places, i)
	case <-ctx.Done():
		return nil
	}
	const tries = 8
	for try := 0; try < tries && len(places) < left; {
		select {
		case i := <-finished:
			places = append(places, i)
		default:
			try++
			runtime.Gosched()
		}
	}
	return places
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
