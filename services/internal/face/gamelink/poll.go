package gamelink

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
)

// pollBody is the data of the answer to get, and of pushes. Every member is always there but
// disabled and user_data.
type pollBody struct {
	TopicID string          `json:"topic_id"`
	Poll    pollDescription `json:"poll"`
	Results []int64         `json:"results"`
	Mean    json.Number     `json:"mean"`
	Sum     json.Number     `json:"sum"`
	Stddev  json.Number     `json:"stddev"`
	Count   int64           `json:"count"`

	ends int64 // in Unix seconds, 0 where the poll has no end
}

type pollDescription struct {
	ID       string          `json:"poll_id"`
	Prompt   string          `json:"prompt"`
	Options  []string        `json:"options"`
	Status   string          `json:"status"`
	Disabled bool            `json:"disabled,omitempty"`
	UserData json.RawMessage `json:"user_data,omitempty"`
}

// The members of a configuration that a game sends.
func configMembers() []string {
	return []string{"userIDVoting", "disabled", "distinctOptionsPerUser", "totalVotesPerUser", "votesPerOption"}
}

// pollID returns the poll that a request names.
func (d *gameData) pollID() (string, error) {
	id := d.required("poll_id")
	if d.err == nil && (contract.PollIDBound("poll_id", id).IsBroken() || strings.Contains(id, ".")) {
		return "", fault.Newf(fault.Invalid, "poll_id must have 1 to %d characters without .", contract.MaxPollID)
	}
	return id, d.err
}

// addConfig adds the members of a configuration that a game sends to those of the API's.
func addConfig(to map[string]any, from *gameData, now time.Time) error {
	for _, name := range configMembers() {
		if from.has(name) {
			to[name] = from.members[name]
		}
	}
	for _, times := range [][2]string{{"startsAt", "startsIn"}, {"endsAt", "endsIn"}} {
		at, in := from.integer(times[0]), from.integer(times[1])
		switch {
		case in < 0:
			return fault.Newf(fault.Invalid, "%s must not be negative", times[1])
		case at == 0 && in > 0:
			to[times[0]] = now.Unix() + in
		case from.has(times[0]):
			to[times[0]] = at
		}
	}
	return from.err
}

func (c *connection) createPoll(r *gameRequest) (any, error) {
	now := c.server.options.Now()
	id, config, err := r.data.newPoll(now)
	if err != nil {
		return nil, err
	}
	c.polls.Lock()
	defer c.polls.Unlock()
	encoded, err := encode(config)
	if err == nil {
		err = c.replacePoll(c.ctx, id, encoded)
	}
	if err != nil {
		return nil, err
	}
	if c.followsPoll(id) {
		c.polls.know(id, statusOf(config, now), c.polls.known[id].numbers)
	}
	return done{true}, nil
}

// statusOf returns the status that a configuration has when the game's request arrives. What
// the clock changes from then on causes a push, even before the request is answered.
func statusOf(config map[string]any, now time.Time) string {
	starts, _ := config["startsAt"].(int64)
	ends, _ := config["endsAt"].(int64)
	return string(contract.Schedule{StartsAt: starts, EndsAt: ends}.Status(now))
}

// newPoll returns the poll that a request to create one describes.
func (d *gameData) newPoll(now time.Time) (id string, config map[string]any, err error) {
	if id, err = d.pollID(); err != nil {
		return "", nil, err
	}
	config = map[string]any{"prompt": d.text("prompt"), "options": d.raw("options", '[')}
	if raw, ok := d.members["user_data"]; ok && string(raw) != "null" {
		config["userData"] = raw
	}
	if err := addConfig(config, d.object("config"), now); err != nil {
		return "", nil, err
	}
	return id, config, d.err
}

func (c *connection) reconfigurePoll(r *gameRequest) (any, error) {
	id, err := r.data.pollID()
	if err != nil {
		return nil, err
	}
	changes := map[string]any{}
	if err := addConfig(changes, r.data.object("config"), c.server.options.Now()); err != nil {
		return nil, err
	}
	if r.data.err != nil {
		return nil, r.data.err
	}
	if err := noneNull(changes); err != nil {
		return nil, err
	}
	patch, err := encode(changes)
	if err != nil {
		return nil, err
	}
	err = c.patchPoll(c.ctx, id, patch)
	if isStatus(err, http.StatusNotFound) {
		err = refuse(http.StatusNotFound, "No such poll")
	}
	return done{true}, err
}

// noneNull refuses changes with null, which would be the default for the API.
func noneNull(changes map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		if raw, ok := changes[name].(json.RawMessage); ok && string(raw) == "null" {
			return fault.Newf(fault.Invalid, "%s is missing or has the wrong type", name)
		}
	}
	return nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *connection) getPoll(r *gameRequest) (any, error) {
	id, err := r.data.pollID()
	if err != nil {
		return nil, err
	}
	body, found, err := c.readPoll(c.ctx, id, false)
	if err == nil && !found {
		err = refuse(http.StatusNotFound, "No such poll")
	}
	return body, err
}

func (c *connection) deletePoll(r *gameRequest) (any, error) {
	id, err := r.data.pollID()
	if err != nil {
		return nil, err
	}
	return done{true}, c.resetPoll(c.ctx, id)
}

// maxKnownPolls limits the polls that a connection knows; the rest is read again.
const maxKnownPolls = 10_000

// pollMemory holds what the client knows of the polls it follows, so that no push repeats
// another.
type pollMemory struct {
	sync.Mutex
	known map[string]pollKnowledge
	// handled is the sequence of the last event of each name that a push followed, or did not:
	// several subscriptions of a connection may receive it.
	handled map[string]uint64
}

