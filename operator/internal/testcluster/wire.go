package testcluster

import (
	"net/http"
	"strings"
	"sync"
)

// Wire sends requests to servers, records them and can be cut.
type Wire struct {
	mu    sync.Mutex
	calls []string
	cut   CallFilter
}

// A CallFilter decides about a call before it is made: it sends it or not, and
// returns the caller's result.
type CallFilter func(call string, r *http.Request, pass http.RoundTripper) (*http.Response, error)

// WrapTransport returns a transport that sends everything over the wire.
func (w *Wire) WrapTransport(transport http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		call, counts := describeRequest(r)
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

// SetFilter replaces the decision about every later call; nil sends all of them.
func (w *Wire) SetFilter(cut CallFilter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
}

// TakeCalls returns the calls since the last call of TakeCalls, such as "POST
// /vote_config" to a service or "PATCH polls/status" to the API server. Requests of
// caches and Events do not count: their time is not determined.
func (w *Wire) TakeCalls() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	calls := w.calls
	w.calls = nil
	return calls
}

// TakeWrites returns those of TakeCalls that change something.
func (w *Wire) TakeWrites() []string {
	var writes []string
	for _, call := range w.TakeCalls() {
		if !strings.HasPrefix(call, http.MethodGet) {
			writes = append(writes, call)
		}
	}
	return writes
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// describeRequest names a request and reports whether it counts as a call.
func describeRequest(r *http.Request) (call string, counts bool) {
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
