package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/api/client"
)

// script answers requests, one after the other, and records them. The last answer is that
// of all further requests.
type script struct {
	answers []string // a status and a body, "" for a broken connection
	seen    []*http.Request
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := s.answers[min(len(s.seen), len(s.answers)-1)]
	s.seen = append(s.seen, r)
	status, body, _ := strings.Cut(answer, " ")
	if status == "" {
		return nil, errors.New("connection refused")
	}
	response := &http.Response{Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}
	for _, c := range status[:3] {
		response.StatusCode = 10*response.StatusCode + int(c-'0')
	}
	if after, ok := strings.CutPrefix(status[3:], "/"); ok {
		response.Header.Set("Retry-After", after)
	}
	return response, nil
}

func (s *script) client() *client.Client {
	return client.New("http://acclaim.test/v1", client.UseToken("quiz x"), client.Options{HTTP: &http.Client{Transport: s}})
}

// A request is repeated where that has no second effect, with the key that it had.
func TestRepetition(t *testing.T) {
	for name, test := range map[string]struct {
		answers  []string
		method   string
		path     string
		requests int
		status   int // of the error, 0 if there is none
	}{
		"done":                              {[]string{"200 {}"}, "POST", "/vote", 1, 0},
		"refused":                           {[]string{"400 {}"}, "POST", "/vote", 1, 400},
		"a rate":                            {[]string{"429/7 {}", "200 {}"}, "POST", "/coins/purchase", 2, 0},
		"too much load":                     {[]string{"503/7 {}", "200 {}"}, "POST", "/vote", 2, 0},
		"too much load for long":            {[]string{"503/7 {}"}, "GET", "/vote", 4, 503},
		"an unknown outcome":                {[]string{"500 {}", "200 {}"}, "POST", "/vote", 2, 0},
		"an unknown outcome without a key":  {[]string{"500 {}", "200 {}"}, "POST", "/overlay_keys", 1, 500},
		"a proxy's refusal without a key":   {[]string{"503 {}", "200 {}"}, "POST", "/overlay_keys", 1, 503},
		"an unknown outcome of a purchase":  {[]string{"500 {}", "200 {}"}, "POST", "/coins/purchase", 2, 0},
		"a broken connection":               {[]string{"", "200 {}"}, "PATCH", "/channel_state", 2, 0},
		"a proxy":                           {[]string{"502 <html>", "200 {}"}, "DELETE", "/vote", 2, 0},
		"a broken connection without a key": {[]string{"", "200 {}"}, "POST", "/overlay_keys", 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{answers: test.answers}
				begin := time.Now()
				_, err := s.client().Call(t.Context(), client.Request{Method: test.method, Path: test.path, Body: map[string]int{"value": 1}}, nil)
				if client.StatusOf(err) != test.status || len(s.seen) != test.requests {
					t.Errorf("%d requests: %v", len(s.seen), err)
				}
				if waited := time.Since(begin); strings.Contains(test.answers[0], "/7") && waited < 7*time.Second {
					t.Errorf("waited %v", waited)
				}
				for _, r := range s.seen {
					key := r.Header.Get("Idempotency-Key")
					if writes := test.method == "POST" || test.method == "PATCH"; writes != (key != "") || key != s.seen[0].Header.Get("Idempotency-Key") {
						t.Errorf("key %q", key)
					}
				}
			})
		})
	}
}

// A subscription resumes after the event that it received last.
func TestSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []string{
			"200 :hello\n\nid: a\nevent: broadcast\ndata: {\"event\":\"production:quiz:vote_update:lunch\",\"data\":{\"id\":\"lunch\"}}\n\nid: alone\n\n",
			"", "503 {}",
			"200 id: b\nevent: broadcast\ndata: {\"event\":\"production:quiz:resync\",\"data\":{}}\n\nid: c\nevent: global\ndata: {\"event\":\"production:quiz:news\",\"data\":7}\n\n",
		}}
		subscribed, done := 0, errors.New("done")
		var got []string
		err := s.client().Subscribe(t.Context(), []string{"vote_update:*", "news"}, func() error { subscribed++; return nil }, func(e client.Event) error {
			got = append(got, e.Target+" "+e.Name+" "+string(e.Data))
			if e.Name == "news" {
				return done
			}
			return nil
		})
		if diff := cmp.Diff([]string{`broadcast vote_update:lunch {"id":"lunch"}`, "broadcast resync {}", "global news 7"}, got); diff != "" || !errors.Is(err, done) || subscribed != 2 {
			t.Errorf("%v, subscribed %d times (-want +got):\n%s", err, subscribed, diff)
		}
		var last []string
		for _, r := range s.seen {
			last = append(last, r.Header.Get("Last-Event-ID"))
		}
		if diff := cmp.Diff([]string{"", "alone", "alone", "alone"}, last); diff != "" {
			t.Error(diff)
		}
		if got := s.seen[0].URL.String(); got != "http://acclaim.test/v1/events?topic=vote_update%3A%2A&topic=news" {
			t.Error(got)
		}
	})
}

func TestSubscriptionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		receive := func(client.Event) error { return nil }
		s := &script{answers: []string{"403 {\"reason\":\"no\"}"}}
		if err := s.client().Subscribe(t.Context(), nil, nil, receive); client.StatusOf(err) != http.StatusForbidden || len(s.seen) != 1 {
			t.Errorf("%d requests: %v", len(s.seen), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		s = &script{answers: []string{"200 :hello\n\n"}}
		if err := s.client().Subscribe(ctx, nil, nil, receive); !errors.Is(err, context.DeadlineExceeded) || len(s.seen) > 10_000 {
			t.Errorf("%d requests: %v", len(s.seen), err)
		}
	})
}
