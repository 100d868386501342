package gamelink

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/exactjson"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/match"
)

// channelsAtOnce limits the channels of a match that one request writes to at the same time.
const channelsAtOnce = 16

func (r *gameRequest) isOfMatches() bool {
	return r.target == contract.GameMatch || r.target == contract.PushMatchPoll
}

func errNotServer() error {
	return refuse(http.StatusForbidden, "The JWT role is not allowed to perform this operation.")
}

// matchOf returns the match that a member of a request names.
func (c *connection) matchOf(r *gameRequest, member string) match.Name {
	return match.Name{Environment: string(c.server.options.Environment), Extension: c.extension.ClientID, ID: r.data.required(member)}
}

// eachChannel calls act for channels, several at once, with contexts of these.
func eachChannel(ctx context.Context, channels []string, act func(ctx context.Context, channel string) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(channelsAtOnce)
	for _, channel := range channels {
		group.Go(func() error { return act(inChannel(ctx, channel), channel) })
	}
	return group.Wait()
}

func (c *connection) createMatch(r *gameRequest) (any, error) {
	name := c.matchOf(r, "id")
	if r.data.err != nil {
		return nil, r.data.err
	}
	return done{true}, c.server.options.Matches.Create(c.ctx, name, c.server.options.Now())
}

func (c *connection) keepMatch(r *gameRequest) (any, error) {
	name := c.matchOf(r, "id")
	if r.data.err != nil {
		return nil, r.data.err
	}
	return done{true}, c.server.options.Matches.Keep(c.ctx, name, c.server.options.Now())
}

// addChannels adds channels, which get the polls of the match that have not ended.
func (c *connection) addChannels(r *gameRequest) (any, error) {
	name, ids := c.matchOf(r, "id"), r.data.channelIDs()
	if r.data.err != nil {
		return nil, r.data.err
	}
	now := c.server.options.Now()
	m, added, err := c.server.options.Matches.AddChannels(c.ctx, name, ids, now)
	if err != nil {
		return nil, err
	}
	for id, poll := range m.Polls {
		if matchStatus(poll, now) == "expired" {
			continue
		}
		if err := c.configureChannels(added, id, poll.Config); err != nil {
			return nil, err
		}
	}
	return done{true}, nil
}

func (d *gameData) channelIDs() []string {
	if !d.has("channel_ids") {
		d.fail("channel_ids")
	}
	return d.texts("channel_ids")
}

func (c *connection) removeChannels(r *gameRequest) (any, error) {
	name, ids := c.matchOf(r, "id"), r.data.channelIDs()
	if r.data.err != nil {
		return nil, r.data.err
	}
	return done{true}, c.server.options.Matches.RemoveChannels(c.ctx, name, ids, c.server.options.Now())
}

func (c *connection) broadcastMatch(r *gameRequest) (any, error) {
	name := c.matchOf(r, "match_id")
	event, err := r.data.newEvent()
	if err != nil {
		return nil, err
	}
	m, err := c.server.options.Matches.Named(c.ctx, name, c.server.options.Now())
	if err != nil {
		return nil, err
	}
	return done{true}, eachChannel(c.ctx, m.Channels, func(ctx context.Context, _ string) error {
		return c.sendEvent(ctx, event, "")
	})
}

// configureChannels stores the configuration of a poll in channels.
func (c *connection) configureChannels(channels []string, id string, config json.RawMessage) error {
	return eachChannel(c.ctx, channels, func(ctx context.Context, _ string) error {
		return c.replacePoll(ctx, id, config)
	})
}

func (c *connection) createMatchPoll(r *gameRequest) (any, error) {
	name, d := c.matchOf(r, "id"), r.data.object("poll")
	if r.data.err != nil {
		return nil, r.data.err
	}
	now := c.server.options.Now()
	id, config, err := d.newPoll(now)
	if err != nil {
		return nil, err
	}
	m, err := c.server.options.Matches.Named(c.ctx, name, now)
	if err != nil {
		return nil, err
	}
	return done{true}, c.setMatchPoll(name, m, id, rand.Text(), config)
}

// setMatchPoll stores a poll in the channels of a match and then in the match, so that one
// that the rules refuse is not kept. Channels that were added meanwhile follow.
func (c *connection) setMatchPoll(name match.Name, m match.Match, id, round string, config map[string]any) error {
	now := c.server.options.Now()
	resolveEnd(config, now)
	encoded, err := exactjson.Marshal(config)
	if err != nil {
		return err
	}
	poll := match.Poll{Config: encoded, Round: round}
	if err := setMatchTimes(&poll); err != nil {
		return err
	}
	if err := c.configureChannels(m.Channels, id, encoded); err != nil {
		return err
	}
	after, err := c.server.options.MatchPolls.SetPoll(c.ctx, name, id, poll, now)
	if err != nil {
		return err
	}
	return c.configureChannels(lateChannels(after, m), id, encoded)
}

