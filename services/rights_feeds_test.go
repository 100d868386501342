package main

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// rightsFeed holds what a caller has received: names of events or targets of pushes, each with its
// data.
type rightsFeed struct {
	mu      sync.Mutex
	got     []string
	changed chan struct{} // closed when got changes
}

func newRightsFeed() *rightsFeed { return &rightsFeed{changed: make(chan struct{})} }

func (f *rightsFeed) add(name, data string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.got = append(f.got, name+" "+data)
	close(f.changed)
	f.changed = make(chan struct{})
}

// find reports whether the feed has what matches, and returns a channel that is closed when it
// has more.
func (f *rightsFeed) find(pattern *regexp.Regexp) (found bool, changed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.got, pattern.MatchString), f.changed
}

// eventTimeout limits the wait for what never comes where the program has a defect.
const eventTimeout = 2 * time.Minute

// await waits until the feed has what matches.
func (f *rightsFeed) await(w *rightsWorld, who string, pattern *regexp.Regexp) {
	w.Helper()
	ctx, stop := context.WithTimeout(w.Context(), eventTimeout)
	defer stop()
	for {
		found, changed := f.find(pattern)
		if found {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			w.Fatalf("%s has not received %s", who, pattern)
		}
	}
}

// stream reads events into a feed until ctx is done. The subscription is in force when it returns.
func (w *rightsWorld) stream(ctx context.Context, environment, header string, into *rightsFeed, topics ...string) (ended <-chan struct{}) {
	w.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.base(environment)+"/events?"+url.Values{"topic": topics}.Encode(), nil)
	if err != nil {
		w.Fatal(err)
	}
	r.Header.Set("Authorization", header)
	r.Header.Set("X-Forwarded-For", w.address())
	res, err := w.http.Do(r) //nolint:bodyclose // it is closed when it ends
	if err != nil || res.StatusCode != http.StatusOK {
		w.Fatal("events: ", err, res)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer res.Body.Close()
		lines := bufio.NewScanner(res.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var e receivedEvent
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && json.Unmarshal([]byte(data), &e) == nil {
				_, name, _ := strings.Cut(strings.TrimPrefix(e.Event, environment+":"), ":")
				into.add(name, string(e.Data))
			}
		}
	}()
	return done
}

// pushes reads pushes into a feed until the connection ends, and then sends its close code.
func (g *rightsGame) pushes(into *rightsFeed) (closed <-chan websocket.StatusCode) {
	code := make(chan websocket.StatusCode, 1)
	go func() {
		for {
			_, text, err := g.socket.Read(g.w.Context())
			if err != nil {
				code <- websocket.CloseStatus(err)
				return
			}
			a := &gameAnswer{}
			if json.Unmarshal(text, a) == nil {
				into.add(a.Meta.Target, string(a.Data))
			}
		}
	}()
	return code
}

// checkFeeds has something happen in a channel, and compares what each caller receives of it.
func (w *rightsTries) checkFeeds() {
	w.Helper()
	for _, environment := range w.environments {
		w.plant(environment)
		ctx, stop := context.WithCancel(w.Context())
		events, pushes := w.openStreams(ctx, environment), w.openGames(environment)
		w.happen(environment)
		w.checkReceived(environment, "events", events)
		w.checkReceived(environment, "pushes", pushes)
		stop()
	}
}

// openStreams opens streams of events for the callers that may have some.
func (w *rightsTries) openStreams(ctx context.Context, environment string) map[string]*rightsFeed {
	w.Helper()
	feeds := map[string]*rightsFeed{}
	rows := w.table.rows("events")
	for _, caller := range w.table.callersIn(environment) {
		feed, header := newRightsFeed(), w.current[environment].headers[caller.Name]
		feeds[caller.Name] = feed
		if strings.HasPrefix(rows[0].cells[caller.Name], "4") {
			continue // GET /events refuses it
		}
		var topics []string
		for _, row := range rows {
			topic, _, _ := strings.Cut(row.Query, " ")
			if row.Named && !strings.HasPrefix(row.cells[caller.Name], "4") && caller.Name != "overlay" {
				topics = append(topics, topic)
			}
		}
		if topics != nil && caller.Name != "answersKey" { // it is refused other topics
			topics = append(topics, "*")
		}
		w.stream(ctx, environment, header, feed, topics...)
	}
	return feeds
}

