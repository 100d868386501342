package stream

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/batch"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

// peerQueue holds the calls to forward to one peer. A request costs more than the calls in
// it, so few requests are under way at a time ([batch.Pace]), each with the calls of many
// streams. A stream has one group of calls under way. Calls that arrive meanwhile are in its
// next group, and a slow stream holds one request.
//
// Slow streams do not block others: a request that has taken countedFor hangs and gives its
// place to another, so a call of another stream waits for countedFor at most. The requests
// that hang are bounded, too: each holds a stream that no other request holds, and
// internalLimits.QueueLimit bounds the calls in them. The peer bounds their bytes, and this
// process runs what the peer refuses.
type peerQueue[C, R any] struct {
	peer   Peer
	pushed atomic.Int64 // calls

	mu      sync.Mutex
	streams map[string]*streamQueue[C, R]
	ready   []*streamQueue[C, R] // those with calls and no group under way
	pace    batch.Pace
	// counted are the requests under way that the pace counts, oldest first.
	counted []*sentRequest[C, R]
	// starting is set while a request is about to take what is ready, later while one waits
	// for the pace, full while one waits for the oldest of counted.
	starting, later, full bool
}

// streamQueue holds the calls of one stream to forward to one peer.
type streamQueue[C, R any] struct {
	name  string
	calls batch.Queue[*forwardedCall[C, R]]
	// groups is the number of those under way, all in one request.
	groups int
}

// forwardedGroup holds the calls of one stream in one request. The peer runs them as a
// group.
type forwardedGroup[C, R any] struct {
	queue *streamQueue[C, R]
	call  *submittedCall[C, R] // all that is in items
	items []*batch.Item[*forwardedCall[C, R]]
	frame []byte // until it is in the request
}

