package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/internal/httpapi"
	"github.com/acclaim-dev/acclaim/services/internal/live"
)

// ear is somebody who listens.
type ear struct {
	t      *testing.T
	header http.Header
	status int
	close  context.CancelFunc
	ended  chan struct{}

	mu   sync.Mutex
	text bytes.Buffer
}

func (e *ear) Header() http.Header { return e.header }
func (e *ear) Flush()              {}

func (e *ear) WriteHeader(status int) { e.status = status }

func (e *ear) Write(b []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.text.Write(b)
}

// read returns what has come since the last time.
func (e *ear) read() string {
	synctest.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	defer e.text.Reset()
	return e.text.String()
}

// listen begins to listen. In a bubble it returns when all is still.
func (a *api) listen(t *testing.T, target string, headers ...string) *ear {
	t.Helper()
	e := &ear{t: t, header: http.Header{}, ended: make(chan struct{})}
	var ctx context.Context
	ctx, e.close = context.WithCancel(t.Context())
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	go func() {
		defer close(e.ended)
		a.handler.ServeHTTP(e, r)
	}()
	t.Cleanup(func() { e.close(); <-e.ended })
	synctest.Wait()
	return e
}

// heard returns the targets and names of the events since it was last asked.
func (e *ear) heard() (events []string) {
	e.t.Helper()
	target := ""
	for line := range strings.Lines(e.read()) {
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch field {
		case "event":
			target = value
		case "data":
			var envelope struct {
				Event string          `json:"event"`
				Data  json.RawMessage `json:"data"`
			}
			if err := json.Unmarshal([]byte(value), &envelope); err != nil || len(envelope.Data) == 0 {
				e.t.Errorf("data %q: %v", value, err)
			}
			events = append(events, target+" "+envelope.Event)
		}
	}
	return events
}

// bubbled is an identity whose key is active at any time, as in a bubble.
func bubbled(i identity) identity {
	if i.extension == "" && i.key == "" {
		i.key = oldKey
	}
	return i
}

// toldWrite is a write, who hears of it and what.
type toldWrite struct{ method, path, body, who, event string }

// toldWrites has every route that writes, and what those who listen hear of it: "channel"
// for those in the caller's channel, "extension" for those in all channels, "self"
// for the caller.
func toldWrites() []toldWrite {
	return []toldWrite{
		{"POST", "/vote?id=p", `{"value":3}`, "channel", "broadcast ext:vote_update:p"},
		{"POST", "/vote?id=globalp", `{"value":3}`, "extension", "global ext:vote_update:globalp"},
		{"POST", "/vote_modifier?id=p", `{"user":"U1000","add":1}`, "channel", "broadcast ext:vote_update:p"},
		{"POST", "/vote_config", `{"id":"p","config":{"prompt":"?"}}`, "", ""},
		{"POST", "/vote_config", `{"id":"p","config":{"endsAt":-1}}`, "channel", "broadcast ext:vote_update:p"},
		{"DELETE", "/vote?id=p", "", "channel", "broadcast ext:vote_delete:p,broadcast ext:vote_update:p"},
		{"DELETE", "/vote?id=none", "", "", ""},
		{"POST", "/channel_state", `{"a":1}`, "channel", "broadcast ext:channel_state_update"},
		{"POST", "/channel_state", `{"a":1}`, "", ""}, // it was so before
		{"PATCH", "/channel_state", `{"a":2}`, "channel", "broadcast ext:channel_state_update"},
		{"POST", "/extension_state", `{"a":1}`, "extension", "global ext:extension_state_update"},
		{"PATCH", "/extension_state", `{"a":2}`, "extension", "global ext:extension_state_update"},
		{"POST", "/viewer_state", `{"a":1}`, "", ""},
		{"PATCH", "/viewer_state", `{"a":2}`, "", ""},
		{"POST", "/extension_viewer_state", `{"a":1}`, "", ""},
		{"PATCH", "/extension_viewer_state", `{"a":2}`, "", ""},
		{"POST", "/config/channel", `{"a":1}`, "", ""},
		{"PATCH", "/config/channel", `{"a":2}`, "", ""},
		{"POST", "/config/extension", `{"a":1}`, "", ""},
		{"PATCH", "/config/extension", `{"a":2}`, "", ""},
		{"POST", "/accumulate", `{"a":1}`, "", ""},
		{"POST", "/rank", `{"key":"a"}`, "", ""},
		{"DELETE", "/rank", "", "", ""},
		{"POST", "/broadcast", `{"event":"goal","data":{"by":1}}`, "channel", "broadcast ext:goal"},
		{"POST", "/broadcast", `{"data":null}`, "channel", "broadcast ext:default"},
		{"POST", "/extension_broadcast", `{"event":"goal","data":7}`, "extension", "global ext:goal"},
		{"POST", "/whisper_self", `{"event":"hint","data":"psst"}`, "self", "whisper-U1000 ext:hint"},
	}
}

