package gamelink_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/operation"

	"github.com/coder/websocket"
	"github.com/golang-jwt/jwt/v5"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/face/gamelink"
	"github.com/acclaim-dev/acclaim/services/internal/face/httpapi"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
	"github.com/acclaim-dev/acclaim/services/internal/feed/live"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/match"
	"github.com/acclaim-dev/acclaim/services/message"
	"github.com/acclaim-dev/acclaim/services/pairing"
	"github.com/acclaim-dev/acclaim/services/purchase"
	"github.com/acclaim-dev/acclaim/services/sandbox"
	"github.com/acclaim-dev/acclaim/services/state"
	"github.com/acclaim-dev/acclaim/services/voting"
)

const registryFile = `
extensions:
- clientID: ext
  appIDs: [app]
  ownerUserID: "1000"
  secrets: [{value: cHJvZHVjdGlvbi1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]
- clientID: other
  secrets: [{value: b3RoZXIta2V5LW9mLW1vcmUtdGhhbi0zMi1ieXRlcy0wMTIzNDU2}]
`

// world is the API and GameLink over one store, as one process serves them.
type world struct {
	*testing.T
	api    http.Handler
	games  *gamelink.Server
	url    string       // of GameLink
	client *http.Client // that connects games; nil: the default one
	tenant *tenant.Extension
	// registry holds the extensions as they are now.
	registry atomic.Pointer[tenant.Registry]
	// For the requests that games cause.
	calls  atomic.Pointer[interceptor]
	outage *outage // of the pairings
}

// interceptor runs a call of package voting for a game: of the name Change, Overview or Conclude.
type interceptor func(name string, call func() error) error

func (w *world) intercept(i interceptor) { w.calls.Store(&i) }

// interceptedVoting is package voting as games reach it.
type interceptedVoting struct {
	*voting.Service
	world *world
}

func (v interceptedVoting) intercept(name string, call func() error) error {
	if i := v.world.calls.Load(); i != nil {
		return (*i)(name, call)
	}
	return call()
}

func (v interceptedVoting) Change(ctx context.Context, p voting.Poll, c voting.Change, keys ...*once.Key) (version int64, known bool, err error) {
	err = v.intercept("Change", func() (err error) {
		version, known, err = v.Service.Change(ctx, p, c, keys...)
		return err
	})
	return version, known, err
}

func (v interceptedVoting) Overview(ctx context.Context, p voting.Poll) (read voting.Overview, err error) {
	err = v.intercept("Overview", func() (err error) {
		read, err = v.Service.Overview(ctx, p)
		return err
	})
	return read, err
}

func (v interceptedVoting) Conclude(ctx context.Context, p voting.Poll, now time.Time) (read voting.Overview, err error) {
	err = v.intercept("Conclude", func() (err error) {
		read, err = v.Service.Conclude(ctx, p, now)
		return err
	})
	return read, err
}

// outage is a store of documents whose reads fail a while.
type outage struct {
	document.Store
	mu   sync.Mutex
	left int           // reads that will fail
	over chan struct{} // closed by the first that does not
}

// begin has so many reads fail, and returns a channel that the one after them closes.
func (o *outage) begin(reads int) (over <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.left, o.over = reads, make(chan struct{})
	return o.over
}

func (o *outage) Get(ctx context.Context, keys ...string) ([]document.Document, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.left > 0:
		o.left--
		return nil, fault.New(fault.Unavailable, "there is no primary")
	case o.over != nil:
		close(o.over)
		o.over = nil
	}
	return o.Store.Get(ctx, keys...)
}

type discard struct{}

func (discard) Observe(string, string, int, time.Duration, string) {}

func newWorld(t *testing.T) *world { return newWorldOver(t, storetest.NewMemory(), nil) }

