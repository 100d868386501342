// Package breaker keeps a server that does not answer from holding up those who
// ask others: after some failures in a row, requests to it fail at once, but for
// one now and then that finds out whether it is back.
//
// It knows nothing of what is asked.
package breaker

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"
)

const (
	// patience is how many requests in a row fail before the others do at once.
	patience = 5
	// pause is how long they do until one is let through.
	pause = 5 * time.Second
)

// Transport passes requests on. An answer of any status is an answer.
type Transport struct {
	next    http.RoundTripper
	mu      sync.Mutex
	servers map[string]*gobreaker.CircuitBreaker[*http.Response] // by host and port
}

// Over returns a Transport over another.
func Over(next http.RoundTripper) *Transport {
	return &Transport{next: next, servers: map[string]*gobreaker.CircuitBreaker[*http.Response]{}}
}

// RoundTrip implements [http.RoundTripper].
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.server(r.URL.Host).Execute(func() (*http.Response, error) { return t.next.RoundTrip(r) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.URL.Host, err)
	}
	return response, nil
}

func (t *Transport) server(host string) *gobreaker.CircuitBreaker[*http.Response] {
	t.mu.Lock()
	defer t.mu.Unlock()
	server, known := t.servers[host]
	if !known {
		server = gobreaker.NewCircuitBreaker[*http.Response](gobreaker.Settings{ //nolint:bodyclose // it makes no request
			Timeout:     pause,
			ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= patience },
		})
		t.servers[host] = server
	}
	return server
}
