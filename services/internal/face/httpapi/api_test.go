package httpapi_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/face/httpapi"
	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
	"github.com/acclaim-dev/acclaim/services/internal/feed/live"
	"github.com/acclaim-dev/acclaim/services/internal/telemetry"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/message"
	"github.com/acclaim-dev/acclaim/services/pairing"
	"github.com/acclaim-dev/acclaim/services/purchase"
	"github.com/acclaim-dev/acclaim/services/ranking"
	"github.com/acclaim-dev/acclaim/services/roster"
	"github.com/acclaim-dev/acclaim/services/sandbox"
	"github.com/acclaim-dev/acclaim/services/state"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// The keys of registryFile, decoded.
const (
	productionKey = "production-key-of-more-than-32-bytes-0123456"
	oldKey        = "old-key-of-more-than-32-bytes-0123456"
	nextKey       = "next-key-of-more-than-32-bytes-0123456"
	sandboxKey    = "sandbox-key-of-more-than-32-bytes-0123456"
	otherKey      = "other-key-of-more-than-32-bytes-0123456"
)

const registryFile = `
extensions:
- clientID: ext
  appIDs: [app]
  ownerUserID: "1000"
  adminUserIDs: ["1001"]
  secrets:
  - {value: b2xkLWtleS1vZi1tb3JlLXRoYW4tMzItYnl0ZXMtMDEyMzQ1Ng==}
  - {value: cHJvZHVjdGlvbi1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=, activeFrom: 2026-01-01T00:00:00Z}
  - {value: bmV4dC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=, activeFrom: 2099-01-01T00:00:00Z}
  sandbox: {secrets: [{value: c2FuZGJveC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}
- clientID: other
  externalRole: backend
  allowedOrigins: ["https://panel.example"]
  secrets: [{value: b3RoZXIta2V5LW9mLW1vcmUtdGhhbi0zMi1ieXRlcy0wMTIzNDU2}]
`

// api is both environments over one store, as the all-in-one program serves them.
type api struct {
	t        testing.TB
	handler  http.Handler
	registry atomic.Pointer[tenant.Registry]
	// skew is added to the wall clock.
	skew atomic.Int64
	log  *bytes.Buffer
}

// newAPI returns the program's API over an empty store. The functions change
// what production is made of.
func newAPI(t testing.TB, change ...func(*httpapi.Config)) *api {
	a := &api{t: t, log: &bytes.Buffer{}}
	a.reload(registryFile)
	store, clock := storetest.NewMemory(), stream.SystemClock()
	notifier := &event.Notifier{}
	options := stream.Options{Exclusive: true, Applied: notifier.Notify}
	votes := voting.NewService(store, clock, options)
	messages := message.NewService(store, clock, options)
	buffers := accumulation.NewService(store, clock, options)
	questions := ranking.NewService(store, clock, options)
	documents := document.NewService(store, clock, document.Options{Changed: options.Applied})
	states := state.NewService(documents)
	viewers := roster.NewService(store, clock, options)
	hub := live.New(live.Options{
		Reader:   event.NewReader(event.Stores{Polls: votes, Documents: documents, Messages: messages, Buffers: buffers, Questions: questions}),
		Notifier: notifier, Streams: store.Streams,
	})
	t.Cleanup(func() {
		for _, closer := range []func() error{
			func() error { return hub.Close(context.WithoutCancel(t.Context())) },
			func() error { return messages.Close(t.Context()) },
			func() error { return votes.Close(t.Context()) },
			func() error { return buffers.Close(t.Context()) },
			func() error { return questions.Close(t.Context()) },
			func() error { return documents.Close(t.Context()) },
			func() error { return viewers.Close(t.Context()) },
		} {
			_ = closer() // the context is done, and no write is lost
		}
	})
	production := httpapi.Config{
		Environment:  tenant.Production,
		Registry:     a.registry.Load,
		Now:          a.now,
		Logger:       telemetry.NewLogger(a.log, slog.LevelInfo),
		Metrics:      telemetry.NewMetrics(),
		Voting:       votes,
		PollLister:   store.StreamsAfter,
		Accumulation: buffers,
		Ranking:      questions,
		State:        states,
		Live:         hub,
		Messages:     messages,
		Roster:       viewers,
		Pairing:      pairing.NewService(documents),
		GameLink:     true,
		Purchases:    purchase.NewService(documents, func() bool { return true }),
	}
	box := production
	box.Environment = tenant.Sandbox
	box.Sandbox = sandbox.NewService(a.registry.Load, a.now)
	for _, f := range change {
		f(&production)
	}
	a.handler = httpapi.NewHandler(
		httpapi.Mount{API: httpapi.New(production), Prefixes: []string{"/v1/e", "/v1"}},
		httpapi.Mount{API: httpapi.New(box), Prefixes: []string{"/sandbox/v1/e", "/sandbox/v1"}},
	)
	return a
}

func (a *api) now() time.Time { return time.Now().Add(time.Duration(a.skew.Load())) }

