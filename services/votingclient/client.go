// Package votingclient asks the voting service for polls over its HTTP API, as
// an extension's backend does: with a token it signs itself.
//
// It may know the wire format and nothing of what is behind it.
package votingclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// tokenLifetime is long enough for one request and a clock that is off.
const tokenLifetime = time.Minute

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 1 << 20

// Client asks one voting service. It may be used by several goroutines at once.
type Client struct {
	base string
	http *http.Client
	now  func() time.Time
}

// New returns a client for the service with the given base address, such as
// http://acclaim-voting:8080/v1. The HTTP client's time limit is that of a request.
func New(base string, client *http.Client, now func() time.Time) *Client {
	return &Client{base: strings.TrimSuffix(base, "/"), http: client, now: now}
}

// Poll says which poll is meant and whose keys open it.
type Poll struct {
	ClientID string   // of the extension
	Keys     [][]byte // of the extension, decoded: the first signs, the others where it is not known yet
	Channel  string   // empty for a poll of the whole extension
	ID       string
}

// Config is a poll's configuration. Times are Unix seconds, 0 where none is set.
// The service never returns Prompt and UserData.
type Config struct {
	UserIDVoting           bool            `json:"userIDVoting"`
	DistinctOptionsPerUser int64           `json:"distinctOptionsPerUser"`
	TotalVotesPerUser      int64           `json:"totalVotesPerUser"`
	VotesPerOption         int64           `json:"votesPerOption"`
	Global                 bool            `json:"global"`
	Disabled               bool            `json:"disabled"`
	Prompt                 string          `json:"prompt"`
	Options                []string        `json:"options"`
	UserData               json.RawMessage `json:"userData,omitempty"`
	StartsAt               int64           `json:"startsAt"`
	EndsAt                 int64           `json:"endsAt"`
	Status                 string          `json:"status,omitempty"` // pending, active or expired; only read
}

// Statistics are a poll's numbers. Fractions are kept as the service wrote them.
type Statistics struct {
	Count    int64       `json:"count"`
	Sum      json.Number `json:"sum"`
	Mean     json.Number `json:"mean"`
	Stddev   json.Number `json:"stddev"`
	Specific []int64     `json:"specific"`
}

// Error is an answer other than success.
type Error struct {
	Status int    // of the HTTP response
	Reason string // for people; may be empty
}

func (e *Error) Error() string {
	return fmt.Sprintf("the voting service answered %d: %s", e.Status, e.Reason)
}

// StatusOf returns the HTTP status of a refusal, 0 when the service did not answer.
func StatusOf(err error) int {
	if refusal, ok := errors.AsType[*Error](err); ok {
		return refusal.Status
	}
	return 0
}

// Config returns the explicit configuration of a poll and whether it has one.
func (c *Client) Config(ctx context.Context, p Poll) (config Config, found bool, err error) {
	err = c.do(ctx, http.MethodGet, "/vote_config", p, nil, &config)
	if StatusOf(err) == http.StatusNotFound {
		return Config{}, false, nil
	}
	return config, err == nil, err
}

// Configure stores a configuration; votes stay as they are.
func (c *Client) Configure(ctx context.Context, p Poll, config Config) error {
	body := struct {
		ID     string `json:"id"`
		Config Config `json:"config"`
	}{p.ID, config}
	body.Config.Status = ""
	if body.Config.Options == nil {
		body.Config.Options = []string{}
	}
	return c.do(ctx, http.MethodPost, "/vote_config", p, body, nil)
}

// Delete removes a poll's votes and configuration. A poll that is not there is
// no error.
func (c *Client) Delete(ctx context.Context, p Poll) error {
	return c.do(ctx, http.MethodDelete, "/vote", p, nil, nil)
}

// Statistics returns a poll's numbers, zero for one that is not there.
func (c *Client) Statistics(ctx context.Context, p Poll) (s Statistics, err error) {
	return s, c.do(ctx, http.MethodGet, "/vote", p, nil, &s)
}

// do asks with each key until one is accepted. While keys are exchanged, the
// service may not know the newest yet.
func (c *Client) do(ctx context.Context, method, path string, p Poll, body, answer any) error {
	err := errors.New("there is no key to sign with")
	for _, key := range p.Keys {
		if err = c.ask(ctx, method, path, p, key, body, answer); StatusOf(err) != http.StatusUnauthorized {
			return err
		}
	}
	return err
}

func (c *Client) ask(ctx context.Context, method, path string, p Poll, key []byte, body, answer any) error {
	request, err := c.request(ctx, method, path, p, key, body)
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return err
	}
	if response.StatusCode/100 != 2 {
		var refusal struct{ Reason string }
		_ = json.Unmarshal(content, &refusal) // a proxy's answer may be anything
		return &Error{Status: response.StatusCode, Reason: refusal.Reason}
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(content, answer)
}

func (c *Client) request(ctx context.Context, method, path string, p Poll, key []byte, body any) (*http.Request, error) {
	var content []byte
	if body != nil {
		var err error
		if content, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	address := c.base + path + "?" + url.Values{"id": {p.ID}}.Encode()
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"exp":          c.now().Add(tokenLifetime).Unix(),
		"role":         "backend",
		"channel_id":   p.Channel,
		"extension_id": p.ClientID,
	}).SignedString(key)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", p.ClientID+" "+token)
	request.Header.Set("Content-Type", "application/json")
	return request, nil
}
