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
	status := byte(groupDone)
	err = e.run(ctx, name, c)
	switch {
	case errors.Is(err, errStale):
		status = groupStale
	case errors.Is(err, errClosed):
		status = groupClosed
	case err != nil:
		status = groupFailed
	}
	answer := binary.AppendUvarint([]byte{status}, c.head)
	switch status {
	case groupDone:
		return e.encodeOutcomes(answer, c.outcomes), nil
	case groupFailed:
		return appendFault(answer, err), nil
	}
	return answer, nil
}