// reload puts another registry in force.
func (a *api) reload(file string) {
	a.t.Helper()
	registry, err := tenant.Parse([]byte(file))
	if err != nil {
		a.t.Fatal(err)
	}
	a.registry.Store(registry)
}

// identity holds the claims of a token.
type identity struct {
	extension, key, role, channel, opaque, user string
}

// Identities of the extension "ext" in production and on one channel.
func viewer() identity      { return identity{role: "viewer", opaque: "U5", user: "5"} }
func stranger() identity    { return identity{role: "viewer", opaque: "A7"} }
func broadcaster() identity { return identity{role: "broadcaster", opaque: "U77", user: "77"} }
func admin() identity       { return identity{role: "admin", opaque: "U9", user: "9"} }
func owner() identity       { return identity{role: "admin", opaque: "U1000", user: "1000"} }
func listed() identity      { return identity{role: "admin", opaque: "U1001", user: "1001"} }
func backend() identity     { return identity{role: "backend", opaque: "B", user: ""} }

func (i identity) claims() jwt.MapClaims {
	claims := jwt.MapClaims{
		"exp":            time.Now().Add(time.Hour).Unix(),
		"role":           i.role,
		"channel_id":     cmp.Or(i.channel, "77"),
		"opaque_user_id": i.opaque,
	}
	if i.user != "" {
		claims["user_id"] = i.user
	}
	return claims
}

// header is the value of an Authorization header.
func (i identity) header(t testing.TB) string {
	t.Helper()
	return cmp.Or(i.extension, "ext") + " " + sign(t, jwt.SigningMethodHS256, i.claims(), []byte(cmp.Or(i.key, productionKey)))
}

func sign(t testing.TB, method jwt.SigningMethod, claims jwt.Claims, key any) string {
	t.Helper()
	token, err := jwt.NewWithClaims(method, claims).SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// answer is a response whose body was checked to be JSON.
type answer struct {
	t      testing.TB
	name   string
	status int
	header http.Header
	body   string
}

// send answers a request with headers given as names and values in turn.
func (a *api) send(method, target, body string, headers ...string) answer {
	a.t.Helper()
	r := httptest.NewRequestWithContext(a.t.Context(), method, target, strings.NewReader(body))
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	ctx, cut := context.WithCancel(r.Context())
	defer cut()
	a.handler.ServeHTTP(greeted{w, cut}, r.WithContext(ctx))
	got := answer{a.t, method + " " + target, w.Code, w.Header(), w.Body.String()}
	got.check(method)
	return got
}

// greeted goes away once it has been sent the first of an answer that does not
// end.
type greeted struct {
	*httptest.ResponseRecorder
	cut func()
}

func (g greeted) Flush() {
	g.ResponseRecorder.Flush()
	if g.Header().Get("Content-Type") == "text/event-stream" {
		g.cut()
	}
}

// check asserts the contract's rules for every answer.
func (got answer) check(method string) {
	got.t.Helper()
	if got.status == http.StatusNoContent || got.status == http.StatusNotModified && got.body == "" {
		return
	}
	if got.status == http.StatusOK && strings.Contains(got.name, "/events") {
		if ct := got.header.Get("Content-Type"); ct != "text/event-stream" {
			got.t.Errorf("%s: content type %q", got.name, ct)
		}
		return
	}
	if ct := got.header.Get("Content-Type"); ct != "application/json" {
		got.t.Errorf("%s: content type %q", got.name, ct)
	}
	if method != http.MethodHead && !json.Valid([]byte(got.body)) {
		got.t.Errorf("%s: body %q is not JSON", got.name, got.body)
	}
}

// as sends a production request with the identity's credential.
func (a *api) as(i identity, method, path, body string, headers ...string) answer {
	a.t.Helper()
	return a.send(method, "/v1"+path, body, append(headers, "Authorization", i.header(a.t))...)
}

// want checks the status and, as JSON, the body.
func (got answer) want(status int, body string) {
	got.t.Helper()
	if got.status != status || canonical(got.t, got.body) != canonical(got.t, body) {
		got.t.Errorf("%s: %d %s, want %d %s", got.name, got.status, got.body, status, body)
	}
}

// refused checks for an error with exactly that reason.
func (got answer) refused(status int, reason string) {
	got.t.Helper()
	body, err := json.Marshal(map[string]string{"reason": reason})
	if err != nil {
		got.t.Fatal(err)
	}
	got.want(status, string(body))
}

// is checks the status alone.
func (got answer) is(status int) answer {
	got.t.Helper()
	if got.status != status {
		got.t.Errorf("%s: %d %s, want %d", got.name, got.status, got.body, status)
	}
	return got
}

// field returns a member of the body, as JSON.
func (got answer) field(name string) string {
	got.t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(got.body), &members); err != nil {
		got.t.Fatalf("%s: %v in %s", got.name, err, got.body)
	}
	return string(members[name])
}

func canonical(t testing.TB, text string) string {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}
