package httpapi_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/operation"

	"github.com/golang-jwt/jwt/v5"

	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/face/httpapi"
	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
	"github.com/acclaim-dev/acclaim/services/internal/feed/live"
	"github.com/acclaim-dev/acclaim/services/internal/feed/publish"
	"github.com/acclaim-dev/acclaim/services/internal/telemetry"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/message"
	"github.com/acclaim-dev/acclaim/services/pairing"
	"github.com/acclaim-dev/acclaim/services/picture"
	"github.com/acclaim-dev/acclaim/services/purchase"
	"github.com/acclaim-dev/acclaim/services/ranking"
	"github.com/acclaim-dev/acclaim/services/resultlog"
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
  moderators: staff
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
	// flush has what waits to be signed be signed.
	flush func()
	log   *bytes.Buffer
	// people sign in as staff.
	people people
}

// newAPI returns the program's API over an empty store. The functions change
// what production is made of.
func newAPI(t testing.TB, change ...func(*apiSettings)) *api {
	a := &api{t: t, log: &bytes.Buffer{}, people: newPeople()}
	a.reload(registryFile + signInRegistry + browsersRegistry)
	store, clock := storetest.NewMemory(), stream.SystemClock()
	notifier := &event.Notifier{}
	options := stream.Options{Exclusive: true, Applied: notifier.Notify}
	votes := voting.NewService(store, clock, options)
	results := resultlog.NewService(store, clock, options)
	publisher := publish.New(publish.Options{Polls: votes, Log: results, Key: ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)), Origin: "votes.example/acclaim", Clock: clock, Logger: slog.New(slog.DiscardHandler)})
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
			func() error { return publisher.Close(t.Context()) },
			func() error { return results.Close(t.Context()) },
			func() error { return votes.Close(t.Context()) },
			func() error { return buffers.Close(t.Context()) },
			func() error { return questions.Close(t.Context()) },
			func() error { return documents.Close(t.Context()) },
			func() error { return viewers.Close(t.Context()) },
		} {
			_ = closer() // the context is done, and no write is lost
		}
	})
	production := apiSettings{Config: operation.Config{
		Environment:  tenant.Production,
		Registry:     a.registry.Load,
		Now:          a.now,
		Logger:       telemetry.NewLogger(a.log, slog.LevelInfo),
		Metrics:      telemetry.NewMetrics(),
		Voting:       operation.NewVoting(votes),
		PollLister:   store.StreamsAfter,
		Results:      publisher,
		Accumulation: buffers,
		Ranking:      operation.NewRanking(questions),
		State:        operation.NewState(states),
		Live:         hub,
		Messages:     messages,
		Roster:       viewers,
		Pairing:      operation.NewPairing(pairing.NewService(documents, nil)),
		Pictures:     picture.NewService(documents, nil),
		GameLink:     true,
		Purchases:    purchase.NewService(documents, nil),
	}}
	a.flush = func() {
		t.Helper()
		if err := publisher.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	box := production
	box.Environment, box.Results = tenant.Sandbox, nil
	box.Sandbox = sandbox.NewService(a.registry.Load, a.now)
	production.Pairing.SignIn, production.Viewers = a.people, madeUp{time.Now().Add(time.Hour)}
	for _, f := range change {
		f(&production)
	}
	a.handler = httpapi.NewHandler(
		httpapi.Mount{API: production.newAPI(), Prefixes: []string{"/v1/e", "/v1"}},
		httpapi.Mount{API: box.newAPI(), Prefixes: []string{"/sandbox/v1/e", "/sandbox/v1"}},
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
func (a answer) check(method string) {
	a.t.Helper()
	if a.status == http.StatusNoContent || a.status == http.StatusNotModified && a.body == "" {
		return
	}
	if a.status == http.StatusOK && strings.Contains(a.name, "/events") {
		if ct := a.header.Get("Content-Type"); ct != "text/event-stream" {
			a.t.Errorf("%s: content type %q", a.name, ct)
		}
		return
	}
	if a.status == http.StatusOK && (strings.Contains(a.name, "/log/") || strings.Contains(a.name, "/receipt") || strings.Contains(a.name, "/picture.png")) {
		return
	}
	if ct := a.header.Get("Content-Type"); ct != "application/json" {
		a.t.Errorf("%s: content type %q", a.name, ct)
	}
	if method != http.MethodHead && !json.Valid([]byte(a.body)) {
		a.t.Errorf("%s: body %q is not JSON", a.name, a.body)
	}
}

// as sends a production request with the identity's credential.
func (a *api) as(i identity, method, path, body string, headers ...string) answer {
	a.t.Helper()
	return a.send(method, "/v1"+path, body, append(headers, "Authorization", i.header(a.t))...)
}

// want checks the status and, as JSON, the body.
func (a answer) want(status int, body string) {
	a.t.Helper()
	if a.status != status || canonical(a.t, a.body) != canonical(a.t, body) {
		a.t.Errorf("%s: %d %s, want %d %s", a.name, a.status, a.body, status, body)
	}
}

// refused checks for an error with exactly that reason.
func (a answer) refused(status int, reason string) {
	a.t.Helper()
	body, err := json.Marshal(map[string]string{"reason": reason})
	if err != nil {
		a.t.Fatal(err)
	}
	a.want(status, string(body))
}

// is checks the status alone.
func (a answer) is(status int) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Errorf("%s: %d %s, want %d", a.name, a.status, a.body, status)
	}
	return a
}

// field returns a member of the body, as JSON.
func (a answer) field(name string) string {
	a.t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(a.body), &members); err != nil {
		a.t.Fatalf("%s: %v in %s", a.name, err, a.body)
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

// apiSettings holds the settings of an API that a test changes.
type apiSettings struct {
	operation.Config
	Proxies    httpapi.TrustedProxies
	ProxyWatch *httpapi.ProxyWatch
}

func (s apiSettings) newAPI() *httpapi.API {
	return httpapi.New(operation.NewService(s.Config), s.Proxies, s.ProxyWatch)
}
