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

	"github.com/acclaim-dev/acclaim/services/internal/operation"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/internal/face/httpapi"
	"github.com/acclaim-dev/acclaim/services/internal/feed/live"
)

// eventClient receives events.
type eventClient struct {
	t      *testing.T
	header http.Header
	status int
	close  context.CancelFunc
	ended  chan struct{}

	mu   sync.Mutex
	text bytes.Buffer
}

func (e *eventClient) Header() http.Header { return e.header }
func (e *eventClient) Flush()              {}

func (e *eventClient) WriteHeader(status int) { e.status = status }

func (e *eventClient) Write(b []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.text.Write(b)
}

// read returns the bytes since the last call.
func (e *eventClient) read() string {
	synctest.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	defer e.text.Reset()
	return e.text.String()
}

// subscribe opens a stream of events. In a bubble it returns when all is still.
func (a *api) subscribe(t *testing.T, target string, headers ...string) *eventClient {
	t.Helper()
	e := &eventClient{t: t, header: http.Header{}, ended: make(chan struct{})}
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

// received returns the targets and names of the events since the last call.
func (e *eventClient) received() (events []string) {
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

// publishedWrite is a write, its audience and its events.
type publishedWrite struct{ method, path, body, audience, event string }

// publishedWrites has every route that writes, and its events. Their audience is
// "channel" for clients in the caller's channel, "extension" for those in all
// channels, "self" for the caller.
func publishedWrites() []publishedWrite {
	return []publishedWrite{
		{"POST", "/vote?id=p", `{"value":3}`, "channel", "broadcast ext:vote_update:p"},
		{"POST", "/vote?id=globalp", `{"value":3}`, "extension", "global ext:vote_update:globalp"},
		{"POST", "/votes?id=p", `{"votes":[{"user_id":"8","value":3},{"user_id":"9"}]}`, "channel", "broadcast ext:vote_update:p"},
		{"POST", "/vote_modifier?id=p", `{"user":"U1000","add":1}`, "channel", "broadcast ext:vote_update:p"},
		{"POST", "/vote_config", `{"id":"p","config":{"prompt":"?"}}`, "channel", "broadcast ext:poll_update:p"},
		{"POST", "/vote_config", `{"id":"p","config":{"prompt":"?"}}`, "", ""}, // unchanged
		{"PATCH", "/vote_config", `{"id":"p","config":{"options":["a"]}}`, "channel", "broadcast ext:poll_update:p"},
		{"PATCH", "/vote_config", `{"id":"p","config":{"options":["a"]}}`, "", ""}, // unchanged
		{"POST", "/vote_config", `{"id":"globalp","config":{"prompt":"?"}}`, "extension", "global ext:poll_update:globalp"},
		{"POST", "/vote_config", `{"id":"p","config":{"endsAt":-1}}`, "channel", "broadcast ext:poll_update:p,broadcast ext:vote_update:p"},
		{"DELETE", "/vote?id=p", "", "channel", "broadcast ext:vote_delete:p,broadcast ext:vote_update:p"},
		{"DELETE", "/vote?id=none", "", "", ""},
		{"POST", "/channel_state", `{"a":1}`, "channel", "broadcast ext:channel_state_update"},
		{"POST", "/channel_state", `{"a":1}`, "channel", "broadcast ext:channel_state_update"}, // unchanged
		{"PATCH", "/channel_state", `{"a":2}`, "channel", "broadcast ext:channel_state_update"},
		{"POST", "/extension_state", `{"a":1}`, "extension", "global ext:extension_state_update"},
		{"PATCH", "/extension_state", `{"a":2}`, "extension", "global ext:extension_state_update"},
		{"POST", "/extension_hidden_state", `{"a":1}`, "", ""},
		{"PATCH", "/extension_hidden_state", `{"a":2}`, "", ""},
		{"POST", "/viewer_state", `{"a":1}`, "", ""},
		{"PATCH", "/viewer_state", `{"a":2}`, "", ""},
		{"POST", "/extension_viewer_state", `{"a":1}`, "", ""},
		{"PATCH", "/extension_viewer_state", `{"a":2}`, "", ""},
		{"POST", "/config/channel", `{"a":1}`, "channel", "broadcast ext:channel_config_update"},
		{"PATCH", "/config/channel", `{"a":2}`, "channel", "broadcast ext:channel_config_update"},
		{"POST", "/config/extension", `{"a":1}`, "extension", "global ext:extension_config_update"},
		{"PATCH", "/config/extension", `{"a":2}`, "extension", "global ext:extension_config_update"},
		{"POST", "/channel_config", `{"a":3}`, "channel", "broadcast ext:channel_config_update"},
		{"PATCH", "/channel_config", `{"a":4}`, "channel", "broadcast ext:channel_config_update"},
		{"POST", "/extension_config", `{"a":3}`, "extension", "global ext:extension_config_update"},
		{"PATCH", "/extension_config", `{"a":4}`, "extension", "global ext:extension_config_update"},
		{"POST", "/accumulate", `{"a":1}`, "", ""},
		{"DELETE", "/accumulate", "", "", ""},
		{"POST", "/rank", `{"key":"a"}`, "", ""},
		{"POST", "/rank_config", `{"holdAnswers":true}`, "", ""},
		{"PATCH", "/rank_config", `{"config":{"holdAnswers":false}}`, "", ""},
		{"POST", "/rank_moderation", `{"action":"hide","key":"a"}`, "", ""},
		{"DELETE", "/rank", "", "", ""},
		{"POST", "/broadcast", `{"event":"goal","data":{"by":1}}`, "channel", "broadcast ext:goal"},
		{"POST", "/broadcast", `{"event":"default","data":null}`, "channel", "broadcast ext:default"},
		{"POST", "/pusher_broadcast", `{"event":"production:ext:goal","data":{"by":2}}`, "channel", "broadcast ext:goal"},
		{"POST", "/extension_broadcast", `{"event":"goal","data":7}`, "extension", "global ext:goal"},
		{"POST", "/broadcast_extension", `{"event":"goal","data":8}`, "extension", "global ext:goal"},
		{"POST", "/json_store?id=prices", `{"a":1}`, "channel", "broadcast ext:json_store_update:prices"},
		{"POST", "/json_store?id=prices", `{"a":1}`, "channel", "broadcast ext:json_store_update:prices"}, // unchanged
		{"POST", "/datastream", `{"a":1}`, "", ""},
		{"POST", "/gamelink/token", "", "", ""},
		{"POST", "/gamelink/pin", "", "", ""},
		{"POST", "/pin", `{"identifier":"ext"}`, "", ""},
		{"POST", "/codes/redeem", `{"all_prizes":0}`, "", ""},
		{"DELETE", "/codes", "", "", ""},
		{"POST", "/codes/mark_from_poll", `{}`, "", ""},
		{"POST", "/codes/mark_from_list", `{"users":["1"]}`, "", ""},
		{"POST", "/team_membership", "", "", ""},
		{"POST", "/whisper_self", `{"event":"hint","data":"psst"}`, "self", "whisper-U1000 ext:hint"},
	}
}

// Every client receives the events that are addressed to it and no others.
func TestAudiences(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		caller, own := bubbled(owner()), "/v1/events"
		elsewhere, other := bubbled(viewer()), identity{extension: "other", key: otherKey, role: "viewer", opaque: "U1000"}
		elsewhere.channel = "78"
		boxed := owner()
		boxed.key = sandboxKey
		listeners := map[string]struct {
			target string
			who    identity
			groups []string
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
		ears := map[string]*eventClient{}
		for name, l := range listeners {
			ears[name] = a.subscribe(t, l.target, "Authorization", l.who.header(t))
			if e := ears[name]; e.status != http.StatusOK || e.header.Get("Content-Type") != "text/event-stream" {
				t.Fatalf("%s: %d %s", name, e.status, e.read())
			}
		}
		for _, w := range publishedWrites() {
			a.as(caller, w.method, w.path, w.body).is(http.StatusOK)
			<-time.After(2 * time.Second)
			for name, l := range listeners {
				var want []string
				if slices.Contains(l.groups, w.audience) {
					want = strings.Split(strings.ReplaceAll(w.event, " ", " production:"), ",")
				}
				if diff := cmp.Diff(want, ears[name].received()); diff != "" {
					t.Errorf("%s %s, received by %s (-want +got):\n%s", w.method, w.path, name, diff)
				}
			}
		}
	})
}

// Staff that names a buffer or a question receives its entries and its ranks; what follows
// an update of GET is in it.
func TestNamedForStaff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		const topics = "/v1/events?topic=accumulate:b&topic=rank_update:q"
		a.send(http.MethodGet, topics, "", "Authorization", bubbled(viewer()).header(t)).is(http.StatusForbidden)
		a.as(bubbled(broadcaster()), http.MethodGet, "/events?topic=rank_update:*", "").is(http.StatusBadRequest)
		elsewhere := bubbled(broadcaster())
		elsewhere.channel = "78"
		all := a.subscribe(t, topics, "Authorization", bubbled(backend()).header(t))
		one := a.subscribe(t, topics, "Authorization", bubbled(broadcaster()).header(t))
		other := a.subscribe(t, topics, "Authorization", elsewhere.header(t))
		for _, e := range []*eventClient{all, one, other} {
			e.received()
		}
		a.as(bubbled(viewer()), http.MethodPost, "/accumulate?id=b", `{"a":1}`).is(http.StatusOK)
		a.as(bubbled(viewer()), http.MethodPost, "/rank?id=q", `{"key":"x"}`).is(http.StatusOK)
		<-time.After(2 * time.Second)
		entries := strings.TrimSuffix(a.as(bubbled(backend()), http.MethodGet, "/accumulate?id=b", "").body, "\n")
		ranks := strings.TrimSuffix(a.as(bubbled(backend()), http.MethodGet, "/rank?id=q", "").body, "\n")
		for name, e := range map[string]*eventClient{"global": all, "broadcast": one} {
			got := e.read()
			for _, want := range []string{
				"event: " + name + "\ndata: {\"event\":\"production:ext:accumulate:b\",\"data\":{\"id\":\"b\"," + entries[1:] + "}",
				"event: broadcast\ndata: {\"event\":\"production:ext:rank_update:q\",\"data\":{\"id\":\"q\"," + ranks[1:] + "}",
			} {
				if !strings.Contains(got, want) {
					t.Errorf("%s: received %q, want %q", name, got, want)
				}
			}
		}
		if got := other.received(); len(got) > 0 {
			t.Errorf("another channel received %q", got)
		}
	})
}

