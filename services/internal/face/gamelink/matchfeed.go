package gamelink

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
	"github.com/acclaim-dev/acclaim/services/match"
)

// matchInterval is the time between two pushes of a match at least, and that after which a
// feed sees which channels and polls a match has.
const matchInterval = time.Second

// endingEvery is the interval at which a feed looks at a poll whose end has passed, until no vote
// can come any more in any channel.
const endingEvery = 100 * time.Millisecond

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
	hurry  chan struct{} // 1: the poll of a channel has expired

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
	pushed   time.Time           // the last push
	asked    time.Time           // when all channels that may have more votes were last to be read after the end; zero before it
	expired  bool                // that was pushed, or was so from the beginning
}

// openMatchFeed returns a feed of what changes from now on.
func (c *connection) openMatchFeed(name match.Name) (feed, error) {
	f := &matchFeed{
		c: c, name: name, ended: make(chan struct{}), hurry: make(chan struct{}, 1),
		members: map[string]*subscription{}, polls: map[string]*matchPoll{}, stale: map[channelPoll]bool{},
	}
	f.ctx, f.cancel = context.WithCancel(c.ctx)
	now := c.server.options.Now()
	m, err := f.refresh(now)
	if err != nil {
		f.cancel()
		f.closeMembers()
		return nil, err
	}
	for id, poll := range f.polls {
		poll.changed, poll.expired = false, f.statusOf(m, id, now) == "expired"
	}
	go f.run(m)
	return f, nil
}

func (f *matchFeed) close() {
	f.cancel()
	<-f.ended
}

// run pushes until the feed is closed. m is the match as it is.
func (f *matchFeed) run(m match.Match) {
	defer close(f.ended)
	defer f.closeMembers()
	failed := false
	for f.pause(f.untilNext(m)) {
		now := f.c.server.options.Now() // one moment: what expires then was read since
		read, err := f.refresh(now)
		if err != nil && !failed && f.ctx.Err() == nil {
			f.c.server.options.Logger.Warn("a match cannot be read", "extension", f.c.extension.ClientID, "match", f.name.ID, "error", err)
		}
		if failed = err != nil; failed {
			continue // what is stale remains so
		}
		m = read
		for _, id := range slices.Sorted(maps.Keys(f.polls)) {
			f.push(id, f.statusOf(m, id, now), now)
		}
	}
}

// pause waits, for a moment only when the poll of a channel expires. It reports false when the feed
// is closed.
func (f *matchFeed) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-f.hurry:
		timer.Reset(min(d, endingEvery))
		select {
		case <-timer.C:
		case <-f.ctx.Done():
		}
	case <-f.ctx.Done():
	}
	return f.ctx.Err() == nil
}

// untilNext returns the time until the next look at a match: an interval, or until the next end
// of a poll.
func (f *matchFeed) untilNext(m match.Match) time.Duration {
	wait, now := matchInterval, f.c.server.options.Now()
	for id, known := range f.polls {
		ends := m.Polls[id].Ends
		switch {
		case ends == 0 || known.expired:
		case now.Unix() >= ends:
			wait = min(wait, endingEvery)
		default:
			wait = min(wait, time.Unix(ends, 0).Sub(now))
		}
	}
	return wait
}

// statusOf returns the status of a poll of the match that the client is to know: it expires once
// no vote can come any more in any channel.
func (f *matchFeed) statusOf(m match.Match, id string, now time.Time) string {
	status := matchStatus(m.Polls[id], now)
	if status == "expired" && !f.polls[id].isFinal(m.Polls[id].Ends, m.Channels) {
		return "active"
	}
	return status
}

// isFinal reports whether the numbers of all channels are final.
func (p *matchPoll) isFinal(ends int64, channels []string) bool {
	return !p.asked.IsZero() && !slices.ContainsFunc(channels, func(channel string) bool {
		body, known := p.channels[channel]
		return !known || body.mayChange(ends)
	})
}

// mayChange reports whether votes can come that count in a match whose poll has the given end. The
// poll of a channel that staff has deleted, or given a later end, counts as it is then.
func (b pollBody) mayChange(ends int64) bool {
	return b.Poll.Status != "expired" && b.ends != 0 && b.ends <= ends
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
			body, _, err := f.c.readLogged(ctx, id)
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

// notePolls takes the polls of the match. All of a new one, and of one whose end has passed, is
// to be read; of the latter, again what may change still, if no event comes.
func (f *matchFeed) notePolls(m match.Match, now time.Time) {
	maps.DeleteFunc(f.polls, func(id string, p *matchPoll) bool { return m.Polls[id].Round != p.round })
	for id, poll := range m.Polls {
		expired := matchStatus(poll, now) == "expired"
		known := f.polls[id]
		if known == nil {
			known = &matchPoll{round: poll.Round, channels: map[string]pollBody{}}
			f.polls[id] = known
		} else if !expired {
			known.expired, known.asked = false, time.Time{}
			continue
		} else if known.expired || now.Sub(known.asked).Abs() < matchInterval {
			continue
		}
		for channel := range f.members {
			if known.asked.IsZero() || known.channels[channel].mayChange(poll.Ends) {
				f.markStale(channel, id)
			}
		}
		if expired {
			known.asked = now
		}
	}
}

// followChannels subscribes to the polls in the channels of the match, and in no others.
func (f *matchFeed) followChannels(m match.Match) error {
	var topics []string
	for _, id := range slices.Sorted(maps.Keys(f.polls)) {
		topics = append(topics, contract.PollEvents(id)...)
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
				if announcedStatus(e) == "expired" {
					f.signalEnd()
				}
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

// signalEnd has the feed look at the match soon.
func (f *matchFeed) signalEnd() {
	select {
	case f.hurry <- struct{}{}:
	default:
	}
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

// push pushes a poll whose votes have changed, at most once in an interval, or which has expired.
func (f *matchFeed) push(id, status string, now time.Time) {
	p := f.polls[id]
	expires := status == "expired" && !p.expired
	if p.expired || !expires && (!p.changed || now.Sub(p.pushed).Abs() < matchInterval) {
		return
	}
	body := matchBody{TopicID: f.name.ID, MatchID: f.name.ID, PollID: id, Status: status, Results: map[string]matchNumbers{}}
	body.Overall = sumNumbers(slices.Collect(maps.Values(p.channels)))
	body.Overall.Status = status
	for channel, b := range p.channels {
		body.Results[channel] = matchNumbers{b.Results, b.Stddev, b.Mean, b.Sum, b.Count, status}
	}
	p.changed, p.expired, p.pushed = false, expires, now
	if body.Overall.Count != 0 || expires {
		f.c.push(contract.PushMatchPoll, body)
	}
}

// matchStatus returns the phase of a poll's schedule, which all channels have in common.
func matchStatus(p match.Poll, now time.Time) string {
	return string(contract.Schedule{StartsAt: p.Starts, EndsAt: p.Ends}.Status(now))
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