func (c *connection) reconfigureMatchPoll(r *gameRequest) (any, error) {
	name := c.matchOf(r, "id")
	id, err := r.data.pollID()
	if err != nil {
		return nil, err
	}
	changes, now := map[string]any{}, c.server.options.Now()
	if err := firstError(addConfig(changes, r.data.object("config"), now), r.data.err, noneNull(changes)); err != nil {
		return nil, err
	}
	m, err := c.server.options.Matches.Named(c.ctx, name, now)
	if err != nil {
		return nil, err
	}
	poll, ok := m.Polls[id]
	if !ok {
		return nil, refuse(http.StatusNotFound, "No such poll")
	}
	return done{true}, c.changeMatchPoll(name, m, id, poll, changes)
}

// changeMatchPoll changes members of a poll in the channels of a match and then in the match.
// What the staff of a channel has changed otherwise stays.
func (c *connection) changeMatchPoll(name match.Name, m match.Match, id string, poll match.Poll, changes map[string]any) error {
	now := c.server.options.Now()
	resolveEnd(changes, now)
	patch, err := exactjson.Marshal(changes)
	if err != nil {
		return err
	}
	whole, err := patchMatchPoll(poll, patch)
	if err != nil {
		return err
	}
	err = eachChannel(c.ctx, m.Channels, func(ctx context.Context, _ string) error {
		err := c.patchPoll(ctx, id, patch)
		if isStatus(err, http.StatusNotFound) { // the staff of the channel has deleted it
			err = c.replacePoll(ctx, id, whole.Config)
		}
		return err
	})
	if err != nil {
		return err
	}
	after, err := c.server.options.MatchPolls.ChangePoll(c.ctx, name, id, now, func(p match.Poll) (match.Poll, error) { return patchMatchPoll(p, patch) })
	if err != nil {
		return err
	}
	return c.configureChannels(lateChannels(after, m), id, after.Polls[id].Config)
}

// lateChannels returns the channels that a match has now and did not have before.
func lateChannels(after, before match.Match) []string {
	return slices.DeleteFunc(after.Channels, func(channel string) bool { return slices.Contains(before.Channels, channel) })
}

// resolveEnd makes an end "now" the same second for all channels.
func resolveEnd(config map[string]any, now time.Time) {
	if end, ok := config["endsAt"].(int64); ok && end < 0 {
		config["endsAt"] = now.Unix()
	}
}

// patchMatchPoll returns a poll of a match with a patch of its configuration.
func patchMatchPoll(poll match.Poll, patch json.RawMessage) (match.Poll, error) {
	config, err := exactjson.MergePatch(poll.Config, patch)
	if err != nil {
		return poll, err
	}
	poll.Config = config
	return poll, setMatchTimes(&poll)
}

// setMatchTimes sets the times of a poll from its configuration.
func setMatchTimes(poll *match.Poll) error {
	var times struct{ StartsAt, EndsAt int64 }
	if err := json.Unmarshal(poll.Config, &times); err != nil {
		return fault.New(fault.Invalid, "config has a member of the wrong type")
	}
	poll.Starts, poll.Ends = times.StartsAt, times.EndsAt
	return nil
}

// deleteMatchPoll deletes a poll in every channel of the match, also one that the match does
// not have.
func (c *connection) deleteMatchPoll(r *gameRequest) (any, error) {
	name := c.matchOf(r, "id")
	id, err := r.data.pollID()
	if err != nil {
		return nil, err
	}
	m, err := c.server.options.MatchPolls.DeletePoll(c.ctx, name, id, c.server.options.Now())
	if fault.KindOf(err) == fault.NotFound {
		return done{true}, nil
	}
	if err != nil {
		return nil, err
	}
	return done{true}, eachChannel(c.ctx, m.Channels, func(ctx context.Context, _ string) error {
		return c.resetPoll(ctx, id)
	})
}

func (c *connection) subscribeMatch(r *gameRequest) (any, error) {
	name := c.matchOf(r, "topic_id")
	if r.data.err != nil {
		return nil, r.data.err
	}
	err := c.server.options.Matches.Keep(c.ctx, name, c.server.options.Now())
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return nil, err
	}
	return done{true}, c.addFeed(topicKey{contract.PushMatchPoll, name.ID}, func() (feed, error) { return c.openMatchFeed(name) })
}

func (c *connection) unsubscribeMatch(r *gameRequest) (any, error) {
	name := c.matchOf(r, "topic_id")
	c.unsubscribe(topicKey{contract.PushMatchPoll, name.ID})
	return done{true}, r.data.err
}

// endMatchFeeds ends what only servers may receive.
func (c *connection) endMatchFeeds() {
	for name := range c.subscriptions {
		if name.target == contract.PushMatchPoll {
			c.unsubscribe(name)
		}
	}
}
