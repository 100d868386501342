package live

import (
	"context"
	"encoding/json"
	"time"

	"github.com/acclaim-dev/acclaim/services/voting"
)

// poll looks at a poll.
type poll struct {
	polls    Polls
	poll     voting.Poll
	audience audience

	// What the audience knows. begun is false before the first look; last is nil
	// when it knows of no votes.
	begun  bool
	last   *voting.Statistics
	resets uint64
	// ended is the end of the poll that the audience knows to be over.
	ended int64
}

// farAway is a time in Unix seconds for which nobody needs to wait, and with
// which one can still reckon.
const farAway = 1 << 40

func (h *Hub) newPoll(p voting.Poll, begun bool) *source {
	a := audience{environment: p.Environment, extension: p.Extension, channel: p.Channel}
	if p.Global() {
		a.channel, a.global = "", true
	}
	return &source{sort: ofPoll, every: h.options.PollEvery, subject: &poll{polls: h.options.Polls, poll: p, audience: a, begun: begun}}
}

func (p *poll) end() {}

func (p *poll) look(ctx context.Context) (news, error) {
	now, err := p.polls.Overview(ctx, p.poll)
	if err != nil {
		return news{}, err
	}
	n, over := news{head: now.Head}, int64(0)
	if now.EndsAt > time.Now().Unix() {
		n.again = time.Unix(min(now.EndsAt, farAway), 0)
	} else {
		over = now.EndsAt
	}
	if p.begun {
		n.events = p.changes(now, over)
	}
	p.begun, p.last, p.resets, p.ended = true, now.Statistics, now.Resets, over
	return n, nil
}

// changes returns the events from what the audience knows to what is now, where
// over is the end of the poll if that has passed.
func (p *poll) changes(now voting.Overview, over int64) (events []*event) {
	deleted := now.Resets != p.resets
	if deleted {
		events = append(events, newEvent(p.audience, "", voteDelete+p.poll.ID, p.data(nil)))
	}
	ended := over != 0 && (deleted || over != p.ended)
	if ended || !p.knows(now.Statistics) || deleted && !now.Empty() {
		events = append(events, newEvent(p.audience, "", voteUpdate+p.poll.ID, p.data(now.Statistics)))
	}
	return events
}

func (p *poll) knows(s *voting.Statistics) bool {
	return p.last == nil && s.Empty() || p.last != nil && s.Equal(p.last)
}

// data is that of an event: the id and, of an update, the statistics.
func (p *poll) data(s *voting.Statistics) []byte {
	id, err := json.Marshal(p.poll.ID)
	if err != nil {
		panic(err) // a string always encodes
	}
	buf := append([]byte(`{"id":`), id...)
	if s != nil {
		buf = s.AppendJSON(append(buf, `,"stats":`...), nil)
	}
	return append(buf, '}')
}