// Whatever anybody does, each hears what is addressed to it and nothing else.
func TestWhoHearsWhat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		caller, own := bubbled(owner()), "/v1/events"
		elsewhere, other := bubbled(viewer()), identity{extension: "other", key: "other", role: "viewer", opaque: "U1000"}
		elsewhere.channel = "78"
		boxed := owner()
		boxed.key = sandboxKey
		listeners := map[string]struct {
			target string
			who    identity
			hears  []string
		}{
			"itself":            {own, caller, []string{"channel", "extension", "self"}},
			"a viewer":          {own, bubbled(viewer()), []string{"channel", "extension"}},
			"a logged-out one":  {"/v1/e/events", bubbled(stranger()), []string{"channel", "extension"}},
			"the broadcaster":   {own, bubbled(broadcaster()), []string{"channel", "extension"}},
			"the backend":       {own, bubbled(backend()), []string{"channel", "extension"}},
			"another channel":   {own, elsewhere, []string{"extension"}},
			"another extension": {own, other, nil},
			"the sandbox":       {"/sandbox/v1/events", boxed, nil},
		}
		ears := map[string]*ear{}
		for name, l := range listeners {
			ears[name] = a.listen(t, l.target, "Authorization", l.who.header(t))
			if e := ears[name]; e.status != http.StatusOK || e.header.Get("Content-Type") != "text/event-stream" {
				t.Fatalf("%s: %d %s", name, e.status, e.read())
			}
		}
		for _, w := range toldWrites() {
			a.as(caller, w.method, w.path, w.body).is(http.StatusOK)
			<-time.After(2 * time.Second)
			for name, l := range listeners {
				var want []string
				if slices.Contains(l.hears, w.who) {
					want = strings.Split(strings.ReplaceAll(w.event, " ", " production:"), ",")
				}
				if diff := cmp.Diff(want, ears[name].heard()); diff != "" {
					t.Errorf("%s %s, heard by %s (-want +got):\n%s", w.method, w.path, name, diff)
				}
			}
		}
	})
}

// Every route that writes is in the table.
func TestEveryWriteIsListenedTo(t *testing.T) {
	var config httpapi.Config
	newAPI(t, func(c *httpapi.Config) { config = *c })
	for _, route := range httpapi.New(config).Routes() {
		known := slices.ContainsFunc(toldWrites(), func(w toldWrite) bool {
			path, _, _ := strings.Cut(w.path, "?")
			return w.method == route.Method && path == route.Path
		})
		if !known && route.Method != http.MethodGet {
			t.Errorf("nobody says who hears of %s %s", route.Method, route.Path)
		}
	}
}

