package stream

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/acclaim-dev/acclaim/services/internal/batch"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/wire"
)

// peerQueue holds the calls to forward to one peer. Few requests with the calls of many
// streams are under way at a time ([batch.Pace]): a request costs more than the calls in it.
// Of a stream one group is under way at a time, so that what comes meanwhile is in the next,
// and a stream that is slow holds one request only.
type peerQueue[C, R any] struct {
	peer   Peer
	pushed atomic.Uint64 // calls

	mu      sync.Mutex
	streams map[string]*streamQueue[C, R]
	ready   []*streamQueue[C, R] // those with calls and no group under way
	pace    batch.Pace
	// starting is set while a request is about to take what is ready, later while the pace
	// lets none begin.
	starting, later bool
}

// streamQueue holds the calls of one stream to forward to one peer.
type streamQueue[C, R any] struct {
	name  string
	calls batch.Queue[*forwardedCall[C, R]]
}

// forwardedCall is a call on its way to another process.
type forwardedCall[C, R any] struct {
	call *submittedCall[C, R]
	// here is set when the peer has not run the call, and this process must.
	here     bool
	attempts int
	span     trace.Span // nil: not sampled
}

// forwardedGroup holds the calls of one stream in one request. The peer runs them as a
// group.
type forwardedGroup[C, R any] struct {
	queue *streamQueue[C, R]
	call  *submittedCall[C, R] // all that is in items
	items []*batch.Item[*forwardedCall[C, R]]
	frame []byte
}

const (
	callsPerRequest = 512       // calls in one request
	groupBytesLimit = 512 << 10 // of commands for one stream, unless one call alone is larger
	// requestBytesLimit limits a request, unless one group alone is larger.
	requestBytesLimit = 8 << 20
	// requestsSideBySide is the number of requests to one peer that are under way while
	// calls always wait, mostRequests limits them when some are slow.
	requestsSideBySide, mostRequests = 2, 16
	// lowWatermarksKept limits the streams of other processes whose last known heads
	// are kept.
	lowWatermarksKept = 1 << 16
	// dispatchAttempts limits the peers that are tried before a call is run here.
	dispatchAttempts = 2
	// staleAttempts limits how often a group is sent again with a higher low
	// watermark.
	staleAttempts = 3
)