// openGames subscribes the games of the callers that may have some.
func (w *rightsTries) openGames(environment string) map[string]*rightsFeed {
	w.Helper()
	w.plantMatch(environment)
	feeds := map[string]*rightsFeed{}
	rows := w.table.rows("pushes")
	for _, caller := range w.table.callersIn(environment) {
		feed := newRightsFeed()
		feeds[caller.Name] = feed
		if strings.HasPrefix(rows[0].cells[caller.Name], "4") {
			continue // it cannot authenticate
		}
		game := w.dial(environment, mainSide(environment).extension)
		w.Cleanup(game.end)
		game.authenticate(w.proofOf(mainSide(environment), w.current[environment], caller.Name))
		for _, row := range rows {
			target, _, _ := strings.Cut(row.Op, " ")
			want := http.StatusOK
			if row.cells[caller.Name] == "403" {
				want = http.StatusForbidden
			}
			if a := game.ask("subscribe", target, row.Body); a.status() != want {
				w.Fatalf("subscribe %s %s as %s: %v, want %d", target, row.Body, caller.Name, a.Errors, want)
			}
		}
		game.pushes(feed)
	}
	return feeds
}

// plantMatch creates a match of channel 1 with a poll.
func (w *rightsTries) plantMatch(environment string) {
	w.Helper()
	s := mainSide(environment)
	server := w.dial(environment, s.extension)
	defer server.end()
	server.authenticate(`"jwt":"` + tokenOf(s.sign("backend", "1", "900")) + `"`)
	for _, request := range []struct{ action, target, body string }{
		{"create", "match", `{"id":"final"}`},
		{"add_channels", "match", `{"id":"final","channel_ids":["1"]}`},
		{"create", "match_poll", `{"id":"final","poll":{"poll_id":"finalpoll","prompt":"x","options":["a"]}}`},
	} {
		if a := server.ask(request.action, request.target, request.body); a.status() != http.StatusOK {
			w.Fatalf("%s %s: %v", request.action, request.target, a.Errors)
		}
	}
}

// happen does what the rows of events and pushes are about, in channel 1.
func (w *rightsTries) happen(environment string) {
	w.Helper()
	s := mainSide(environment)
	victim, broadcaster := s.sign("viewer", "1", "77"), s.sign("broadcaster", "1", "1")
	owner, backend := s.sign("admin", "1", "1000"), s.sign("backend", "1", "900")
	for _, request := range []struct{ method, target, header, body string }{
		{"POST", "/vote?id=shown", victim, `{"value":2}`},
		{"POST", "/vote?id=hidden", victim, `{"value":2}`},
		{"POST", "/vote?id=globalhidden", victim, `{"value":2}`},
		{"POST", "/vote?id=globalshown", victim, `{"value":2}`},
		{"POST", "/vote?id=deleted", victim, `{"value":2}`},
		{"POST", "/vote?id=finalpoll", victim, `{"value":2}`},
		{"POST", "/vote_config", broadcaster, `{"id":"shown","config":{"prompt":"mark-one","options":["option-one","c"]}}`},
		{"DELETE", "/vote?id=deleted", broadcaster, ""},
		{"POST", "/accumulate?id=shown", victim, `{"is":"mark-one"}`},
		{"POST", "/rank?id=shown", victim, `{"key":"mark-two"}`},
		{"POST", "/channel_state", broadcaster, `{"is":"channel-one","now":1}`},
		{"POST", "/extension_state", backend, `{"is":"extension-one","now":1}`},
		{"POST", "/config/channel", broadcaster, `{"is":"channel-one","now":1,"skus":{"life":{"price":10,"displayName":"Life"}}}`},
		{"POST", "/config/extension", owner, `{"is":"extension-one","now":1}`},
		{"POST", "/json_store?id=shown", broadcaster, `{"is":"mark-two"}`},
		{"POST", "/broadcast", broadcaster, `{"event":"to-channel","data":1}`},
		{"POST", "/broadcast", broadcaster, `{"event":"to-viewer","target":"whisper-U2001","data":1}`},
		{"POST", "/extension_broadcast", backend, `{"event":"to-extension","data":1}`},
		{"POST", "/datastream", victim, `{"is":"mark-one"}`},
		{"POST", "/bits/transactions", victim, `{"transactionReceipt":"` + s.receipt(w.address(), "77", 20) + `"}`},
	} {
		w.must(s, request.method, request.target, request.header, request.body)
	}
}

