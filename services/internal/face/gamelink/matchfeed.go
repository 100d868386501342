package gamelink

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
	"github.com/acclaim-dev/acclaim/services/match"
)

// matchInterval is the time between two pushes of a match at least, and that after which a
// feed sees which channels and polls a match has.
const matchInterval = time.Second

// storedAfter is the time after which all votes before the end of a poll are stored. A feed
// looks at the schedule so much later, so that the last figures are final.
const storedAfter = 300 * time.Millisecond

// channelPoll names the poll of one channel.
type channelPoll struct{ poll, channel string }

// matchFeed pushes the polls of one match. Events only note which polls have changed; once in
// an interval, one goroutine reads these and pushes.
type matchFeed struct {
	c      *connection
	name   match.Name
	ctx    context.Context
	cancel context.CancelFunc
	ended  chan struct{}

	// For the goroutine.
	members map[string]*subscription // by channel
	topics  []string                 // of the members
	polls   map[string]*matchPoll    // by id

	mu    sync.Mutex
	stale map[channelPoll]bool // to be read again
}

// matchPoll holds the state of a poll that a feed has sent.
type matchPoll struct {
	round    string
	channels map[string]pollBody // the last that was read
	changed  bool                // since the last push
	expired  bool                // that was pushed, or was so from the beginning
}

// openMatchFeed returns a feed of what changes from now on.
func (c *connection) openMatchFeed(name match.Name) (feed, error) {
	f := &matchFeed{
		c: c, name: name, ended: make(chan struct{}),
		members: map[string]*subscription{}, polls: map[string]*matchPoll{}, stale: map[channelPoll]bool{},
	}
	f.ctx, f.cancel = context.WithCancel(c.ctx)
	now := c.server.options.Now().Add(-storedAfter)
	m, err := f.refresh(now)
	if err != nil {
		f.cancel()
		f.closeMembers()
		return nil, err
	}
	for id, poll := range f.polls {
		poll.changed, poll.expired = false, matchStatus(m.Polls[id], now) == "expired"
	}
	go f.run()
	return f, nil
}

func (f *matchFeed) close() {
	f.cancel()
	<-f.ended
}

func (f *matchFeed) run() {
	defer close(f.ended)
	defer f.closeMembers()
	failed := false
	for {
		timer := time.NewTimer(matchInterval)
		select {
		case <-timer.C:
		case <-f.ctx.Done():
			timer.Stop()
			return
		}
		now := f.c.server.options.Now().Add(-storedAfter) // one moment: what expires then was read since
		m, err := f.refresh(now)
		if err != nil && !failed && f.ctx.Err() == nil {
			f.c.server.options.Logger.Warn("a match cannot be read", "extension", f.c.extension.ClientID, "match", f.name.ID, "error", err)
		}
		if failed = err != nil; failed {
			continue // what is stale remains so
		}
		for _, id := range slices.Sorted(maps.Keys(f.polls)) {
			f.push(id, matchStatus(m.Polls[id], now))
		}
	}
}

// refresh reads the match, follows its channels and reads what has changed in them. A match
// that there is not is empty.
func (f *matchFeed) refresh(now time.Time) (match.Match, error) {
	m, err := f.c.server.options.Matches.Read(f.ctx, f.name, now)
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return m, err
	}
	f.notePolls(m, now)
	if err := f.followChannels(m); err != nil {
		return m, err
	}
	return m, f.readStale()
}

// readStale reads the polls that have changed.
func (f *matchFeed) readStale() error {
	f.mu.Lock()
	stale := f.stale
	f.stale = map[channelPoll]bool{}
	f.mu.Unlock()
	byChannel := map[string][]string{}
	for p := range stale {
		if f.members[p.channel] != nil && f.polls[p.poll] != nil {
			byChannel[p.channel] = append(byChannel[p.channel], p.poll)
		}
	}
	var mu sync.Mutex
	return eachChannel(f.ctx, slices.Collect(maps.Keys(byChannel)), func(ctx context.Context, channel string) error {
		for _, id := range byChannel[channel] {
			body, _, err := f.c.readPoll(ctx, id)
			if err != nil {
				f.markStale(channel, byChannel[channel]...)
				return err
			}
			mu.Lock()
			f.polls[id].note(channel, body)
			mu.Unlock()
		}
		return nil
	})
}

// note takes what was read of a channel.
func (p *matchPoll) note(channel string, body pollBody) {
	before, known := p.channels[channel]
	p.channels[channel] = body
	if known {
		p.changed = p.changed || knowledgeOf(before).numbers != knowledgeOf(body).numbers
	} else {
		p.changed = p.changed || body.Count != 0
	}
}

