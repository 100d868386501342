package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/api/client"
	"github.com/acclaim-dev/acclaim/api/contract"
)

var errEnough = errors.New("enough")

// transport answers requests.
type transport func(r *http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// Followers receive each other result, and its absence, once. They send no credential, ask
// once a second with the tag of what they have, and less often while the service fails.
func TestFollowResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type answer struct {
			status    int
			tag, body string
		}
		script := []answer{
			{status: 404}, {status: 404}, {200, `"1"`, `{"now":{"votes":{"count":1}}}`}, {status: 304}, {status: 503}, {status: 0}, {status: 500},
			{200, `"2"`, `{"now":{"votes":{"count":2}}}`}, {status: 404}, {status: 400, body: `{"reason":"no"}`},
		}
		var tags []string
		begun := time.Now()
		var spans []time.Duration
		stub := transport(func(r *http.Request) (*http.Response, error) {
			if got, want := r.URL.EscapedPath(), "/sandbox/public/quiz/a%2Fb/c%20d/result.json"; got != want {
				t.Errorf("asked for %s, want %s", got, want)
			}
			if got := r.Header.Get("Authorization"); got != "" {
				t.Errorf("credential %q", got)
			}
			tags, spans = append(tags, r.Header.Get("If-None-Match")), append(spans, time.Since(begun))
			next := script[0]
			script = script[1:]
			if next.status == 0 {
				return nil, io.ErrUnexpectedEOF
			}
			return &http.Response{StatusCode: next.status, Header: http.Header{"Etag": {next.tag}}, Body: io.NopCloser(strings.NewReader(next.body))}, nil
		})
		var heard []string
		name := contract.PublicName{Client: "quiz", Channel: "a/b", Poll: "c d"}
		err := client.FollowResult(t.Context(), "https://example/sandbox/", name, client.Options{HTTP: &http.Client{Transport: stub}}, func(r *contract.PublicResult) error {
			if r == nil {
				heard = append(heard, "none")
				return nil
			}
			heard = append(heard, string(r.Now.Votes))
			return nil
		})
		if client.StatusOf(err) != http.StatusBadRequest {
			t.Error(err)
		}
		if want := []string{"none", `{"count":1}`, `{"count":2}`, "none"}; !slices.Equal(heard, want) {
			t.Errorf("heard %q, want %q", heard, want)
		}
		if want := []string{"", "", "", `"1"`, `"1"`, `"1"`, `"1"`, `"1"`, `"2"`, ""}; !slices.Equal(tags, want) {
			t.Errorf("asked with %q, want %q", tags, want)
		}
		if spans[3] != 3*time.Second || spans[6]-spans[4] < 400*time.Millisecond {
			t.Errorf("asked after %v", spans)
		}
	})
}

// The service shows a poll that opts in, under the address that the client makes of its name.
func TestFollowResultOfService(t *testing.T) {
	server := newService(t)
	c := newClient(server, decodedFirst)
	config := client.NewPollConfig()
	config.Prompt, config.Options, config.PublicResults = "Which?", []string{"this", "that"}, true
	if err := c.ConfigurePoll(t.Context(), id, config); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.SubmitVotes(t.Context(), id, []client.Vote{{UserID: "1", Value: 1}}, ""); err != nil {
		t.Fatal(err)
	}
	origin := strings.TrimSuffix(server.Base(), "/v1")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := client.FollowResult(ctx, origin, contract.PublicName{Client: "quiz", Channel: "1", Poll: id}, client.Options{}, func(r *contract.PublicResult) error {
		var votes client.Statistics
		if r == nil {
			t.Error("there is no public result")
		} else if err := json.Unmarshal(r.Now.Votes, &votes); err != nil || votes.Count != 1 || r.Now.Poll.Prompt != "Which?" {
			t.Errorf("%+v, %+v, %v", r.Now.Poll, votes, err)
		}
		return errEnough
	})
	if !errors.Is(err, errEnough) {
		t.Error(err)
	}
}
