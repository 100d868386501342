package stream

import (
	"errors"

	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// staleAttempts limits how often a group is sent again with a higher low watermark.
const staleAttempts = 3

// handleAnswer finishes the calls of a group by the answer to it, or recovers them.
func (e *Engine[S, C, E, R]) handleAnswer(p *forwardedGroup[C, R], frame []byte, err error) {
	e.stats.forwarded.Add(uint64(len(p.items)))
	if err == nil {
		err = e.readAnswer(p, frame)
		if err == nil {
			return
		}
	}
	if errors.Is(err, ErrNotSent) || len(p.call.commands) == 0 {
		p.takeBack()
		return
	}
	e.stats.recovered.Add(1)
	e.work.Go(func() {
		p.call.group.recovery, p.call.traces = true, p.traces()
		err := e.runLocally(e.ctx, p.queue.name, p.call)
		if err != nil {
			err = fault.Wrap(fault.Uncertain, err, "the outcome of a command is unknown")
		}
		p.finishCalls(err)
	})
}

// readAnswer reads the answer to a group and finishes the calls that it answers. After
// an error the outcome of the group is unknown.
func (e *Engine[S, C, E, R]) readAnswer(p *forwardedGroup[C, R], frame []byte) error {
	r := wire.NewReader(frame)
	status, head := r.Byte(), r.Uvarint()
	if err := r.Err(); err != nil {
		return err
	}
	switch status {
	case groupDone:
		if err := e.decodeOutcomes(r, p.call.outcomes); err != nil {
			return err
		}
		at, err := readTime(r)
		if err != nil {
			return err
		}
		e.lowWatermarks.Add(p.queue.name, head)
		p.call.head = Position{head, at}
		e.options.Applied(p.queue.name, head)
		p.finishCalls(nil)
	case groupStale:
		e.lowWatermarks.Add(p.queue.name, head)
		p.retry()
	case groupFailed:
		failure := fault.New(fault.Kind(r.Byte()-1), r.Text())
		if err := r.Err(); err != nil {
			return err
		}
		p.finishCalls(failure)
	case groupClosed:
		p.takeBack()
	default:
		return wire.ErrMalformed
	}
	return nil
}

// retry puts the calls of a group back into their queue, or leaves them to their callers
// after staleAttempts.
func (g *forwardedGroup[C, R]) retry() {
	if g.items[0].Value.attempts++; g.items[0].Value.attempts > staleAttempts {
		g.takeBack()
		return
	}
	g.queue.calls.Return(g.items)
}

// takeBack leaves a group's calls to their callers.
func (g *forwardedGroup[C, R]) takeBack() {
	for _, it := range g.items {
		it.Value.here = true
		it.Finish()
	}
}

// finishCalls gives every call of a group its outcomes, or err if that is not nil.
func (g *forwardedGroup[C, R]) finishCalls(err error) {
	ofCommands, ofQueries := g.call.outcomes[:len(g.call.commands)], g.call.outcomes[len(g.call.commands):]
	for _, it := range g.items {
		c := it.Value.call
		if c.err = err; err == nil { // else the group may be under way still
			n := copy(c.outcomes[:len(c.commands)], ofCommands)
			m := copy(c.outcomes[n:], ofQueries)
			ofCommands, ofQueries = ofCommands[n:], ofQueries[m:]
			c.head = g.call.head
		}
		it.Finish()
	}
}
