package stream

import (
	"context"
	"errors"
	"hash/maphash"
	"slices"

	"github.com/acclaim-dev/acclaim/services/internal/batch"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// lane is where what is to be passed to one peer waits while the request before
// is under way. A stream always takes the same of the lanes to a peer, so that
// its commands stay together; different streams do not all wait for the slowest.
type lane[C, R any] struct {
	key   laneKey
	peer  Peer
	queue batch.Queue[*passed[C, R]]
}

type laneKey struct {
	peer   string // its ID
	number uint64
}

// passed is a call on its way to another process. Its call has one outcome.
type passed[C, R any] struct {
	name string
	call *call[C, R]
	// here says that nothing came of it and that it is ours to run.
	here     bool
	attempts int
}

// parcel is what one request passes on for one stream.
type parcel[C, R any] struct {
	name  string
	call  *call[C, R] // all that is in items
	items []*batch.Item[*passed[C, R]]
	frame []byte
}

const (
	lanePass    = 512       // calls in one request
	parcelBytes = 512 << 10 // of commands for one stream, unless one alone is larger
	// laneWidth is how many requests may be under way to one peer.
	laneWidth = 16
	// floorsKept is for how many streams of other processes it is remembered how
	// far their logs had come.
	floorsKept = 1 << 16
	// dispatchAttempts is how many peers are tried before a call is run here.
	dispatchAttempts = 2
	// staleAttempts is how often a group is sent again with a higher floor.
	staleAttempts = 3
)

// dispatch runs a call where its stream is at home.
func (e *Engine[S, C, E, R]) dispatch(ctx context.Context, name string, c *call[C, R]) error {
	for range dispatchAttempts {
		peer := e.owner(name)
		if peer == nil {
			break
		}
		if here, err := e.pass(ctx, peer, name, c); !here {
			return err
		}
		// What the attempt has shown about the peer may give another owner.
	}
	return e.run(ctx, name, c)
}

func (e *Engine[S, C, E, R]) owner(name string) Peer {
	if e.options.Peers == nil {
		return nil
	}
	return e.options.Peers.Owner(name)
}

// pass has a peer run a call. It reports here when the peer can't and certainly
// has not.
func (e *Engine[S, C, E, R]) pass(ctx context.Context, peer Peer, name string, c *call[C, R]) (here bool, err error) {
	if err := e.begin(); err != nil {
		return false, err
	}
	defer e.work.Done()
	if e.waiting.Add(1) > e.options.QueueLimit {
		e.waiting.Add(-1)
		return false, errFull()
	}
	defer e.waiting.Add(-1)

	p := &passed[C, R]{name: name, call: c}
	it := batch.NewItem(p)
	l := e.lane(peer, name)
	if l.queue.Push(it) {
		e.work.Go(func() { e.carry(l) })
	}
	select {
	case <-it.Done():
		return p.here, c.err
	case <-ctx.Done():
		return false, givenUp(ctx, l.queue.Withdraw(it))
	}
}

// lane returns the lane of a stream to a peer.
func (e *Engine[S, C, E, R]) lane(peer Peer, name string) *lane[C, R] {
	key := laneKey{peer.ID(), maphash.String(e.seed, name) % laneWidth}
	e.mu.Lock()
	defer e.mu.Unlock()
	l, ok := e.lanes[key]
	if !ok {
		l = &lane[C, R]{key: key, peer: peer}
		e.lanes[key] = l
	}
	return l
}

// carry sends what waits in a lane until nothing does.
func (e *Engine[S, C, E, R]) carry(l *lane[C, R]) {
	for {
		l.queue.Gather()
		taken := l.queue.Take(nil, lanePass)
		if len(taken) == 0 {
			// Whoever still pushes to this lane starts its worker anew.
			e.mu.Lock()
			delete(e.lanes, l.key)
			e.mu.Unlock()
			return
		}
		parcels := e.pack(taken)
		var request []byte
		for _, p := range parcels {
			request = appendFramed(request, p.frame)
		}
		answer, err := l.peer.Send(e.ctx, request)
		e.stats.forwarded.Add(uint64(len(taken)))
		for _, p := range parcels {
			var frame []byte
			if err == nil {
				frame, answer, err = cutFramed(answer)
			}
			e.deliver(l, p, frame, err)
		}
	}
}

// pack makes parcels of calls, one for each stream unless that gets too large.
func (e *Engine[S, C, E, R]) pack(items []*batch.Item[*passed[C, R]]) (parcels []*parcel[C, R]) {
	streams := map[string][]*batch.Item[*passed[C, R]]{}
	var names []string
	for _, it := range items {
		name := it.Value.name
		if streams[name] == nil {
			names = append(names, name)
		}
		streams[name] = append(streams[name], it)
	}
	for _, name := range names {
		for rest := [][]*batch.Item[*passed[C, R]]{streams[name]}; len(rest) > 0; {
			p := e.parcel(name, rest[0])
			if n := len(rest[0]); len(p.frame) > parcelBytes && n > 1 {
				rest = slices.Insert(rest[1:], 0, rest[0][:n/2], rest[0][n/2:])
				continue
			}
			parcels, rest = append(parcels, p), rest[1:]
		}
	}
	return parcels
}

// parcel makes one parcel: the commands in their order, then the queries.
func (e *Engine[S, C, E, R]) parcel(name string, items []*batch.Item[*passed[C, R]]) *parcel[C, R] {
	c := &call[C, R]{outcomes: make([]outcome[R], len(items))}
	c.group.id = GroupID(e.random.id())
	c.group.floor, _ = e.floors.Get(name)
	p := &parcel[C, R]{name: name, call: c}
	var queries []*batch.Item[*passed[C, R]]
	for _, it := range items {
		one := it.Value.call
		c.commands, c.queries = append(c.commands, one.commands...), append(c.queries, one.queries...)
		if len(one.queries) > 0 {
			queries = append(queries, it)
		} else {
			p.items = append(p.items, it)
		}
	}
	p.items = append(p.items, queries...)
	p.frame = e.encodeGroup(name, c)
	return p
}

// deliver deals with what came of a parcel.
func (e *Engine[S, C, E, R]) deliver(l *lane[C, R], p *parcel[C, R], frame []byte, err error) {
	if err == nil {
		err = e.open(l, p, frame)
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
		p.call.group.recovery = true
		err := e.run(e.ctx, p.name, p.call)
		if err != nil {
			err = fault.Wrap(fault.Uncertain, err, "the outcome of a command is unknown")
		}
		p.finish(err)
	})
}