// dispatchCall runs a call on the owner of its stream.
func (e *Engine[S, C, E, R]) dispatchCall(ctx context.Context, name string, c *submittedCall[C, R]) error {
	c.traces = e.tracesOf(ctx)
	var began time.Time
	for range dispatchAttempts {
		peer := e.ownerOf(name)
		if peer == nil {
			break
		}
		patience := forwardPatience
		if began.IsZero() {
			began = time.Now()
		} else if len(c.commands) == 0 {
			patience -= time.Since(began)
		}
		if here, err := e.forwardCall(ctx, peer, name, c, patience); !here {
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
// run it. It gives up after some time, see awaitForwarded.
func (e *Engine[S, C, E, R]) forwardCall(ctx context.Context, peer Peer, name string, c *submittedCall[C, R], patience time.Duration) (here bool, err error) {
	if err := e.beginCall(); err != nil {
		return false, err
	}
	defer e.work.Done()
	if e.waiting.Add(1) > e.tuning.QueueLimit {
		e.waiting.Add(-1)
		return false, errFull()
	}
	defer e.waiting.Add(-1)

	p := &forwardedCall[C, R]{call: c, span: e.startForward(c)}
	defer func() { e.endForward(p.span, err) }()
	it := batch.NewItem(p)
	l := e.peerQueue(peer)
	q := l.push(name, it)
	e.beginRequests(l)
	return e.awaitForwarded(ctx, q, it, patience)
}

// awaitForwarded waits until a call was dealt with. When its patience is over it gives up a
// call that waits behind another group, and one that only asks: nothing of them is stored.
func (*Engine[S, C, E, R]) awaitForwarded(ctx context.Context, q *streamQueue[C, R], it *batch.Item[*forwardedCall[C, R]], patience time.Duration) (here bool, err error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case <-it.Done():
			return it.Value.here, it.Value.call.err
		case <-ctx.Done():
			return false, abandonError(ctx, q.calls.Withdraw(it))
		case <-timer.C:
			if q.calls.Withdraw(it) || len(it.Value.call.commands) == 0 {
				return false, fault.New(fault.Unavailable, "the owner of the stream takes too long")
			}
		}
	}
}

// forwardPatience limits how long a call waits behind a group that is under way, and one
// that only asks for all its attempts. A group that the owner can store takes the time of
// two appends at most, its own and the one under way, or the owner refuses it. One whose
// outcome is unknown takes longer, and the owner, which refuses all that waits for it there,
// does not see what waits here.
const forwardPatience = 2 * queueTimeout

// peerQueue returns the queue to a peer.
func (e *Engine[S, C, E, R]) peerQueue(peer Peer) *peerQueue[C, R] {
	e.mu.Lock()
	defer e.mu.Unlock()
	l, ok := e.peerQueues[peer.ID()]
	if !ok {
		l = &peerQueue[C, R]{
			peer: peer, streams: map[string]*streamQueue[C, R]{},
			pace: batch.Pace{Parts: requestsSideBySide, Most: mostRequests},
		}
		e.peerQueues[peer.ID()] = l
	}
	return l
}

// push adds a call, and returns the queue of its stream.
func (l *peerQueue[C, R]) push(name string, it *batch.Item[*forwardedCall[C, R]]) *streamQueue[C, R] {
	l.pushed.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	q, ok := l.streams[name]
	if !ok {
		q = &streamQueue[C, R]{name: name}
		l.streams[name] = q
	}
	if q.calls.Push(it) {
		l.ready = append(l.ready, q)
	}
	return q
}

// beginRequests begins a request if some calls are ready and the pace lets one begin. What
// makes either so calls it.
func (e *Engine[S, C, E, R]) beginRequests(l *peerQueue[C, R]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ready) == 0 || l.starting {
		return
	}
	switch wait, ok := l.pace.NextWait(e.clock.Now()); {
	case !ok, wait > 0 && l.later:
	case wait > 0 && e.ctx.Err() == nil:
		l.later = true
		e.work.Go(func() {
			_ = e.clock.Sleep(e.ctx, wait) // once the context is done nothing waits any more
			l.mu.Lock()
			l.later = false
			l.mu.Unlock()
			e.beginRequests(l)
		})
	default:
		l.starting = true
		e.work.Go(func() { e.sendRequest(l) })
	}
}

// sendRequest sends what is ready in one request, and deals with the answer.
func (e *Engine[S, C, E, R]) sendRequest(l *peerQueue[C, R]) {
	l.gather()
	request, groups := e.takeRequest(l)
	if len(groups) > 0 {
		e.beginRequests(l) // there may be more than fits
		began, traces := e.clock.Now(), e.encodeTraces(groups)
		answer, err := l.peer.Send(e.ctx, withTraces(request, traces))
		answers := wire.NewReader(answer)
		if len(traces) > 0 {
			answers.Bytes() // that the traces were read
		}
		for _, p := range groups {
			e.stats.forwarded.Add(uint64(len(p.items)))
			frame := answers.Bytes()
			if err == nil {
				err = answers.Err()
			}
			e.handleAnswer(p, frame, err)
		}
		l.endRequest(groups, e.clock.Now().Sub(began))
	}
	e.beginRequests(l)
	e.dropIdle(l)
}

// gather yields to callers that are about to push, like [batch.Queue.Gather].
func (l *peerQueue[C, R]) gather() {
	const tries = 8
	for n, try := uint64(0), 0; try < tries && l.pushed.Load() > n; try++ {
		n = l.pushed.Load()
		runtime.Gosched()
	}
}

// takeRequest takes calls that are ready and returns the request that holds them, in groups.
func (e *Engine[S, C, E, R]) takeRequest(l *peerQueue[C, R]) (request []byte, groups []*forwardedGroup[C, R]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.starting = false
	for calls := 0; len(l.ready) > 0 && calls < callsPerRequest; l.ready = l.ready[1:] {
		q := l.ready[0]
		items := q.calls.Take(nil, callsPerRequest-calls)
		if len(items) == 0 { // all were withdrawn
			delete(l.streams, q.name)
			continue
		}
		of := e.divideCalls(q, items)
		if size := sizeOf(of); len(request) > 0 && len(request)+size > requestBytesLimit {
			q.calls.Return(items)
			break
		}
		for _, p := range of {
			request = wire.AppendBytes(request, p.frame)
		}
		groups, calls = append(groups, of...), calls+len(items)
	}
	if len(groups) > 0 {
		l.pace.Begin(e.clock.Now())
	}
	return request, groups
}