// newWorldOver returns a world over a store whose polls another process owns, unless that is nil.
func newWorldOver(t *testing.T, store *storetest.Memory, owner stream.Peers) *world {
	t.Parallel() // most of the time goes by in waiting for a clock
	registry, err := tenant.Parse([]byte(registryFile))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t}
	w.registry.Store(registry)
	load := w.registry.Load
	clock, notifier := stream.SystemClock(), &event.Notifier{}
	options := stream.Options{Exclusive: true, Applied: notifier.Notify}
	ofPolls := stream.Options{Exclusive: owner == nil, Applied: notifier.Notify, Peers: owner}
	votes, messages := voting.NewService(store, clock, ofPolls), message.NewService(store, clock, options)
	documents := document.NewService(store, clock, document.Options{Changed: options.Applied})
	down := &outage{Store: store}
	records := document.NewService(down, clock, document.Options{Changed: options.Applied})
	hub := live.New(live.Options{
		Reader:   event.NewReader(event.Stores{Polls: votes, Documents: documents, Messages: messages}),
		Notifier: notifier, Streams: store.Streams,
	})
	pairings, purchases, matches := pairing.NewService(documents, nil), purchase.NewService(documents, nil), match.NewService(documents)
	logger := slog.New(slog.DiscardHandler)
	w.outage = down
	config := operation.Config{
		Environment: tenant.Production, Registry: load, Now: time.Now, Logger: logger, Metrics: discard{},
		Voting: operation.NewVoting(votes), PollLister: store.StreamsAfter, State: operation.NewState(state.NewService(documents)), Live: hub, Messages: messages,
		Pairing: operation.NewPairing(pairings), Purchases: purchases, GameLink: true,
	}
	api := httpapi.New(operation.NewService(config), nil, nil)
	config.Voting.Configs, config.Budgets = interceptedVoting{votes, w}, operation.NewBudgets(operation.BudgetLimits{Requests: 1 << 16, PerAddress: 1 << 16, BodyBytes: 64 << 20, HistoryBytes: 64 << 20})
	w.api = httpapi.NewHandler(httpapi.Mount{Prefixes: []string{"/v1"}, API: api})
	w.games = gamelink.New(gamelink.Options{
		Environment: tenant.Production, Registry: load, Now: time.Now, Logger: logger, Operations: operation.NewService(config),
		Live: hub, Budgets: config.Budgets, Pairing: pairing.NewService(records, nil), Purchases: purchases,
		Matches: matches, MatchPolls: matches,
		Client: func(*http.Request) (netip.Prefix, bool) { return netip.MustParsePrefix("192.0.2.1/32"), true },
	})
	server := httptest.NewServer(gamelink.NewHandler(map[tenant.Environment]*gamelink.Server{tenant.Production: w.games}))
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		for _, closing := range []interface{ Close(context.Context) error }{w.games, hub, votes, messages, documents, records} {
			if err := closing.Close(ctx); err != nil {
				t.Error(err)
			}
		}
		server.Close()
	})
	w.tenant, _ = registry.ByClientID("ext")
	w.url = "ws" + strings.TrimPrefix(server.URL, "http")
	return w
}

// token returns a credential of a role in channel 77.
func (w *world) token(role, user string) string { return w.tokenIn("77", role, user) }

func (w *world) tokenIn(channel, role, user string) string {
	w.Helper()
	secret, _ := w.tenant.SigningSecret(tenant.Production, time.Now())
	token, err := sandbox.IssueToken(sandbox.Grant{ExtensionID: "ext", ChannelID: channel, Role: role, UserID: user, OpaqueID: "U" + user, Stage: "production"}, secret.Value, time.Now())
	if err != nil {
		w.Fatal(err)
	}
	return token
}

// bitsReceipt returns the platform's receipt for bits of a user.
func (w *world) bitsReceipt(user string, bits int) string {
	w.Helper()
	secret, _ := w.tenant.SigningSecret(tenant.Production, time.Now())
	signed, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"topic": "bits_transaction_receipt", "exp": time.Now().Add(time.Hour).Unix(),
		"data": map[string]any{
			"transactionId": "platform-1", "time": "2026-01-31T18:00:00Z", "userId": user,
			"product": map[string]any{"domainId": "twitch.ext.ext", "sku": "bits", "displayName": "Bits", "cost": map[string]any{"amount": bits, "type": "bits"}},
		},
	}).SignedString(secret.Value)
	if err != nil {
		w.Fatal(err)
	}
	return signed
}

// do sends a request over HTTP and returns the answer.
func (w *world) do(token, method, path, body string) (status int, answer string) {
	w.Helper()
	r := httptest.NewRequestWithContext(w.Context(), method, "/v1"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "ext "+token)
	recorder := httptest.NewRecorder()
	w.api.ServeHTTP(recorder, r)
	return recorder.Code, recorder.Body.String()
}

func (w *world) ok(token, method, path, body string) string {
	w.Helper()
	status, answer := w.do(token, method, path, body)
	if status >= 300 {
		w.Fatalf("%s %s: %d %s", method, path, status, answer)
	}
	return answer
}

// pin returns a PIN that the broadcaster asked for.
func (w *world) pin() string { w.Helper(); return w.pinFor("broadcaster", "77", "") }

func (w *world) pinFor(role, user, body string) string {
	w.Helper()
	var made struct{ Token string }
	w.decode(w.ok(w.token(role, user), "POST", "/gamelink/token", body), &made)
	return made.Token
}

func (w *world) decode(text string, into any) {
	w.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		w.Fatal(err, text)
	}
}

