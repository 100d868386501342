package stream

import (
	"context"
	"encoding/binary"
	"errors"
	"runtime"

	"go.opentelemetry.io/otel/trace"

	"github.com/acclaim-dev/acclaim/services/internal/engine/batchtrace"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

// Serve runs a request that another process sent with [Peer.Send], and gives answer each
// part of the answer to send back. An error means that the request is malformed: then nothing
// is run. A group is answered as soon as it is done, so that a stream whose append has an
// unknown outcome holds up no other.
func (e *Engine[S, C, E, R]) Serve(ctx context.Context, request []byte, answer func(part []byte)) error {
	groups, finished, err := e.beginRequest(request)
	if err != nil {
		return err
	}
	for left := len(groups); left > 0; {
		places := takeFinished(ctx, finished, left)
		part := make([]byte, 0, len(places)*usualGroupBytes)
		for _, i := range places {
			part = e.appendAnswer(part, i, groups[i].call, groups[i].finish(ctx))
		}
		if left -= len(places); len(places) == 0 { // the sender waits no longer
			break
		}
		answer(part)
		for _, i := range places {
			groups[i].end(e.traces, nil)
		}
	}
	for i := range groups {
		if g := &groups[i]; !g.ended {
			g.end(e.traces, g.finish(ctx))
		}
	}
	return nil
}

// servedGroup is a group of a request, which this engine runs.
type servedGroup[S, C, E, R any] struct {
	localCall[S, C, E, R]
	name  string
	spans []trace.Span // of its sampled calls
	ended bool
}

// end ends the spans of a group that was answered, or was not because of err.
func (g *servedGroup[S, C, E, R]) end(traces *batchtrace.Recorder, err error) {
	g.ended = true
	for _, span := range g.spans {
		traces.EndSpan(span, err)
	}
}

// beginRequest begins to run the groups of a request. finished gets the place of each that
// has an outcome.
func (e *Engine[S, C, E, R]) beginRequest(request []byte) (groups []servedGroup[S, C, E, R], finished chan int, err error) {
	const usualGroups = 16
	groups = make([]servedGroup[S, C, E, R], 0, usualGroups)
	var traces string
	for r := wire.NewReader(request); len(r.Rest()) > 0; {
		frame := r.Bytes()
		if err := r.Err(); err != nil {
			return nil, nil, err
		}
		name, c, err := e.decodeGroup(frame)
		if err != nil {
			return nil, nil, err
		}
		if c.isTraces(name) && len(groups) == 0 && traces == "" {
			traces = name
			continue
		}
		groups = append(groups, servedGroup[S, C, E, R]{localCall: localCall[S, C, E, R]{call: c}, name: name})
	}
	e.startServing(traces, groups)
	finished = make(chan int, len(groups))
	for i := range groups {
		g := &groups[i]
		if g.localCall = e.beginLocally(g.name, g.call, finished, i); g.item == nil {
			finished <- i
		}
	}
	return groups, finished, nil
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
		return binary.AppendVarint(e.encodeOutcomes(answerHeader(groupDone, c.head.Seq), c.outcomes), c.head.At)
	case errors.Is(err, errStaleWatermark):
		return answerHeader(groupStale, c.head.Seq)
	case errors.Is(err, errClosed):
		return answerHeader(groupClosed, 0)
	}
	// The call may be under way still, so nothing of it is looked at.
	return appendFault(answerHeader(groupFailed, 0), err)
}

func answerHeader(status byte, head uint64) []byte {
	return binary.AppendUvarint(append(make([]byte, 0, usualGroupBytes), status), head)
}
