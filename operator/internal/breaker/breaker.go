// Package breaker is a circuit breaker for each server: after several failures in a
// row, requests to that server fail at once, except for one now and then that finds
// out whether it is back. So a server that does not answer does not delay requests
// to others.
//
// It knows nothing about the requests.
package breaker

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"
)

const (
	// maxFailures is the number of failures in a row that open the breaker.
	maxFailures = 5
	// openTime is the time until an open breaker lets one request pass.
	openTime = 5 * time.Second
)

// Transport sends requests through the breaker of their server. A response of any
// status counts as a success.
type Transport struct {
	next    http.RoundTripper
	mu      sync.Mutex
	servers map[string]*gobreaker.CircuitBreaker[*http.Response] // by host and port
}

// NewTransport returns a Transport over another.
func NewTransport(next http.RoundTripper) *Transport {
	return &Transport{next: next, servers: map[string]*gobreaker.CircuitBreaker[*http.Response]{}}
}

// RoundTrip implements [http.RoundTripper].
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.serverBreaker(r.URL.Host).Execute(func() (*http.Response, error) { return t.next.RoundTrip(r) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.URL.Host, err)
	}
	return response, nil
}

func (t *Transport) serverBreaker(host string) *gobreaker.CircuitBreaker[*http.Response] {
	t.mu.Lock()
	defer t.mu.Unlock()
	server, known := t.servers[host]
	if !known {
		server = gobreaker.NewCircuitBreaker[*http.Response](gobreaker.Settings{ //nolint:bodyclose // no request is made here
			Timeout:     openTime,
			ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= maxFailures },
		})
		t.servers[host] = server
	}
	return server
}