// Every route that writes is in the table.
func TestEveryWriteIsInTheTable(t *testing.T) {
	for _, route := range httpapi.Routes() {
		switch {
		case route.Service == operation.SandboxService, strings.HasPrefix(route.Path, "/curated_poll"):
			continue // they store nothing
		case route.Path == "/bits/transactions", route.Path == "/coins/purchase", route.Path == "/validate_pin", route.Path == "/pin":
			continue // they are other senders'
		case strings.HasPrefix(route.Path, "/staff/"), slices.Contains([]string{"/overlay_keys", "/staff_keys", "/staff", "/viewer", "/gamelink/games", "/devices", "/pictures"}, route.Path):
			continue // no client receives an event of theirs
		}
		known := slices.ContainsFunc(publishedWrites(), func(w publishedWrite) bool {
			path, _, _ := strings.Cut(w.path, "?")
			return w.method == route.Method && path == route.Path
		})
		if !known && route.Method != http.MethodGet {
			t.Errorf("the table lacks %s %s", route.Method, route.Path)
		}
	}
}

// EventSource sends no headers, so the credential may stand in the query of this
// route. It is in no log.
func TestCredentialInQuery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t, func(c *apiSettings) { c.LogRequests = operation.LogAll })
		header := bubbled(viewer()).header(t)
		query := "?access_token=" + url.QueryEscape(header)
		e := a.subscribe(t, "/v1/events"+query+"&topic=default")
		a.as(bubbled(broadcaster()), http.MethodPost, "/broadcast", `{"event":"default","data":1}`).is(http.StatusOK)
		if diff := cmp.Diff([]string{"broadcast production:ext:default"}, e.received()); diff != "" {
			t.Errorf("received (-want +got):\n%s", diff)
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

// A stream has heartbeats, and ends soon after its credential expires.
func TestHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		e := a.subscribe(t, "/v1/events", "Authorization", bubbled(viewer()).header(t)) // good for an hour
		for range 3 {
			e.received()
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

// When the process drains, clients receive different times at which to reconnect, and
// new ones are refused.
func TestClientsAreDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hub *live.Broker
		a := newAPI(t, func(c *apiSettings) { hub = c.Live.(*live.Broker) })
		header := bubbled(viewer()).header(t)
		e := a.subscribe(t, "/v1/events", "Authorization", header)
		e.received()
		hub.Drain()
		<-e.ended
		if got := e.read(); !strings.HasPrefix(got, "retry: ") {
			t.Errorf("the last bytes were %q", got)
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
			return a.as(who, http.MethodPost, path, `{"event":"default","data":1}`).status
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
