package gamelink

import (
	"context"
	"sync"
)

// pollKey names what games that may see the same of a poll share.
type pollKey struct {
	extension, channel, id string
	ownsGlobal             bool
}

// pollReads has the games of a process share what they read of polls: an event about a poll
// reaches every game that follows it at once. At most one read of a poll goes on, and those that
// come meanwhile wait for the one after it, as the event that brings them may be newer than what
// the first one sees.
type pollReads struct {
	mu      sync.Mutex
	running map[pollKey]*pollRead
	next    map[pollKey]*pollRead
}

// pollRead is one read. What it has read is there once done is closed.
type pollRead struct {
	done  chan struct{}
	body  pollBody
	found bool
	err   error
}

func newPollReads() *pollReads {
	return &pollReads{running: map[pollKey]*pollRead{}, next: map[pollKey]*pollRead{}}
}

// do returns what a read says that begins after the call. One of its callers reads, for all; mine
// reports whether it was this one.
func (p *pollReads) do(ctx context.Context, key pollKey, read func() (pollBody, bool, error)) (result *pollRead, mine bool) {
	p.mu.Lock()
	if waiting := p.next[key]; waiting != nil {
		p.mu.Unlock()
		return waiting.wait(ctx), false
	}
	own, before := &pollRead{done: make(chan struct{})}, p.running[key]
	if before == nil {
		p.running[key] = own
	} else {
		p.next[key] = own
	}
	p.mu.Unlock()
	if before != nil {
		<-before.done // it ends with the context of its caller
		p.mu.Lock()
		delete(p.next, key)
		p.running[key] = own
		p.mu.Unlock()
	}
	own.body, own.found, own.err = read()
	p.mu.Lock()
	if p.running[key] == own {
		delete(p.running, key)
	}
	p.mu.Unlock()
	close(own.done)
	return own, true
}

// wait returns the read, once it is done, or a failed one when ctx is.
func (r *pollRead) wait(ctx context.Context) *pollRead {
	select {
	case <-r.done:
		return r
	case <-ctx.Done():
		return &pollRead{err: ctx.Err()}
	}
}

// readPollShared is readPoll, together with the other games that may see the same. Where the game
// that reads fails, perhaps because of its own credential, the others read for themselves.
func (c *connection) readPollShared(ctx context.Context, key pollKey) (pollBody, bool, error) {
	shared, mine := c.server.reads.do(ctx, key, func() (pollBody, bool, error) { return c.readPoll(ctx, key.id) })
	if shared.err != nil && !mine && ctx.Err() == nil {
		return c.readPoll(ctx, key.id)
	}
	return shared.body, shared.found, shared.err
}
