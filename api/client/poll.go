package client

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"

	"github.com/acclaim-dev/acclaim/api/contract"
)

// NewPollConfig returns the configuration of a new poll: the service's defaults, but strict.
func NewPollConfig() contract.PollConfig {
	config := contract.DefaultPollConfig()
	config.Strict = true
	return config
}

// Poll is a configured poll as its viewers see it.
type Poll struct {
	contract.Poll
	Channel string `json:"channel,omitempty"` // only in lists
}

// Statistics are a poll's statistics. Fractions keep the service's notation.
type Statistics struct {
	Count    int64       `json:"count"`
	Sum      json.Number `json:"sum"`
	Mean     json.Number `json:"mean"`
	Stddev   json.Number `json:"stddev"`
	Specific []int64     `json:"specific"`         // of the options; nil where results are hidden
	Hidden   bool        `json:"hidden,omitempty"` // from the caller
}

// Vote is a vote of a viewer that a back end names.
type Vote struct {
	UserID       string `json:"user_id,omitempty"`
	OpaqueUserID string `json:"opaque_user_id,omitempty"`
	Value        int64  `json:"value"`
	Count        int64  `json:"count,omitempty"` // 0: one
	// NonceHash is the digest of a secret by which the voter recognizes the vote, in a poll that
	// lists its votes: HashNonce of package verifiable makes it.
	NonceHash []byte `json:"nonceHash,omitempty"`
}

// Listed is the place of a vote in the list of a poll whose votes can be checked.
type Listed struct {
	Tree  string `json:"tree"`
	Index int64  `json:"index"`
	Voter int64  `json:"voter"` // index of the voter's first entry
}

// VoteResult reports whether one of several votes was accepted.
type VoteResult struct {
	Accepted bool   `json:"accepted"`
	Reason   string `json:"reason,omitempty"`
	Replayed bool   `json:"replayed,omitempty"`
	// Listed is nil in polls without a list, and for refused votes.
	Listed *Listed `json:"listed,omitempty"`
}

func withID(id string) url.Values { return url.Values{"id": {id}} }

// SavedConfig is the explicit configuration of a poll, without Prompt and UserData, which [Poll]
// has, and the status of its schedule by the clock of the service.
type SavedConfig struct {
	contract.PollConfig
	Status contract.Status `json:"status"`
}

// ReadPollConfig returns the explicit configuration of a poll and whether it has one.
func (c *Client) ReadPollConfig(ctx context.Context, id string) (config SavedConfig, found bool, err error) {
	_, err = c.Call(ctx, Request{Method: http.MethodGet, Path: "/vote_config", Query: withID(id)}, &config)
	if StatusOf(err) == http.StatusNotFound {
		return SavedConfig{}, false, nil
	}
	return config, err == nil, err
}

// ConfigurePoll stores a configuration; votes stay as they are. In a strict poll with votes
// the service refuses another question: [IsOtherQuestion] recognizes that.
func (c *Client) ConfigurePoll(ctx context.Context, id string, config contract.PollConfig) error {
	return c.replaceConfig(ctx, id, config, false)
}

// ConfigurePollKeepingVotes is ConfigurePoll that keeps the votes under another question.
func (c *Client) ConfigurePollKeepingVotes(ctx context.Context, id string, config contract.PollConfig) error {
	return c.replaceConfig(ctx, id, config, true)
}

// IsOtherQuestion reports whether the service refused a configuration because the votes of
// the poll answer another question.
func IsOtherQuestion(err error) bool { return StatusOf(err) == http.StatusConflict }

func (c *Client) replaceConfig(ctx context.Context, id string, config contract.PollConfig, keepVotes bool) error {
	if config.Options == nil {
		config.Options = []string{}
	}
	body := struct {
		ID        string              `json:"id"`
		Config    contract.PollConfig `json:"config"`
		KeepVotes bool                `json:"keepVotes,omitempty"`
	}{id, config, keepVotes}
	_, err := c.Call(ctx, Request{Method: http.MethodPost, Path: "/vote_config", Body: body}, nil)
	return err
}

// ChangePoll changes members of a poll's configuration by their names in JSON and leaves the
// others as they are; nil sets a default. It needs a poll with a configuration or votes.
func (c *Client) ChangePoll(ctx context.Context, id string, changes map[string]any) error {
	body := map[string]any{"id": id, "config": changes}
	_, err := c.Call(ctx, Request{Method: http.MethodPatch, Path: "/vote_config", Body: body}, nil)
	return err
}

// DeletePoll removes a poll's votes and configuration. It is idempotent.
func (c *Client) DeletePoll(ctx context.Context, id string) error {
	_, err := c.Call(ctx, Request{Method: http.MethodDelete, Path: "/vote", Query: withID(id)}, nil)
	return err
}

// ReadPoll returns a configured poll as its viewers see it.
func (c *Client) ReadPoll(ctx context.Context, id string) (p Poll, err error) {
	_, err = c.Call(ctx, Request{Method: http.MethodGet, Path: "/poll", Query: withID(id)}, &p)
	return p, err
}

// ListPolls returns the configured polls of the channel and the extension. Query may have
// status, prefix and, for backends and validated admins, channel.
func (c *Client) ListPolls(ctx context.Context, query url.Values) (polls []Poll, err error) {
	more := url.Values{}
	maps.Copy(more, query)
	for {
		var page struct {
			Polls []Poll
			Next  string
		}
		if _, err = c.Call(ctx, Request{Method: http.MethodGet, Path: "/polls", Query: more}, &page); err != nil {
			return nil, err
		}
		if polls = append(polls, page.Polls...); page.Next == "" {
			return polls, nil
		}
		more.Set("cursor", page.Next)
	}
}

// ReadStatistics returns a poll's statistics, zero for a poll that does not exist.
func (c *Client) ReadStatistics(ctx context.Context, id string) (s Statistics, err error) {
	_, err = c.Call(ctx, Request{Method: http.MethodGet, Path: "/vote", Query: withID(id)}, &s)
	return s, err
}

// SubmitVotes submits up to 1,000 votes of viewers, for chat bots and game servers, and
// returns the statistics after them and a result for each. The key is an Idempotency-Key,
// such as a message's id; with "" the client makes one.
func (c *Client) SubmitVotes(ctx context.Context, id string, votes []Vote, key string) (s Statistics, results []VoteResult, err error) {
	var answer struct {
		Statistics
		Results []VoteResult
	}
	body := map[string]any{"votes": votes}
	_, err = c.Call(ctx, Request{Method: http.MethodPost, Path: "/votes", Query: withID(id), Body: body, Key: key}, &answer)
	return answer.Statistics, answer.Results, err
}