func sizeOf[C, R any](groups []*forwardedGroup[C, R]) (size int) {
	for _, p := range groups {
		size += len(p.frame)
	}
	return size
}

// endRequest makes the streams of a request ready again in which calls wait.
func (l *peerQueue[C, R]) endRequest(groups []*forwardedGroup[C, R], took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pace.End(took)
	for i, p := range groups {
		switch {
		case i > 0 && groups[i-1].queue == p.queue:
		case p.queue.calls.End():
			delete(l.streams, p.queue.name)
		default:
			l.ready = append(l.ready, p.queue)
		}
	}
}

// dropIdle drops the queue to a peer that has nothing to do. A call that has it already
// goes through it all the same.
func (e *Engine[S, C, E, R]) dropIdle(l *peerQueue[C, R]) {
	e.mu.Lock()
	defer e.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.streams) == 0 && !l.starting && e.peerQueues[l.peer.ID()] == l {
		delete(e.peerQueues, l.peer.ID())
	}
}

// divideCalls makes groups of the calls of a stream: one, or several if its frame is larger
// than groupBytesLimit.
func (e *Engine[S, C, E, R]) divideCalls(q *streamQueue[C, R], items []*batch.Item[*forwardedCall[C, R]]) (groups []*forwardedGroup[C, R]) {
	for rest := [][]*batch.Item[*forwardedCall[C, R]]{items}; len(rest) > 0; {
		p := e.buildGroup(q, rest[0])
		if n := len(rest[0]); len(p.frame) > groupBytesLimit && n > 1 {
			rest = slices.Insert(rest[1:], 0, rest[0][:n/2], rest[0][n/2:])
			continue
		}
		groups, rest = append(groups, p), rest[1:]
	}
	return groups
}

// buildGroup makes one group of calls: the commands in their order, then the queries.
func (e *Engine[S, C, E, R]) buildGroup(q *streamQueue[C, R], items []*batch.Item[*forwardedCall[C, R]]) *forwardedGroup[C, R] {
	c := &submittedCall[C, R]{}
	c.group.id = GroupID(e.random.newChunkID())
	c.group.lowWatermark, _ = e.lowWatermarks.Get(q.name)
	for _, it := range items {
		one := it.Value.call
		for _, s := range one.spans {
			s.first += len(c.commands)
			c.spans = append(c.spans, s)
		}
		c.commands, c.queries = append(c.commands, one.commands...), append(c.queries, one.queries...)
	}
	c.outcomes = make([]commandOutcome[R], len(c.commands)+len(c.queries))
	return &forwardedGroup[C, R]{queue: q, call: c, items: items, frame: e.encodeGroup(q.name, c)}
}

// handleAnswer finishes the calls of a group by the answer to it, or recovers them.
func (e *Engine[S, C, E, R]) handleAnswer(p *forwardedGroup[C, R], frame []byte, err error) {
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
		e.lowWatermarks.Add(p.queue.name, head)
		p.call.head = head
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
func (p *forwardedGroup[C, R]) retry() {
	if p.items[0].Value.attempts++; p.items[0].Value.attempts > staleAttempts {
		p.takeBack()
		return
	}
	p.queue.calls.Return(p.items)
}

// takeBack leaves a group's calls to their callers.
func (p *forwardedGroup[C, R]) takeBack() {
	for _, it := range p.items {
		it.Value.here = true
		it.Finish()
	}
}

// finishCalls gives every call of a group its outcomes, or err if that is not nil.
func (p *forwardedGroup[C, R]) finishCalls(err error) {
	ofCommands, ofQueries := p.call.outcomes[:len(p.call.commands)], p.call.outcomes[len(p.call.commands):]
	for _, it := range p.items {
		c := it.Value.call
		if c.err = err; err == nil { // else the group may be under way still
			n := copy(c.outcomes[:len(c.commands)], ofCommands)
			m := copy(c.outcomes[n:], ofQueries)
			ofCommands, ofQueries = ofCommands[n:], ofQueries[m:]
			c.head = p.call.head
		}
		it.Finish()
	}
}