func (f *matchFeed) markStale(channel string, polls ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range polls {
		f.stale[channelPoll{id, channel}] = true
	}
}

// notePolls takes the polls of the match. All of a new one, and of one that expires now, is
// to be read.
func (f *matchFeed) notePolls(m match.Match, now time.Time) {
	maps.DeleteFunc(f.polls, func(id string, p *matchPoll) bool { return m.Polls[id].Round != p.round })
	for id, poll := range m.Polls {
		expired := matchStatus(poll, now) == "expired"
		known := f.polls[id]
		if known == nil {
			known = &matchPoll{round: poll.Round, channels: map[string]pollBody{}}
			f.polls[id] = known
		} else if !expired || known.expired {
			known.expired = known.expired && expired
			continue
		}
		for channel := range f.members {
			f.markStale(channel, id)
		}
	}
}

// followChannels subscribes to the polls in the channels of the match, and in no others.
func (f *matchFeed) followChannels(m match.Match) error {
	var topics []string
	for _, id := range slices.Sorted(maps.Keys(f.polls)) {
		topics = append(topics, "vote_update:"+id, "poll_update:"+id, "vote_delete:"+id)
	}
	if !slices.Equal(topics, f.topics) {
		f.closeMembers()
		f.topics = topics
	}
	channels := map[string]bool{}
	for _, channel := range m.Channels {
		channels[channel] = true
	}
	f.forgetOthers(channels)
	for _, channel := range m.Channels {
		if f.members[channel] != nil || len(topics) == 0 {
			continue
		}
		member, err := f.c.follow(f.ctx, channel, topics, func(_ context.Context, e *event.Event) error {
			if id, ok := event.PollID(e.Name); ok {
				f.markStale(channel, id)
			}
			return nil
		})
		if err != nil {
			return err
		}
		f.members[channel] = member
		f.markStale(channel, slices.Collect(maps.Keys(f.polls))...)
	}
	return nil
}

// forgetOthers drops the channels that the match no longer has.
func (f *matchFeed) forgetOthers(channels map[string]bool) {
	for channel, member := range f.members {
		if !channels[channel] {
			member.close()
			delete(f.members, channel)
		}
	}
	for _, p := range f.polls {
		for channel, body := range p.channels {
			if !channels[channel] {
				p.changed = p.changed || body.Count != 0
				delete(p.channels, channel)
			}
		}
	}
}

func (f *matchFeed) closeMembers() {
	for _, member := range f.members {
		member.close()
	}
	clear(f.members)
}

// push pushes a poll whose votes have changed, or which has expired.
func (f *matchFeed) push(id, status string) {
	p := f.polls[id]
	expires := status == "expired" && !p.expired
	if p.expired || !expires && !p.changed {
		return
	}
	body := matchBody{TopicID: f.name.ID, MatchID: f.name.ID, PollID: id, Status: status, Results: map[string]matchNumbers{}}
	body.Overall = sumNumbers(slices.Collect(maps.Values(p.channels)))
	body.Overall.Status = status
	for channel, b := range p.channels {
		body.Results[channel] = matchNumbers{b.Results, b.Stddev, b.Mean, b.Sum, b.Count, status}
	}
	p.changed, p.expired = false, expires
	if body.Overall.Count != 0 || expires {
		f.c.push("match_poll", body)
	}
}

// matchStatus returns the phase of a poll's schedule, which all channels have in common.
func matchStatus(p match.Poll, now time.Time) string {
	switch seconds := now.Unix(); {
	case seconds < p.Starts:
		return "pending"
	case p.Ends != 0 && seconds >= p.Ends:
		return "expired"
	}
	return "active"
}

// matchBody is the data of pushes about a poll of a match. Every member is always there.
type matchBody struct {
	TopicID string                  `json:"topic_id"`
	MatchID string                  `json:"match_id"`
	PollID  string                  `json:"poll_id"`
	Status  string                  `json:"status"`
	Overall matchNumbers            `json:"overall"`
	Results map[string]matchNumbers `json:"results"` // by channel
}

type matchNumbers struct {
	Results []int64     `json:"results"`
	Stddev  json.Number `json:"stddev"`
	Mean    json.Number `json:"mean"`
	Sum     json.Number `json:"sum"`
	Count   int64       `json:"count"`
	Status  string      `json:"status"`
}
