package gamelink

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
	"github.com/acclaim-dev/acclaim/services/voting"
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
	if before != nil && !p.follow(ctx, key, own, before) {
		return own, true
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

// follow lets a read begin after the one before it. When ctx is done first, the read has failed
// for all that wait for it.
func (p *pollReads) follow(ctx context.Context, key pollKey, own, before *pollRead) bool {
	select {
	case <-before.done:
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.next, key)
	if own.err = ctx.Err(); own.err != nil {
		close(own.done)
		return false
	}
	p.running[key] = own
	return true
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

// readPollShared is readLogged, together with the other games that may see the same. Where the game
// that reads fails, perhaps because of its own credential, the others read for themselves.
func (c *connection) readPollShared(ctx context.Context, key pollKey) (pollBody, bool, error) {
	read := func() (pollBody, bool, error) {
		c.server.counters.pollReads.Add(1)
		return c.readLogged(ctx, key.id)
	}
	shared, mine := c.server.reads.do(ctx, key, read)
	if shared.err != nil && !mine && ctx.Err() == nil {
		return read()
	}
	return shared.body, shared.found, shared.err
}

// readLogged is readPoll for pushes: the status is expired once no vote can come any more, so that
// the numbers of an expired poll are final.
func (c *connection) readLogged(ctx context.Context, id string) (body pollBody, found bool, err error) {
	return c.readPoll(ctx, id, true)
}

// readPoll returns a poll as it is at one moment; found is false for one that was never configured
// and has no votes. concluded is that of [operation.Service.ReadOverview].
func (c *connection) readPoll(ctx context.Context, id string, concluded bool) (body pollBody, found bool, err error) {
	body = pollBody{TopicID: id, Poll: pollDescription{ID: id, Options: []string{}, Status: string(contract.Active)}}
	err = c.ask(ctx, "poll.read", nil, func(ctx context.Context, call *operation.Call) error {
		read, status, err := c.server.options.Operations.ReadOverview(ctx, call, id, concluded)
		if err != nil {
			return err
		}
		if read.Configured {
			body.describe(read.Config, status)
		}
		if err := body.setNumbers(read.Statistics); err != nil {
			return err
		}
		found = read.Configured || body.Count > 0 || read.Decay().LastNudged > 0
		return nil
	})
	return body, found, err
}

func (b *pollBody) describe(config voting.Config, status contract.Status) {
	b.ends = config.EndsAt
	b.Poll.Prompt, b.Poll.Status, b.Poll.Disabled = config.Prompt, string(status), config.Disabled
	if config.Options != nil {
		b.Poll.Options = config.Options
	}
	if string(config.UserData) != "null" {
		b.Poll.UserData = config.UserData
	}
}

// setNumbers sets the figures, as the answer to GET /vote has them.
func (b *pollBody) setNumbers(s *voting.Statistics) error {
	var shown struct {
		Specific          []int64
		Mean, Sum, Stddev json.Number
		Count             int64
	}
	err := json.Unmarshal(s.AppendJSON(nil, nil), &shown)
	b.Results, b.Mean, b.Sum, b.Stddev, b.Count = shown.Specific, shown.Mean, shown.Sum, shown.Stddev, shown.Count
	return err
}
