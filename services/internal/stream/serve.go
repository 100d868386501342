package stream

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/acclaim-dev/acclaim/services/internal/wire"
)

// Serve runs a request that another process sent with [Peer.Send], and returns the
// answer to send back. An error means that the request is malformed: then nothing is run.
func (e *Engine[S, C, E, R]) Serve(ctx context.Context, request []byte) ([]byte, error) {
	var names []string
	var traces string
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
		if c.isTraces(name) && len(calls) == 0 && traces == "" {
			traces = name
			continue
		}
		names, calls = append(names, name), append(calls, c)
	}
	spans := e.startServing(traces, calls)
	defer e.endServing(spans)
	running := make([]localCall[S, C, E, R], len(calls))
	for i, c := range calls {
		running[i] = e.beginLocally(names[i], c)
	}
	var answer []byte
	if traces != "" {
		answer = wire.AppendBytes(answer, answerHeader(groupDone, 0))
	}
	for _, r := range running {
		answer = wire.AppendBytes(answer, e.answerGroup(r.call, r.finish(ctx)))
	}
	return answer, nil
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