// checkReceived waits until the callers have received what their cells say, and the last of
// what happens afterwards. They must have nothing else then.
func (w *rightsTries) checkReceived(environment, face string, feeds map[string]*rightsFeed) {
	w.Helper()
	rows := w.table.rows(face)
	for _, row := range rows {
		for caller, cell := range row.cells {
			if w.cells.Add(1); cell == "ok" && feeds[caller] != nil {
				feeds[caller].await(w.rightsWorld, environment+" "+row.title()+" as "+caller, row.received())
			}
		}
	}
	s, last := mainSide(environment), regexp.MustCompile("the-last")
	for _, channel := range []string{"1", "2"} {
		broadcaster := s.sign("broadcaster", channel, channel)
		w.must(s, http.MethodPost, "/channel_state", broadcaster, `{"is":"the-last"}`)
		w.must(s, http.MethodPost, "/accumulate?id=shown", broadcaster, `{"is":"the-last"}`)
		w.must(s, http.MethodPost, "/rank?id=shown", broadcaster, `{"key":"the-last"}`)
		w.must(s, http.MethodPost, "/vote_config", broadcaster, `{"id":"shown","config":{"prompt":"the-last"}}`)
	}
	for caller, feed := range feeds {
		if !strings.HasPrefix(rows[0].cells[caller], "4") {
			feed.await(w.rightsWorld, environment+" the last as "+caller, last)
		}
		for _, row := range rows {
			if found, _ := feed.find(row.received()); found && row.cells[caller] != "ok" {
				w.Errorf("%s %s: %s receives it, want %s", environment, row.title(), caller, row.cells[caller])
			}
		}
	}
}

// received matches what a feed has of a row.
func (r *rightsRow) received() *regexp.Regexp {
	if r.Query != "" {
		return regexp.MustCompile("^" + r.Query)
	}
	target, _, _ := strings.Cut(r.Op, " ")
	return regexp.MustCompile("^" + target + " .*" + r.Sees)
}

// rightsOpen holds a stream or a game that was open before a key and an extension were removed.
type rightsOpen struct {
	name   string
	stream <-chan struct{}
	game   <-chan websocket.StatusCode
}

// proofOf returns what a game of a caller authenticates with. The JWT of a game that has used a PIN
// has not the rights over all channels.
func (w *rightsWorld) proofOf(s rightsSide, c *rightsCredentials, caller string) string {
	w.Helper()
	body, ok := map[string]string{"pin": "", "serverPin": `{"server":true}`}[caller]
	if !ok {
		return `"jwt":"` + tokenOf(c.headers[caller]) + `"`
	}
	return `"pin":"` + w.created(s, "/gamelink/token", c.headers["backend"], body, "pin") + `"`
}

// openBefore opens a stream of events and a game with each kind of credential of a side.
func (w *rightsWorld) openBefore(name string, s rightsSide, c *rightsCredentials) {
	w.Helper()
	for caller, header := range c.headers {
		// A viewer has 8 streams at once, and five of the callers are one broadcaster.
		if !slices.Contains([]string{"unconfirmed", "external", "serverPin", "refresh", "confirmed", "device"}, caller) {
			done := w.stream(w.Context(), s.environment, header, newRightsFeed())
			w.open = append(w.open, rightsOpen{name: s.environment + " events of " + caller + ", " + name, stream: done})
		}
		if slices.Contains([]string{"unconfirmed", "external", "anonymous", "viewer", "moderator", "overlay", "pollsKey", "answersKey", "device"}, caller) {
			continue
		}
		game := w.dial(s.environment, s.extension)
		w.Cleanup(game.end)
		game.authenticate(w.proofOf(s, c, caller))
		w.open = append(w.open, rightsOpen{name: s.environment + " game of " + caller + ", " + name, game: game.pushes(newRightsFeed())})
	}
}

// checkOpen waits until everything has ended that was open before.
func (w *rightsTries) checkOpen() {
	w.Helper()
	ctx, stop := context.WithTimeout(w.Context(), eventTimeout)
	defer stop()
	for _, o := range w.open {
		w.cells.Add(1)
		select {
		case <-o.stream:
		case code := <-o.game:
			if code != 4001 {
				w.Errorf("%s: ends with %d, want 4001", o.name, code)
			}
		case <-ctx.Done():
			w.Fatalf("%s: does not end", o.name)
		}
	}
}
