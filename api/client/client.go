// Package client calls an Acclaim service over HTTP: polls, public results, state, overlay
// keys and events, and with [Client.Call] every other route of the contract (api/contract.md).
//
// A request that a service refuses for a while, or whose outcome is unknown, is repeated
// where that has no second effect: writes carry an Idempotency-Key. A subscription resumes
// where it was interrupted. Credentials are a value that the caller has, or tokens that a
// [Signer] signs with an extension's keys, one for each request.
//
// The package knows the wire format and nothing of the service's implementation.
package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// maxResponseBytes limits the part of a response body that is read.
const maxResponseBytes = 16 << 20

// Options change the defaults of a client.
type Options struct {
	HTTP     *http.Client // default [http.DefaultClient]; its timeout is that of a request
	Attempts uint         // how often a request is sent at most; default 4
}

// Client calls one service. It is safe for concurrent use.
type Client struct {
	base        string
	credentials Credentials
	http        *http.Client
	attempts    uint
}

// New returns a client for the service with the given base address, such as
// https://acclaim.example/v1.
func New(base string, credentials Credentials, options Options) *Client {
	c := &Client{base: strings.TrimSuffix(base, "/"), credentials: credentials, http: options.HTTP, attempts: options.Attempts}
	if c.http == nil {
		c.http = http.DefaultClient
	}
	if c.attempts == 0 {
		c.attempts = 4
	}
	return c
}

// Error is a response other than success.
type Error struct {
	Status    int    // of the HTTP response
	Reason    string // for people; may be empty
	RequestID string // names the request in the service's log; may be empty
	// RetryAfter is the time after which another attempt may succeed, 0 if the service names
	// none.
	RetryAfter time.Duration
}

func (e *Error) Error() string {
	return fmt.Sprintf("the service answered %d: %s", e.Status, e.Reason)
}

// As makes package backoff wait for as long as the service asks.
func (e *Error) As(target any) bool {
	wait, ok := target.(**backoff.RetryAfterError)
	if !ok || e.RetryAfter == 0 {
		return false
	}
	*wait = &backoff.RetryAfterError{Duration: e.RetryAfter}
	return true
}

// StatusOf returns the HTTP status of an error, 0 if the service did not answer.
func StatusOf(err error) int {
	if refusal, ok := errors.AsType[*Error](err); ok {
		return refusal.Status
	}
	return 0
}

// Request is a request to a route of the contract.
type Request struct {
	Method string
	Path   string // such as /vote
	Query  url.Values
	Body   any // what encoding/json makes of it; nil for no body
	// IfMatch is the version that a document must have, "" for any.
	IfMatch string
	// Key is the Idempotency-Key of a write. A client that repeats a write after its own
	// restart sets the key that it had; else the client makes one.
	Key string
}

// Call sends a request and decodes the answer into the value that answer points to, unless
// that is nil. It returns the headers of the answer.
func (c *Client) Call(ctx context.Context, r Request, answer any) (http.Header, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = json.Marshal(r.Body); err != nil {
			return nil, err
		}
	}
	if r.Key == "" {
		r.Key = rand.Text()
	}
	return backoff.Retry(ctx, func() (http.Header, error) {
		header, err := c.sendWithCredentials(ctx, r, body, answer)
		if err == nil || r.isRepeatable(err) {
			return header, err
		}
		return nil, backoff.Permanent(err)
	}, backoff.WithMaxTries(c.attempts), backoff.WithMaxElapsedTime(0))
}

// isRepeatable reports whether another attempt may succeed and has no second effect.
func (r *Request) isRepeatable(err error) bool {
	refused, ok := errors.AsType[*Error](err)
	if ok && (refused.Status == http.StatusTooManyRequests || refused.Status == http.StatusServiceUnavailable && refused.Reason != "") {
		return true // nothing was stored; a proxy's 503, which has no reason, says nothing of that
	}
	if r.Method == http.MethodPost && r.Path == "/overlay_keys" {
		return false // the route knows no keys
	}
	_, unreachable := errors.AsType[*url.Error](err)
	return unreachable || StatusOf(err) >= http.StatusInternalServerError
}

// sendWithCredentials sends a request with each credential until the service accepts one.
func (c *Client) sendWithCredentials(ctx context.Context, r Request, body []byte, answer any) (http.Header, error) {
	values, err := c.credentials()
	if err != nil {
		return nil, err
	}
	err = errors.New("no key to sign with")
	for _, value := range values {
		var header http.Header
		if header, err = c.send(ctx, r, value, body, answer); StatusOf(err) != http.StatusUnauthorized {
			return header, err
		}
	}
	return nil, err
}

func (c *Client) send(ctx context.Context, r Request, credential string, body []byte, answer any) (http.Header, error) {
	request, err := http.NewRequestWithContext(ctx, r.Method, c.base+r.Path+encodeQuery(r.Query), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", credential)
	if len(body) > 0 {
		request.Header.Set("Content-Type", "application/json")
	}
	if r.Method == http.MethodPost || r.Method == http.MethodPatch {
		request.Header.Set("Idempotency-Key", r.Key)
	}
	if r.IfMatch != "" {
		request.Header.Set("If-Match", r.IfMatch)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxResponseBytes))
	if err != nil {
		return nil, &url.Error{Op: r.Method, URL: request.URL.Redacted(), Err: err}
	}
	if response.StatusCode/100 != 2 {
		return nil, newError(response, content)
	}
	if answer == nil {
		return response.Header, nil
	}
	return response.Header, json.Unmarshal(content, answer)
}

func encodeQuery(query url.Values) string {
	if len(query) == 0 {
		return ""
	}
	return "?" + query.Encode()
}

// newError returns the refusal that a response is.
func newError(response *http.Response, content []byte) error {
	var refusal struct{ Reason string }
	_ = json.Unmarshal(content, &refusal) // a proxy's response may be anything
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
	return &Error{
		Status: response.StatusCode, Reason: refusal.Reason, RequestID: response.Header.Get("X-Request-Id"),
		RetryAfter: time.Duration(seconds) * time.Second,
	}
}