// pollKnowledge is a status and the numbers of a push, "" before the first one.
type pollKnowledge struct {
	status, numbers string
}

// know notes what the client knows of a poll. m is locked.
func (m *pollMemory) know(id, status, numbers string) {
	if len(m.known) >= maxKnownPolls {
		clear(m.known)
	}
	m.known[id] = pollKnowledge{status, numbers}
}

// note notes an event that has been handled. m is locked.
func (m *pollMemory) note(e *event.Event) {
	if len(m.handled) >= maxKnownPolls {
		clear(m.handled)
	}
	m.handled[e.Name] = max(m.handled[e.Name], e.Sequence)
}

// followsPoll reports whether the client has subscribed to a poll. Only the goroutine that
// reads may call it.
func (c *connection) followsPoll(id string) bool {
	return c.subscriptions[topicKey{contract.PushPoll, id}] != nil || c.subscriptions[topicKey{contract.PushPoll, "*"}] != nil
}

func knowledgeOf(b pollBody) pollKnowledge {
	numbers, err := json.Marshal([]any{b.Results, b.Mean, b.Sum, b.Stddev, b.Count})
	if err != nil {
		panic(err) // numbers always encode
	}
	return pollKnowledge{b.Poll.Status, string(numbers)}
}

func (c *connection) subscribePoll(r *gameRequest) (any, error) {
	id := r.data.required("topic_id")
	if r.data.err != nil {
		return nil, r.data.err
	}
	c.polls.Lock()
	defer c.polls.Unlock()
	if err := c.subscribe(topicKey{contract.PushPoll, id}, contract.PollEvents(id), c.pollPusher()); err != nil {
		return nil, err
	}
	if id == "*" {
		return done{true}, c.noteAllPolls()
	}
	if _, known := c.polls.known[id]; !known {
		body, found, err := c.readLogged(c.ctx, id)
		if err != nil {
			return nil, err
		}
		if found {
			known := knowledgeOf(body)
			c.polls.know(id, known.status, known.numbers)
		}
	}
	return done{true}, nil
}

// notedPolls is the number of polls whose status is noted when a client subscribes to all.
const notedPolls = 1000

// noteAllPolls notes the status of the channel's polls, so that what they are now causes no
// push.
func (c *connection) noteAllPolls() error {
	return c.ask(c.ctx, "poll.list", nil, func(ctx context.Context, call *operation.Call) error {
		listing := operation.PollListing{Channel: c.identity.channel, Limit: notedPolls, Concluded: true}
		_, err := c.server.options.Operations.ListPolls(ctx, call, listing, func(poll *operation.ListedPoll) error {
			if _, known := c.polls.known[poll.ID]; !known {
				c.polls.know(poll.ID, string(poll.Status), "")
			}
			return nil
		})
		return err
	})
}

func (c *connection) unsubscribePoll(r *gameRequest) (any, error) {
	id := r.data.required("topic_id")
	if r.data.err != nil {
		return nil, r.data.err
	}
	c.unsubscribe(topicKey{contract.PushPoll, id})
	c.forgetPolls()
	return done{true}, nil
}

// forgetPolls forgets the polls that the client does not follow.
func (c *connection) forgetPolls() {
	c.polls.Lock()
	defer c.polls.Unlock()
	maps.DeleteFunc(c.polls.known, func(id string, _ pollKnowledge) bool { return !c.followsPoll(id) })
	clear(c.polls.handled)
}

// pollPusher returns the handler of events about polls for the connection's caller.
func (c *connection) pollPusher() eventHandler {
	key := pollKey{extension: c.extension.ClientID, channel: c.identity.channel, ownsGlobal: c.identity.ownsGlobal}
	return func(ctx context.Context, e *event.Event) error { return c.pushPoll(ctx, e, key) }
}

// pushPoll pushes a poll if the event about it means that the client should know.
func (c *connection) pushPoll(ctx context.Context, e *event.Event, key pollKey) error {
	id, ok := event.PollID(e.Name)
	if !ok {
		return nil
	}
	c.polls.Lock()
	defer c.polls.Unlock()
	if c.polls.handled[e.Name] >= e.Sequence && e.Sequence > 0 {
		return nil
	}
	key.id = id
	body, found, err := c.readPollShared(ctx, key)
	if err != nil {
		return err
	}
	c.polls.note(e)
	if !found {
		delete(c.polls.known, id)
		return nil
	}
	before, known := c.polls.known[id]
	if !known {
		before.status = announcedStatus(e)
	}
	after := knowledgeOf(body)
	if shouldPush(before, after, strings.HasPrefix(e.Name, contract.VoteUpdate)) {
		c.polls.know(id, after.status, after.numbers)
		c.push(contract.PushPoll, body)
	} else {
		c.polls.know(id, after.status, before.numbers) // votes that have come meanwhile have an event of their own
	}
	return nil
}

// announcedStatus returns the status of the poll in an event about it, "" if it has none. The
// poll may have another one already.
func announcedStatus(e *event.Event) string {
	var announced struct{ Status string }
	_ = json.Unmarshal(e.Data, &announced) // events are JSON
	return announced.Status
}

// shouldPush reports whether a push follows an event about a poll, which says that the votes
// have changed or that something else has.
func shouldPush(before, after pollKnowledge, votes bool) bool {
	if before.status == after.status {
		return after.status != "expired" && votes && before.numbers != after.numbers
	}
	return before.status != "" && after.status != "pending"
}