// received is a message of the server.
type received struct {
	Meta struct {
		ID        int `json:"request_id"`
		Action    string
		Target    string
		Timestamp int64
	}
	Data   json.RawMessage
	Errors []struct {
		Number, Status int
		Title, Detail  string
	}
}

// game is a client.
type game struct {
	*world
	socket *websocket.Conn
	next   int

	mu      sync.Mutex
	answers map[int]received
	pushes  []received
	changed chan struct{}
	closed  error
}

func (w *world) connect() *game {
	w.Helper()
	socket, _, err := websocket.Dial(w.Context(), w.url+"/0.0.2/ext", &websocket.DialOptions{HTTPClient: w.client}) //nolint:bodyclose // the library needs no close
	if err != nil {
		w.Fatal(err)
	}
	socket.SetReadLimit(8 << 20)
	g := &game{world: w, socket: socket, answers: map[int]received{}, changed: make(chan struct{}, 1)}
	ended := make(chan struct{})
	go func() { defer close(ended); g.read() }()
	w.Cleanup(func() { _ = socket.CloseNow(); <-ended })
	return g
}

func (g *game) read() {
	for {
		_, text, err := g.socket.Read(context.Background())
		g.mu.Lock()
		if err != nil {
			g.closed = err
		} else {
			var m received
			if json.Unmarshal(text, &m) != nil || strings.ContainsFunc(string(text), func(r rune) bool { return r > 126 }) {
				g.Errorf("received %s", text)
			}
			if m.Meta.ID == 65535 && m.Meta.Action == "update" {
				g.pushes = append(g.pushes, m)
			} else {
				g.answers[m.Meta.ID] = m
			}
		}
		g.mu.Unlock()
		select {
		case g.changed <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// await waits until done is true of what was received.
func (g *game) await(what string, done func() bool) {
	g.Helper()
	limit := time.After(2 * time.Minute) // a bound of the test, on a machine that others use too
	for {
		g.mu.Lock()
		ok := done()
		g.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-g.changed:
		case <-limit:
			g.Fatalf("%s: got %d answers and %+v, %v", what, len(g.answers), g.pushes, g.closed)
		}
	}
}

// send sends a request and returns its id.
func (g *game) send(action, target, data string) int {
	g.Helper()
	g.next++
	if err := g.write(fmt.Sprintf(`{"action":%q,"params":{"request_id":%d,"target":%q},"data":%s}`, action, g.next, target, data)); err != nil {
		g.Fatal(err)
	}
	return g.next
}

func (g *game) write(text string) error {
	return g.socket.Write(g.Context(), websocket.MessageText, []byte(text))
}

func (g *game) answer(id int) (m received) {
	g.Helper()
	g.await("an answer", func() bool { found, ok := g.answers[id]; m = found; return ok || g.closed != nil })
	return m
}

// must sends a request that succeeds and returns its data.
func (g *game) must(action, target, data string) string {
	g.Helper()
	m := g.answer(g.send(action, target, data))
	if len(m.Errors) > 0 || m.Meta.Action != action || m.Meta.Target != target {
		g.Fatalf("%s %s: %+v", action, target, m)
	}
	return string(m.Data)
}

// refused sends a request that fails.
func (g *game) refused(action, target, data string, number int, detail string) {
	g.Helper()
	m := g.answer(g.send(action, target, data))
	if len(m.Errors) != 1 || m.Errors[0].Number != number || m.Errors[0].Status != number || detail != "" && m.Errors[0].Detail != detail {
		g.Errorf("%s %s %s: %+v", action, target, data, m)
	}
}

// pushed waits for so many pushes and returns them.
func (g *game) pushed(n int) []received {
	g.Helper()
	g.await(fmt.Sprint(n, " pushes"), func() bool { return len(g.pushes) >= n })
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clip(g.pushes)
}

// pushedUntil waits for a push that done accepts and returns all up to the last one.
func (g *game) pushedUntil(done func(last received) bool) []received {
	g.Helper()
	g.await("a push", func() bool { return len(g.pushes) > 0 && done(g.pushes[len(g.pushes)-1]) })
	return g.pushed(0)
}

// paired returns a game that is authenticated by a PIN of the broadcaster.
func (w *world) paired() (g *game, refresh string) {
	w.Helper()
	g = w.connect()
	return g, g.authenticate(`"pin":"` + w.pin() + `"`)
}

func (g *game) authenticate(with string) (refresh string) {
	g.Helper()
	var a struct {
		JWT, Refresh string
		ID           string `json:"twitch_id"`
	}
	g.decode(g.must("authenticate", "", `{"client_id":"ext","game_id":"Tea",`+with+`}`), &a)
	if a.JWT == "" || a.Refresh == "" || a.ID != "77" {
		g.Fatalf("%+v", a)
	}
	return a.Refresh
}