// EventSource sends no headers, so the credential may stand in the query of this
// route. It is in no log.
func TestCredentialInQuery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		header := bubbled(viewer()).header(t)
		query := "?access_token=" + url.QueryEscape(header)
		e := a.listen(t, "/v1/events"+query+"&topic=default")
		a.as(bubbled(broadcaster()), http.MethodPost, "/broadcast", `{"data":1}`).is(http.StatusOK)
		if diff := cmp.Diff([]string{"broadcast production:ext:default"}, e.heard()); diff != "" {
			t.Errorf("heard (-want +got):\n%s", diff)
		}
		a.send(http.MethodGet, "/v1/events?access_token=nonsense", "").is(http.StatusUnauthorized)
		a.send(http.MethodGet, "/v1/events", "").is(http.StatusUnauthorized)
		a.send(http.MethodGet, "/v1/events"+query, "", "Authorization", "nonsense").is(http.StatusUnauthorized)
		a.send(http.MethodGet, "/v1/vote"+query, "").is(http.StatusUnauthorized)
		a.send(http.MethodGet, "/nothing"+query, "").is(http.StatusNotFound)
		a.send(http.MethodGet, "/v1/events"+query+"&topic=a*b", "").is(http.StatusBadRequest)
		a.send(http.MethodHead, "/v1/events"+query, "").is(http.StatusOK)
		e.close()
		<-e.ended
		_, token, _ := strings.Cut(header, " ")
		for part := range strings.SplitSeq(token, ".") {
			if strings.Contains(a.log.String(), part) {
				t.Errorf("the log has %q of the credential:\n%s", part, a.log)
			}
		}
		if n := strings.Count(a.log.String(), `"/events"`); n < 5 {
			t.Errorf("%d requests are logged:\n%s", n, a.log)
		}
	})
}

// A stream shows that it lives, and ends soon after its credential does.
func TestHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		e := a.listen(t, "/v1/events", "Authorization", bubbled(viewer()).header(t)) // good for an hour
		for range 3 {
			e.heard()
			<-time.After(15 * time.Second)
			if got := e.read(); got != ":\n\n" {
				t.Errorf("in 15 s came %q", got)
			}
		}
		<-time.After(time.Hour - 50*time.Second)
		select {
		case <-e.ended:
			t.Error("the stream has ended before its credential")
		default:
		}
		<-time.After(30 * time.Second)
		<-e.ended
	})
}

// When the process goes away, listeners are told to come back, not all at once,
// and nobody is let in any more.
func TestListenersAreSentAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hub *live.Hub
		a := newAPI(t, func(c *httpapi.Config) { hub = c.Live.(*live.Hub) })
		header := bubbled(viewer()).header(t)
		e := a.listen(t, "/v1/events", "Authorization", header)
		e.heard()
		hub.Drain()
		<-e.ended
		if got := e.read(); !strings.HasPrefix(got, "retry: ") {
			t.Errorf("the last words were %q", got)
		}
		a.send(http.MethodGet, "/v1/events", "", "Authorization", header).is(http.StatusServiceUnavailable)
	})
}

// Messages have rates: to a channel, to the extension, of a viewer.
func TestMessagesAreRateLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		elsewhere, neighbour := bubbled(broadcaster()), bubbled(stranger())
		elsewhere.channel = "78"
		say := func(who identity, path string) int {
			return a.as(who, http.MethodPost, path, `{"data":1}`).status
		}
		for path, who := range map[string]identity{
			"/broadcast": bubbled(broadcaster()), "/extension_broadcast": bubbled(owner()), "/whisper_self": bubbled(viewer()),
		} {
			for range 100 {
				if status := say(who, path); status != http.StatusOK {
					t.Fatalf("%s: %d", path, status)
				}
			}
			if status := say(who, path); status != http.StatusTooManyRequests {
				t.Errorf("%s is answered %d after 100", path, status)
			}
		}
		if say(elsewhere, "/broadcast") != http.StatusOK || say(neighbour, "/whisper_self") != http.StatusOK {
			t.Error("others are limited, too")
		}
		<-time.After(time.Second)
		if status := say(bubbled(broadcaster()), "/broadcast"); status != http.StatusOK {
			t.Errorf("a second later: %d", status)
		}
	})
}
