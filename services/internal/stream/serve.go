package stream

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
)

// Serve deals with a request that another process sent with [Peer.Send], and
// returns the answer to send back. An error means that the request makes no
// sense.
func (e *Engine[S, C, E, R]) Serve(ctx context.Context, request []byte) ([]byte, error) {
	var frames [][]byte
	for rest := request; len(rest) > 0; {
		frame, tail, err := cutFramed(rest)
		if err != nil {
			return nil, err
		}
		frames, rest = append(frames, frame), tail
	}
	answers := make([][]byte, len(frames))
	errs := make([]error, len(frames))
	var groups sync.WaitGroup
	for i, frame := range frames {
		groups.Go(func() { answers[i], errs[i] = e.serveGroup(ctx, frame) })
	}
	groups.Wait()
	var answer []byte
	for _, a := range answers {
		answer = appendFramed(answer, a)
	}
	return answer, errors.Join(errs...)
}

func (e *Engine[S, C, E, R]) serveGroup(ctx context.Context, frame []byte) ([]byte, error) {
	name, c, err := e.decodeGroup(frame)
	if err != nil {
		return nil, err
	}
	err = e.run(ctx, name, c)
	switch {
	case err == nil:
		return e.encodeOutcomes(answerHeader(groupDone, c.head), c.outcomes), nil
	case errors.Is(err, errStale):
		return answerHeader(groupStale, c.head), nil
	case errors.Is(err, errClosed):
		return answerHeader(groupClosed, 0), nil
	}
	// The call may be under way still, so nothing of it is looked at.
	return appendFault(answerHeader(groupFailed, 0), err), nil
}

func answerHeader(status byte, head uint64) []byte {
	return binary.AppendUvarint([]byte{status}, head)
}
