package stream

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/acclaim-dev/acclaim/services/internal/engine/batch"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// forwardPatience limits how long a call waits behind a group that is under way, and one
// that only asks for all its attempts. A group that the owner can store takes the time of
// two appends at most, its own and the one under way, or the owner refuses it. One whose
// outcome is unknown takes longer, and the owner, which refuses all that waits for it there,
// does not see what waits here.
const forwardPatience = 2 * queueTimeout

// outcomePatience limits how long a call waits for the outcome of a group that the owner may
// have run. It covers one outcome that the owner, or this process after it, has to settle. Where
// both have to, one behind the other, they go on without the caller.
const outcomePatience = 40 * time.Second

// dispatchAttempts limits the peers that are tried before a call is run here.
const dispatchAttempts = 2

// forwardedCall is a call on its way to another process.
type forwardedCall[C, R any] struct {
	call *submittedCall[C, R]
	// here is set when the peer has not run the call, and this process must.
	here     bool
	attempts int
	span     trace.Span // nil: not sampled
}

// dispatchCall runs a call on the owner of its stream.
func (e *Engine[S, C, E, R]) dispatchCall(ctx context.Context, name string, c *submittedCall[C, R]) error {
	c.traces = e.traces.NewCall(ctx)
	var deadline time.Time
	for range dispatchAttempts {
		peer := e.ownerOf(name)
		if peer == nil || c.here {
			break
		}
		if deadline.IsZero() || len(c.commands) > 0 {
			deadline = time.Now().Add(forwardPatience)
		}
		if here, err := e.forwardCall(ctx, peer, name, c, deadline); !here {
			return err
		}
		// What the attempt has shown about the peer may give another owner.
	}
	return e.runLocally(ctx, name, c)
}

func (e *Engine[S, C, E, R]) ownerOf(name string) Peer {
	if e.options.Peers == nil {
		return nil
	}
	return e.options.Peers.Owner(name)
}

// forwardCall sends a call to a peer. It reports here when the peer certainly has not
// run it. It gives up after the deadline, see awaitForwarded.
func (e *Engine[S, C, E, R]) forwardCall(ctx context.Context, peer Peer, name string, c *submittedCall[C, R], deadline time.Time) (here bool, err error) {
	if err := e.beginCall(); err != nil {
		return false, err
	}
	defer e.work.Done()
	if e.waiting.Add(1) > e.tuning.QueueLimit {
		e.waiting.Add(-1)
		return false, errFull()
	}
	defer e.waiting.Add(-1)

	p := &forwardedCall[C, R]{call: c, span: e.traces.StartSpan(c.traces, "forward", trace.SpanKindClient)}
	defer func() { e.traces.EndSpan(p.span, err) }()
	it := batch.NewItem(p)
	l := e.peerQueue(peer)
	q := l.push(name, it)
	e.beginRequests(l)
	return e.awaitForwarded(ctx, q, it, deadline)
}

// awaitForwarded waits until a call was dealt with. After the deadline it gives up a call
// that waits behind another group, and one that only asks: nothing of them is stored. It gives up
// any other after outcomePatience, with fault.Uncertain.
func (*Engine[S, C, E, R]) awaitForwarded(ctx context.Context, q *streamQueue[C, R], it *batch.Item[*forwardedCall[C, R]], deadline time.Time) (here bool, err error) {
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	for late := false; ; late = true {
		select {
		case <-it.Done():
			return it.Value.here, it.Value.call.err
		case <-ctx.Done():
			return false, abandonError(ctx, q.calls.Withdraw(it))
		case <-timer.C:
			if q.calls.Withdraw(it) || len(it.Value.call.commands) == 0 {
				return false, fault.New(fault.Unavailable, "the owner of the stream takes too long")
			}
			if late {
				return false, fault.New(fault.Uncertain, "the outcome of a command is unknown")
			}
			timer.Reset(outcomePatience - forwardPatience)
		}
	}
}
