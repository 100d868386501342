package testcluster

import (
	"net/http"
	"strings"
	"sync"
)

// Wire carries requests to servers, notes them and can be cut.
type Wire struct {
	mu    sync.Mutex
	calls []string
	cut   Cut
}

// Cut decides what becomes of a call that is about to be made: it passes it on
// or does not, and returns what the caller gets.
type Cut func(call string, r *http.Request, pass http.RoundTripper) (*http.Response, error)

// Over returns a transport that sends everything over the wire.
func (w *Wire) Over(transport http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		call, counts := describe(r)
		if !counts {
			return transport.RoundTrip(r)
		}
		w.mu.Lock()
		w.calls = append(w.calls, call)
		cut := w.cut
		w.mu.Unlock()
		if cut == nil {
			return transport.RoundTrip(r)
		}
		return cut(call, r, transport)
	})
}

// Cut lets every call from now on be decided upon; nil lets all pass.
func (w *Wire) Cut(cut Cut) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
}

// Calls returns the calls since it was last asked, such as "POST /vote_config"
// to a service or "PATCH polls/status" to the API server. What a cache reads and
// Events are none: they come when they like.
func (w *Wire) Calls() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	calls := w.calls
	w.calls = nil
	return calls
}

// Writes returns those of Calls that change something.
func (w *Wire) Writes() []string {
	var writes []string
	for _, call := range w.Calls() {
		if !strings.HasPrefix(call, http.MethodGet) {
			writes = append(writes, call)
		}
	}
	return writes
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// describe names a request, and says whether it is a call.
func describe(r *http.Request) (call string, counts bool) {
	_, path, kubernetes := strings.Cut(r.URL.Path, "/namespaces/")
	if !kubernetes && !strings.HasPrefix(r.URL.Path, "/api") {
		return r.Method + " " + strings.TrimPrefix(r.URL.Path, "/v1"), true
	}
	// namespace, resource, name, subresource
	parts := strings.Split(path, "/")
	if len(parts) < 2 || r.Method == http.MethodGet || parts[1] == "events" {
		return "", false
	}
	resource := parts[1]
	if len(parts) > 3 {
		resource += "/" + parts[3]
	}
	return r.Method + " " + resource, true
}