// open reads the answer about a parcel and finishes what it answers. An error
// leaves open what came of the parcel.
func (e *Engine[S, C, E, R]) open(l *lane[C, R], p *parcel[C, R], frame []byte) error {
	if len(frame) == 0 {
		return errMalformed
	}
	head, body, err := cutUvarint(frame[1:])
	if err != nil {
		return err
	}
	switch frame[0] {
	case groupDone:
		if err := e.decodeOutcomes(body, p.call.outcomes); err != nil {
			return err
		}
		e.floors.Add(p.name, head)
		p.call.head = head
		e.options.Applied(p.name, head)
		p.finish(nil)
	case groupStale:
		e.floors.Add(p.name, head)
		l.again(p)
	case groupFailed:
		failure, _, err := cutFault(body)
		if err != nil {
			return err
		}
		p.finish(failure)
	case groupClosed:
		p.takeBack()
	default:
		return errMalformed
	}
	return nil
}

// again sends what is in a parcel once more, or gives up.
func (l *lane[C, R]) again(p *parcel[C, R]) {
	if p.items[0].Value.attempts++; p.items[0].Value.attempts > staleAttempts {
		p.takeBack()
		return
	}
	l.queue.Return(p.items)
}

// takeBack leaves a parcel's calls to their callers.
func (p *parcel[C, R]) takeBack() {
	for _, it := range p.items {
		it.Value.here = true
		it.Finish()
	}
}

// finish gives every call of a parcel its outcome, or the reason why there is
// none.
func (p *parcel[C, R]) finish(err error) {
	for i, it := range p.items {
		if it.Value.call.err = err; err == nil { // else the parcel may be under way still
			it.Value.call.outcomes[0] = p.call.outcomes[i]
			it.Value.call.head = p.call.head
		}
		it.Finish()
	}
}