const (
	callsPerRequest = 512       // calls in one request
	groupBytesLimit = 512 << 10 // of commands for one stream, unless one call alone is larger
	// requestBytesLimit limits a request, unless one group alone is larger.
	requestBytesLimit = 8 << 20
	// requestsSideBySide is the number of requests to one peer that are under way while
	// calls always wait, mostRequests limits them when some are slow.
	requestsSideBySide, mostRequests = 2, 16
	// countedFor limits the time for which a request counts, if others need its place.
	countedFor = 100 * time.Millisecond
	// lowWatermarksKept limits the streams of other processes whose last known heads
	// are kept.
	lowWatermarksKept = 1 << 16
)

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
func (p *peerQueue[C, R]) push(name string, it *batch.Item[*forwardedCall[C, R]]) *streamQueue[C, R] {
	p.pushed.Add(1)
	p.mu.Lock()
	defer p.mu.Unlock()
	q, ok := p.streams[name]
	if !ok {
		q = &streamQueue[C, R]{name: name}
		p.streams[name] = q
	}
	if q.calls.Push(it) {
		p.ready = append(p.ready, q)
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
	switch wait, ok := l.nextWait(e.clock.Now()); {
	case !ok:
		e.beginLater(l, &l.full, wait)
	case wait > 0 && e.ctx.Err() == nil:
		e.beginLater(l, &l.later, wait)
	default:
		l.starting = true
		e.work.Go(func() { e.sendRequest(l) })
	}
}

// beginLater begins a request after a wait, unless waits is set: then one waits already.
// l.mu is held.
func (e *Engine[S, C, E, R]) beginLater(l *peerQueue[C, R], waits *bool, wait time.Duration) {
	if *waits || e.ctx.Err() != nil { // once the context is done, all under way ends
		return
	}
	*waits = true
	e.work.Go(func() {
		_ = e.clock.Sleep(e.ctx, wait)
		l.mu.Lock()
		*waits = false
		l.mu.Unlock()
		e.beginRequests(l)
	})
}

// nextWait returns how long the next request waits for the pace, or false and for how long the
// oldest one counts. l.mu is held.
func (p *peerQueue[C, R]) nextWait(now time.Time) (wait time.Duration, ok bool) {
	for {
		if wait, ok = p.pace.NextWait(now); ok || len(p.counted) == 0 {
			return wait, ok
		}
		oldest := p.counted[0]
		if wait = countedFor - now.Sub(oldest.began); wait > 0 {
			return min(wait, countedFor), false // the clock may have stepped back
		}
		p.counted = p.counted[1:]
		p.pace.Hang()
		oldest.hangs = true
	}
}

// sentRequest is a request under way.
type sentRequest[C, R any] struct {
	queue  *peerQueue[C, R]
	groups []*forwardedGroup[C, R]
	began  time.Time
	// answered counts the groups that are. The pace counts the request until most are: the
	// others are of streams that take long.
	answered int
	// hangs is set when the request gave its place to another.
	hangs bool
}

// sendRequest sends what is ready in one request, and deals with the answer.
func (e *Engine[S, C, E, R]) sendRequest(l *peerQueue[C, R]) {
	batch.Gather(func() int { return int(l.pushed.Load()) })
	if request, s := e.takeRequest(l); s != nil {
		e.beginRequests(l) // there may be more than fits
		traces := e.encodeTraces(s.groups)
		err := l.peer.Send(e.ctx, withTraces(request, traces), func(part []byte) { e.handlePart(s, part) })
		e.endRequest(s, err)
	}
	e.beginRequests(l)
	e.dropIdle(l)
}

// handlePart deals with the groups that a part of an answer answers.
func (e *Engine[S, C, E, R]) handlePart(s *sentRequest[C, R], part []byte) {
	var done []*forwardedGroup[C, R]
	for r := wire.NewReader(part); len(r.Rest()) > 0; {
		n, frame := r.Uvarint(), r.Bytes()
		if r.Err() != nil || n >= uint64(len(s.groups)) || s.groups[n] == nil {
			break // what follows has no answer
		}
		e.handleAnswer(s.groups[n], frame, nil)
		done, s.groups[n] = append(done, s.groups[n]), nil
	}
	s.endGroups(done, e.clock.Now().Sub(s.began))
	e.beginRequests(s.queue)
}

// endRequest deals with the groups that have no answer.
func (e *Engine[S, C, E, R]) endRequest(s *sentRequest[C, R], err error) {
	var left []*forwardedGroup[C, R]
	for _, p := range s.groups {
		if p != nil {
			e.handleAnswer(p, nil, cmp.Or(err, wire.ErrMalformed))
			left = append(left, p)
		}
	}
	s.endGroups(left, e.clock.Now().Sub(s.began))
}

// takeRequest takes calls that are ready and returns the request that holds them, in groups;
// nil without any.
func (e *Engine[S, C, E, R]) takeRequest(l *peerQueue[C, R]) (request []byte, s *sentRequest[C, R]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.starting = false
	var groups []*forwardedGroup[C, R]
	for calls := 0; len(l.ready) > 0 && calls < callsPerRequest; l.ready = l.ready[1:] {
		q, before := l.ready[0], len(groups)
		items := q.calls.Take(nil, callsPerRequest-calls)
		if len(items) == 0 { // all were withdrawn
			delete(l.streams, q.name)
			continue
		}
		groups = e.appendGroups(groups, q, items)
		of := groups[before:]
		if size := sizeOf(of); len(request) > 0 && len(request)+size > requestBytesLimit {
			q.calls.Return(items)
			groups = groups[:before]
			break
		}
		for _, p := range of {
			request, p.frame = wire.AppendBytes(request, p.frame), nil
		}
		q.groups, calls = len(of), calls+len(items)
	}
	if len(groups) == 0 {
		return nil, nil
	}
	s = &sentRequest[C, R]{queue: l, groups: groups, began: e.clock.Now()}
	l.pace.Begin(s.began)
	l.counted = append(l.counted, s)
	return request, s
}

func sizeOf[C, R any](groups []*forwardedGroup[C, R]) (size int) {
	for _, p := range groups {
		size += len(p.frame)
	}
	return size
}

// endGroups makes the streams of groups ready again in which calls wait.
func (s *sentRequest[C, R]) endGroups(groups []*forwardedGroup[C, R], took time.Duration) {
	l := s.queue
	l.mu.Lock()
	defer l.mu.Unlock()
	before := s.answered
	if s.answered += len(groups); 2*before < len(s.groups) && 2*s.answered >= len(s.groups) {
		l.endCounting(s, took)
	}
	for _, p := range groups {
		switch p.queue.groups--; {
		case p.queue.groups > 0:
		case p.queue.calls.End():
			delete(l.streams, p.queue.name)
		default:
			l.ready = append(l.ready, p.queue)
		}
	}
}

// endCounting ends a request for the pace. l.mu is held.
func (p *peerQueue[C, R]) endCounting(s *sentRequest[C, R], took time.Duration) {
	p.pace.End(took)
	if s.hangs {
		p.pace.Unhang()
		return
	}
	i := slices.Index(p.counted, s)
	p.counted = slices.Delete(p.counted, i, i+1)
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

// appendGroups makes groups of the calls of a stream: one, or several if its frame is larger
// than groupBytesLimit.
func (e *Engine[S, C, E, R]) appendGroups(groups []*forwardedGroup[C, R], q *streamQueue[C, R], items []*batch.Item[*forwardedCall[C, R]]) []*forwardedGroup[C, R] {
	p, n := e.buildGroup(q, items), len(items)
	if len(p.frame) <= groupBytesLimit || n == 1 {
		return append(groups, p)
	}
	return e.appendGroups(e.appendGroups(groups, q, items[:n/2]), q, items[n/2:])
}

// buildGroup makes one group of calls: the commands in their order, then the queries.
func (e *Engine[S, C, E, R]) buildGroup(q *streamQueue[C, R], items []*batch.Item[*forwardedCall[C, R]]) *forwardedGroup[C, R] {
	first := items[0].Value.call
	c := &submittedCall[C, R]{commands: slices.Clip(first.commands), queries: slices.Clip(first.queries), spans: slices.Clip(first.spans)}
	c.group.id = GroupID(e.random.newChunkID())
	c.group.lowWatermark, _ = e.lowWatermarks.Get(q.name)
	for _, it := range items[1:] {
		one := it.Value.call
		for _, s := range one.spans {
			s.first += len(c.commands)
			c.spans = append(c.spans, s)
		}
		c.commands, c.queries = append(c.commands, one.commands...), append(c.queries, one.queries...)
	}
	c.makeOutcomes()
	return &forwardedGroup[C, R]{queue: q, call: c, items: items, frame: e.encodeGroup(q.name, c)}
}
