package gamelink_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

func TestAddresses(t *testing.T) {
	w := newWorld(t)
	for path, want := range map[string]int{
		"/0.0.2/ext": 101, "/1.0.0/app": 101, "/0.1.0/csharp/0.0.1/ext": 101, "/0.0.2/none": 404, "/v1/ext": 404, "/0.0.2/csharp/ext": 404, "/": 404,
	} {
		socket, response, err := websocket.Dial(t.Context(), w.url+path, nil) //nolint:bodyclose // the library needs no close
		if response == nil {
			t.Fatal(err)
		}
		if response.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, response.StatusCode, want)
		}
		if socket != nil {
			_ = socket.CloseNow()
		}
	}
}

// What clients check: a PIN authenticates once, and each refresh token the next connection.
func TestAuthentication(t *testing.T) {
	w := newWorld(t)
	g := w.connect()
	g.refused("get", "state", `{"state_id":"channel"}`, 403, "")
	g.must("subscribe", "authentication", `{}`)
	g.refused("authenticate", "", `{"client_id":"other","pin":"AAAAAA"}`, 400, "")
	g.refused("authenticate", "", `{"client_id":"ext","pin":"AAAAAA"}`, 400, "The PIN is invalid or has expired")
	g.refused("authenticate", "", `{"client_id":"ext","refresh":"x"}`, 400, "The refresh token is invalid")
	g.refused("authenticate", "", `{"client_id":"ext","refresh":null}`, 400, "")
	pin := w.pin()
	refresh := g.authenticate(`"pin":" ` + strings.ToLower(pin) + `"`)
	g.refused("authenticate", "", `{"client_id":"ext","pin":"`+pin+`"}`, 400, "The PIN is invalid or has expired")
	first := refresh
	for range 12 {
		refresh = w.connect().authenticate(`"refresh":"` + refresh + `"`)
	}
	g.refused("match", "match", `{}`, 403, "")
	_ = first
	if got := w.ok(w.token("broadcaster", "77"), "GET", "/pin_token_exists", ""); got != `{"exists":true}` {
		t.Error(got)
	}
}

// A PIN is good for its channel, unless a backend or a validated admin asks for all by name.
func TestRightsOfPINs(t *testing.T) {
	w := newWorld(t)
	for _, role := range []struct {
		name, user string
		server     bool
	}{{"broadcaster", "77", false}, {"admin", "5", false}, {"admin", "1000", true}, {"backend", "", true}} {
		for _, body := range []string{"", "{}", `{"server":false}`, `{"server":1}`, `x`} {
			g := w.connect()
			refresh := g.authenticate(`"pin":"` + w.pinFor(role.name, role.user, body) + `"`)
			g.refused("create", "match", `{"id":"m"}`, 403, "")
			g = w.connect()
			g.authenticate(`"refresh":"` + refresh + `"`)
			g.refused("create", "match", `{"id":"m"}`, 403, "")
		}
		status, _ := w.do(w.token(role.name, role.user), "POST", "/gamelink/pin", `{"server":true}`)
		if want := map[bool]int{true: 200, false: 403}[role.server]; status != want {
			t.Errorf("a %s that asks for all channels: %d, want %d", role.name, status, want)
		}
	}
	w.server().must("create", "match", `{"id":"m"}`)
	g := w.connect()
	refresh := g.authenticate(`"jwt":"` + w.token("backend", "") + `"`)
	g.must("create", "match", `{"id":"m"}`)
	g = w.connect()
	g.authenticate(`"refresh":"` + refresh + `"`)
	g.refused("create", "match", `{"id":"m"}`, 403, "")
}

// What was issued under a key ends when the key is removed, although a newer one signs by then.
func TestRemovedKey(t *testing.T) {
	w := newWorld(t)
	backend := w.token("backend", "")
	byPIN, byJWT := w.connect(), w.connect()
	refresh := []string{byPIN.authenticate(`"pin":"` + w.pin() + `"`), byJWT.authenticate(`"jwt":"` + backend + `"`)}
	pin := w.pin()
	use := func() (status []int) {
		g := w.connect()
		for i := range refresh {
			m := g.answer(g.send("authenticate", "", `{"client_id":"ext","refresh":"`+refresh[i]+`"}`))
			if len(m.Errors) > 0 {
				status = append(status, m.Errors[0].Number)
				continue
			}
			var a struct{ JWT, Refresh string }
			w.decode(string(m.Data), &a)
			refresh[i] = a.Refresh
			got, _ := w.do(a.JWT, "GET", "/user_info", "")
			status = append(status, got)
		}
		return status
	}
	const newer = "- {value: bmV3ZXIta2V5LW9mLW1vcmUtdGhhbi0zMi1ieXRlcy0wMTIzNDU2}"
	const older = "- {value: cHJvZHVjdGlvbi1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}"
	for _, step := range []struct {
		keys string
		want []int
	}{{newer + "\n  " + older, []int{200, 200}}, {newer, []int{400, 400}}} {
		registry, err := tenant.Parse([]byte("extensions:\n- clientID: ext\n  secrets:\n  " + step.keys))
		if err != nil {
			t.Fatal(err)
		}
		w.registry.Store(registry)
		if got := use(); !slices.Equal(got, step.want) {
			t.Errorf("refresh tokens with the keys %s: %d, want %d", step.keys, got, step.want)
		}
	}
	w.connect().refused("authenticate", "", `{"client_id":"ext","pin":"`+pin+`"}`, 400, "The PIN is invalid or has expired")
	for _, g := range []*game{byPIN, byJWT} { // each looks at its credential with a ping, too
		g.send("get", "state", `{"state_id":"channel"}`)
		g.await("the end", func() bool { return g.closed != nil })
		if got := websocket.CloseStatus(g.closed); got != 4001 {
			t.Errorf("closed with %d, %v", got, g.closed)
		}
	}
}

// The owner ends one game, whose tokens and connections end with it.
func TestEndedGame(t *testing.T) {
	w := newWorld(t)
	first, refresh := w.paired()
	second, _ := w.paired()
	var list struct{ Games []struct{ ID string } }
	w.decode(w.ok(w.token("broadcaster", "77"), "GET", "/gamelink/games", ""), &list)
	if len(list.Games) != 2 {
		t.Fatalf("%+v", list)
	}
	w.ok(w.token("broadcaster", "77"), "DELETE", "/gamelink/games?id="+list.Games[0].ID, "")
	first.await("the end", func() bool { return first.closed != nil })
	if got := websocket.CloseStatus(first.closed); got != 4001 {
		t.Errorf("closed with %d, %v", got, first.closed)
	}
	w.connect().refused("authenticate", "", `{"client_id":"ext","refresh":"`+refresh+`"}`, 400, "The refresh token is invalid")
	second.must("get", "state", `{"state_id":"channel"}`)
}

// A JWT makes a game of staff alone, and only backends and validated admins act in all channels.
// Five refused credentials end the connection.
func TestRolesOfGames(t *testing.T) {
	w := newWorld(t)
	for _, test := range []struct {
		role, user string
		status     int // of authenticate
		match      int // of a match
	}{
		{"viewer", "5", 403, 403}, {"viewer", "", 403, 403}, {"moderator", "5", 403, 403}, {"external", "5", 403, 403},
		{"overlay", "5", 400, 403}, {"game", "5", 400, 403}, {"", "5", 400, 403},
		{"broadcaster", "77", 0, 403}, {"admin", "5", 0, 403}, {"admin", "1000", 0, 0}, {"backend", "", 0, 0},
	} {
		t.Log(test.role, test.user)
		g := w.connect()
		if data := `{"client_id":"ext","jwt":"` + w.token(test.role, test.user) + `"}`; test.status == 0 {
			g.must("authenticate", "", data)
		} else {
			g.refused("authenticate", "", data, test.status, "")
			for target, action := range map[string]string{"transaction": "get", "datastream": "subscribe", "twitchPurchaseBits": "subscribe", "channel": "get"} {
				g.refused(action, target, `{}`, 403, "")
			}
		}
		if test.match == 0 {
			g.must("create", "match", `{"id":"m"}`)
		} else {
			g.refused("create", "match", `{"id":"m"}`, test.match, "")
		}
	}
	g := w.connect()
	for range 5 {
		g.send("authenticate", "", `{"client_id":"ext","refresh":"r1.77.x"}`)
	}
	g.await("the end", func() bool { return g.closed != nil })
	if got := websocket.CloseStatus(g.closed); got != websocket.StatusPolicyViolation {
		t.Errorf("closed with %d, %v", got, g.closed)
	}
}

// A message without a credential is small, and its answer repeats no unknown action.
func TestStrangers(t *testing.T) {
	w := newWorld(t)
	g := w.connect()
	m := g.answer(g.send("boast", "everywhere", `{}`))
	if m.Meta.Action != "" || m.Meta.Target != "" || len(m.Errors) != 1 || m.Errors[0].Number != 403 {
		t.Errorf("%+v", m)
	}
	g.refused("get", "poll", `{"poll_id":"`+strings.Repeat("x", 15<<10)+`"}`, 403, "")
	g.send("get", "poll", `{"poll_id":"`+strings.Repeat("x", 16<<10)+`"}`)
	g.await("the end", func() bool { return g.closed != nil })
	if got := websocket.CloseStatus(g.closed); got != websocket.StatusMessageTooBig {
		t.Errorf("closed with %d, %v", got, g.closed)
	}
	g, _ = w.paired()
	g.must("set", "gameMetadata", `{"name":"`+strings.Repeat("x", 200)+`","logo":"data:`+strings.Repeat("x", 900<<10)+`"}`)
	g.refused("set", "gameMetadata", `{"name":"`+strings.Repeat("x", 257)+`"}`, 400, "name must be at most 256 bytes")
	g.refused("set", "gameMetadata", `{"logo":"`+strings.Repeat("x", 1<<20+1)+`"}`, 413, "logo must be at most 1 MiB")
}

// A lost answer locks no game out: the token before works as well.
func TestRefreshAfterLostAnswers(t *testing.T) {
	w := newWorld(t)
	_, refresh := w.paired()
	for range 12 {
		w.connect().authenticate(`"refresh":"` + refresh + `"`)
	}
}

func TestRevocation(t *testing.T) {
	w := newWorld(t)
	g, refresh := w.paired()
	var a struct{ JWT, Refresh string }
	w.decode(g.must("authenticate", "", `{"client_id":"ext","refresh":"`+refresh+`"}`), &a)
	w.ok(a.JWT, "GET", "/channel_state", "")
	w.ok(w.token("broadcaster", "77"), "DELETE", "/pin", "")
	if status, _ := w.do(a.JWT, "GET", "/channel_state", ""); status != http.StatusUnauthorized {
		t.Errorf("the token of a game that was revoked: %d", status)
	}
	g.await("the end", func() bool { return g.closed != nil })
	if got := websocket.CloseStatus(g.closed); got != 4001 {
		t.Errorf("closed with %d, %v", got, g.closed)
	}
	g = w.connect()
	g.refused("authenticate", "", `{"client_id":"ext","refresh":"`+a.Refresh+`"}`, 400, "The refresh token is invalid")
	if got := w.ok(w.token("broadcaster", "77"), "GET", "/pin_token_exists", ""); got != `{"exists":false}` {
		t.Error(got)
	}
}

// Only a revocation ends a pairing. A game whose pairing cannot be read comes back with the
// refresh token that it has.
func TestPairingThatCannotBeRead(t *testing.T) {
	w := newWorld(t)
	g, _ := w.paired()
	over := w.outage.begin(3)
	w.pin() // the pairings of the channel have changed
	for waiting := true; waiting; {
		select {
		case <-over:
			waiting = false
		default:
		}
		g.must("get", "state", `{"state_id":"channel"}`)
	}
	w.ok(w.token("broadcaster", "77"), "DELETE", "/pin", "")
	g.await("the end", func() bool { return g.closed != nil })
	if got := websocket.CloseStatus(g.closed); got != 4001 {
		t.Errorf("closed with %d, %v", got, g.closed)
	}
	g, _ = w.paired()
	w.outage.begin(1000)
	w.pin()
	g.await("the end", func() bool { return g.closed != nil })
	if got := websocket.CloseStatus(g.closed); got != websocket.StatusTryAgainLater {
		t.Errorf("closed with %d, %v", got, g.closed)
	}
}

// A game shows its PIN; its token is worth nothing until the broadcaster has typed it.
func TestPINThatGamesShow(t *testing.T) {
	w := newWorld(t)
	var shown struct{ Token, PIN string }
	w.decode(w.ok("", "POST", "/pin", `{"identifier":"ext"}`), &shown)
	if status, _ := w.do(shown.Token, "GET", "/user_info", ""); status != http.StatusUnauthorized {
		t.Errorf("before: %d", status)
	}
	w.ok(w.token("broadcaster", "77"), "POST", "/validate_pin", `{"pin":"`+shown.PIN+`"}`)
	w.ok(shown.Token, "POST", "/channel_state", `{"by":"game"}`)
	if got := w.ok(w.token("viewer", "5"), "GET", "/channel_state", ""); got != `{"by":"game"}` {
		t.Error(got)
	}
	g := w.connect()
	g.authenticate(`"jwt":"` + shown.Token + `"`)
	if status, _ := w.do(w.token("broadcaster", "77"), "POST", "/validate_pin", `{"pin":"`+shown.PIN+`"}`); status != http.StatusBadRequest {
		t.Errorf("twice: %d", status)
	}
}

func TestWrongPINsEndTheConnection(t *testing.T) {
	w := newWorld(t)
	g := w.connect()
	for range 5 {
		g.send("authenticate", "", `{"client_id":"ext","pin":"AAAAAA"}`)
	}
	g.await("the end", func() bool { return g.closed != nil })
	if got := websocket.CloseStatus(g.closed); got != websocket.StatusPolicyViolation {
		t.Errorf("closed with %v", g.closed)
	}
}

func TestEnvelope(t *testing.T) {
	w := newWorld(t)
	g, _ := w.paired()
	for text, number := range map[string]int{
		`nonsense`: 400, `[]`: 400, `{"action":7}`: 400, `{"action":"get","params":null}`: 400,
		`{"action":"get","params":{"request_id":70000}}`: 400, `{"action":"dance"}`: 404,
	} {
		g.mu.Lock()
		delete(g.answers, 65535)
		g.mu.Unlock()
		if err := g.socket.Write(t.Context(), websocket.MessageText, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if m := g.answer(65535); len(m.Errors) != 1 || m.Errors[0].Number != number {
			t.Errorf("%s: %+v", text, m)
		}
	}
	if err := g.socket.Write(t.Context(), websocket.MessageBinary, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	g.await("the end", func() bool { return g.closed != nil })
	if got := websocket.CloseStatus(g.closed); got != websocket.StatusUnsupportedData {
		t.Errorf("closed with %v", g.closed)
	}
}

// What clients check: votes, the clock and reconfigurations cause one push each.
func TestPolls(t *testing.T) {
	w := newWorld(t)
	g, _ := w.paired()
	g.must("delete", "poll", `{"poll_id":"p"}`)
	g.must("unsubscribe", "poll", `{"topic_id":"p"}`)
	g.refused("get", "poll", `{"poll_id":"p"}`, 404, "No such poll")
	g.refused("reconfigure", "poll", `{"poll_id":"p","config":{"disabled":true}}`, 404, "No such poll")
	g.refused("create", "poll", `{"poll_id":"p","prompt":7,"options":[]}`, 400, "")
	g.refused("create", "poll", `{"poll_id":"p.q","prompt":"","options":[]}`, 400, "")
	g.must("subscribe", "poll", `{"topic_id":"p"}`)
	g.must("subscribe", "poll", `{"topic_id":"*"}`)
	g.must("create", "poll", `{"poll_id":"p","prompt":"Wohin?","options":["Eis","Süd"],"user_data":null,"config":{"endsIn":300}}`)
	w.ok(w.token("viewer", "5"), "POST", "/vote?id=p", `{"value":1}`)
	type update struct {
		Topic string `json:"topic_id"`
		Poll  struct {
			ID      string `json:"poll_id"`
			Status  string
			Prompt  string
			Options []string
		}
		Results []int
		Count   int
	}
	first := g.pushed(1)
	var u update
	w.decode(string(first[0].Data), &u)
	if first[0].Meta.Target != "poll" || u.Topic != "p" || u.Poll.ID != "p" || u.Poll.Status != "active" || u.Count != 1 || len(u.Results) != 32 || u.Results[1] != 1 || u.Poll.Options[1] != "Süd" {
		t.Errorf("%+v", u)
	}
	g.must("reconfigure", "poll", `{"poll_id":"p","config":{"endsAt":-1}}`)
	for range 3 {
		g.must("reconfigure", "poll", `{"poll_id":"p","config":{"endsAt":-1}}`)
	}
	w.decode(string(g.pushed(2)[1].Data), &u)
	if u.Poll.Status != "expired" || u.Count != 1 {
		t.Errorf("%+v", u)
	}
	g.must("create", "poll", `{"poll_id":"p","prompt":"","options":["a"],"config":{"startsIn":1,"endsIn":300}}`)
	if w.decode(string(g.pushed(3)[2].Data), &u); u.Poll.Status != "active" {
		t.Errorf("the poll has started: %+v", u)
	}
	g.must("reconfigure", "poll", `{"poll_id":"p","config":{"endsIn":1}}`)
	pushes := g.pushedUntil(func(last received) bool { w.decode(string(last.Data), &u); return u.Poll.Status == "expired" })
	if len(pushes) > 5 { // the reconfiguration and the end, or both at once
		t.Errorf("%d pushes: %+v", len(pushes), pushes)
	}
	if got := g.must("get", "poll", `{"poll_id":"p"}`); !strings.Contains(got, `"status":"expired"`) || !strings.Contains(got, `"options":["a"]`) {
		t.Error(got)
	}
}

// A game that follows a poll by many topics costs one read for each event, and gets one push.
func TestTopicsThatOverlap(t *testing.T) {
	w := newWorld(t)
	g, _ := w.paired()
	id := strings.Repeat("p", 64)
	for i := range id[:60] {
		g.must("subscribe", "poll", fmt.Sprintf(`{"topic_id":"%s*"}`, id[:i]))
	}
	var reads atomic.Int64
	w.intercept(func(_ string, call func() error) error {
		reads.Add(1)
		return call()
	})
	w.ok(w.token("broadcaster", "77"), "POST", "/vote_config", fmt.Sprintf(`{"id":%q,"config":{"options":["a","b"]}}`, id))
	const votes = 3
	for i := range votes {
		w.ok(w.token("viewer", fmt.Sprint(i)), "POST", "/vote?id="+id, `{"value":1}`)
		g.pushedUntil(func(last received) bool { return strings.Contains(string(last.Data), fmt.Sprintf(`"count":%d`, i+1)) })
	}
	g.must("get", "poll", fmt.Sprintf(`{"poll_id":%q}`, id))
	if got := reads.Load(); got > 60 { // an event may be followed by others about the same
		t.Errorf("%d reads for %d changes in 60 subscriptions", got, 1+votes)
	}
}

// wantPush waits for the first push, and checks the poll's status in it.
func (g *game) wantPush(status string) {
	g.Helper()
	var u struct {
		Topic string `json:"topic_id"`
		Poll  struct{ Status string }
	}
	if g.decode(string(g.pushed(1)[0].Data), &u); u.Topic != "p" || u.Poll.Status != status {
		g.Errorf("pushed %+v, want %s", u, status)
	}
}

// A poll may end before the request that creates it is answered, where a server is slow.
func TestPollThatEndsWhileItIsCreated(t *testing.T) {
	w := newWorld(t)
	g, _ := w.paired()
	g.must("subscribe", "poll", `{"topic_id":"p"}`)
	w.intercept(func(name string, call func() error) error {
		err := call()
		for name == "Change" && !strings.Contains(w.ok(w.token("viewer", "5"), "GET", "/poll?id=p", ""), `"expired"`) {
			runtime.Gosched()
		}
		return err
	})
	g.must("create", "poll", `{"poll_id":"p","prompt":"","options":["a"],"config":{"endsIn":1}}`)
	g.wantPush("expired")
}

// A push follows also where the poll cannot be read at first.
func TestPushAfterFailedReads(t *testing.T) {
	w := newWorld(t)
	g, _ := w.paired()
	g.must("subscribe", "poll", `{"topic_id":"p"}`)
	g.must("create", "poll", `{"poll_id":"p","prompt":"","options":["a"]}`)
	var failures atomic.Int64
	w.intercept(func(name string, call func() error) error {
		if name == "Conclude" && failures.Add(1) <= 4 {
			return fault.New(fault.Unavailable, "there is no primary")
		}
		return call()
	})
	g.must("reconfigure", "poll", `{"poll_id":"p","config":{"endsAt":-1}}`)
	g.wantPush("expired")
}

// What happened before a game subscribed causes no push.
func TestSubscriptionAfterTheEnd(t *testing.T) {
	w := newWorld(t)
	g, _ := w.paired()
	g.must("subscribe", "poll", `{"topic_id":"*"}`)
	g.must("create", "poll", `{"poll_id":"p","prompt":"","options":["a"]}`)
	g.must("create", "poll", `{"poll_id":"q","prompt":"","options":["a"]}`)
	g.must("unsubscribe", "poll", `{"topic_id":"*"}`)
	g.must("create", "poll", `{"poll_id":"p","prompt":"again","options":["a"]}`)
	g.must("reconfigure", "poll", `{"poll_id":"p","config":{"endsAt":-1}}`)
	g.must("subscribe", "poll", `{"topic_id":"p"}`)
	g.must("reconfigure", "poll", `{"poll_id":"p","config":{"disabled":true}}`)
	g.must("reconfigure", "poll", `{"poll_id":"p","config":{"endsAt":0,"disabled":false}}`)
	g.wantPush("active")
}

// The votes that come while a game is notified of a new poll have a push of their own.
func TestVotesOfANewPoll(t *testing.T) {
	w := newWorld(t)
	g, _ := w.paired()
	g.must("subscribe", "poll", `{"topic_id":"*"}`)
	var once sync.Once
	w.intercept(func(name string, call func() error) error {
		if name == "Conclude" {
			once.Do(func() { w.ok(w.token("viewer", "5"), "POST", "/vote?id=p", `{"value":0}`) })
		}
		return call()
	})
	w.ok(w.token("broadcaster", "77"), "POST", "/vote_config", `{"id":"p","config":{"options":["a"]}}`)
	g.wantPush("active")
}

// What clients check: the pushes of state, and patches as games send them.
func TestState(t *testing.T) {
	w := newWorld(t)
	g, _ := w.paired()
	a := g.send("subscribe", "state", `{"topic_id":"channel"}`)
	b := g.send("set", "state", `{"state_id":"channel","state":{"a":1}}`)
	if got := g.answer(b); g.answer(a).Errors != nil || string(got.Data) != `{"ok":true,"state":{"a":1}}` {
		t.Errorf("%+v", got)
	}
	if p := g.pushed(1)[0]; p.Meta.Target != "channel" || string(p.Data) != `{"state":{"a":1},"topic_id":"channel"}` {
		t.Errorf("%+v %s", p, p.Data)
	}
	got := g.must("patch", "state", `{"state_id":"channel","state":[
		{"op":"add","path":"/game/text/game_data","value":[1,2,2]},{"op":"remove_value","path":"/game/text/game_data","value":2},
		{"op":"add_intermediates","path":"/x/y","value":true},{"op":"remove","path":"/a","value":0}]}`)
	if got != `{"ok":true,"state":{"game":{"text":{"game_data":[1]}},"x":{"y":true}}}` {
		t.Error(got)
	}
	g.pushed(2)
	g.refused("patch", "state", `{"state_id":"channel","state":[{"op":"copy","path":"/b","value":1}]}`, 400, "")
	g.refused("set", "state", `{"state_id":"extension","state":{}}`, 403, "")
	g.refused("set", "state", `{"state_id":"viewer","state":{}}`, 400, "")
	g.must("update", "channel", `{"state":[{"op":"add","path":"/c","value":1}]}`)
	g.pushed(3)
	g.must("set", "state", `{"state_id":"channel","state":{}}`)
	if p := g.pushed(4)[3]; string(p.Data) != `{"state":{},"topic_id":"channel"}` {
		t.Errorf("%s", p.Data)
	}
	g.must("set", "state", `{"state_id":"channel","state":{}}`) // an equal one is pushed, too
	g.pushed(5)
	w.ok(w.token("broadcaster", "77"), "POST", "/channel_state", `{"by":"REST"}`)
	g.pushed(6)
	g.must("unsubscribe", "state", `{"topic_id":"channel"}`)
}

// What clients check: a write of the configuration by anyone causes one push.
func TestConfig(t *testing.T) {
	w := newWorld(t)
	g, _ := w.paired()
	g.must("subscribe", "config", `{"config_id":"channel"}`)
	g.must("set", "config", `{"config":{"a":1}}`)
	if p := g.pushed(1)[0]; p.Meta.Target != "config" || string(p.Data) != `{"config":{"a":1},"config_id":"channel","topic_id":"channel"}` {
		t.Errorf("%+v %s", p, p.Data)
	}
	w.ok(w.token("broadcaster", "77"), "POST", "/config/channel", `{"a":2}`)
	g.pushed(2)
	g.must("patch", "config", `{"config":[{"op":"add","path":"/b/c","value":3}]}`)
	if got := g.must("get", "config", `{"config_id":"combined"}`); got != `{"config":{"channel":{"a":2,"b":{"c":3}},"extension":{}},"config_id":"combined"}` {
		t.Error(got)
	}
	g.refused("subscribe", "config", `{"config_id":"combined"}`, 400, "")
}

// What clients check: a new connection resumes in one burst.
func TestReconnect(t *testing.T) {
	w := newWorld(t)
	g, refresh := w.paired()
	_ = g.socket.CloseNow()
	g = w.connect()
	text := `{"action":"authenticate","params":{"request_id":65535},"data":{"client_id":"ext","refresh":"` + refresh + `"}}`
	if err := g.socket.Write(t.Context(), websocket.MessageText, []byte(text)); err != nil {
		t.Fatal(err)
	}
	g.send("set", "state", `{"state_id":"channel","state":{"back":true}}`)
	if got := g.must("get", "state", `{"state_id":"channel"}`); got != `{"ok":true,"state":{"back":true}}` {
		t.Error(got)
	}
}

// What clients check: objects of viewers arrive unchanged and in order, and no broadcast does.
func TestDatastream(t *testing.T) {
	w := newWorld(t)
	g, _ := w.paired()
	g.must("subscribe", "datastream", `{"topic_id":""}`)
	w.ok(w.token("broadcaster", "77"), "POST", "/broadcast", `{"event":"datastream","data":{"forged":1}}`)
	for _, throw := range []string{"1", "2", "3", "4", "5", "6"} {
		w.ok(w.token("viewer", "5"), "POST", "/datastream", `{"throw": `+throw+`}`)
	}
	for i, p := range g.pushed(6) {
		var d struct {
			Events []struct {
				Event     struct{ Throw int }
				Timestamp int64
			}
		}
		w.decode(string(p.Data), &d)
		if p.Meta.Target != "datastream" || len(d.Events) != 1 || d.Events[0].Event.Throw != i+1 || d.Events[0].Timestamp == 0 {
			t.Errorf("%d: %s", i, p.Data)
		}
	}
}

func TestTheRest(t *testing.T) {
	w := newWorld(t)
	g, _ := w.paired()
	for request, want := range map[[3]string]string{
		{"get", "drops", `{"status":"*"}`}:                                  `{"drops":[]}`,
		{"subscribe", "matchmaking", `{"operation":"invite"}`}:              `{"ok":true}`,
		{"clear", "matchmaking", `{}`}:                                      `{"ok":true}`,
		{"subscribe", "twitchPurchaseBits", `{"sku":"*"}`}:                  `{"ok":true}`,
		{"get", "transaction", `{"sku":"*"}`}:                               `{"transactions":[]}`,
		{"broadcast", "", `{"topic":"boom","data":{"a":1}}`}:                `{"ok":true}`,
		{"broadcast", "", `{"topic":"boom","message":{"a":1},"ids":["5"]}`}: `{"ok":true}`,
		{"set", "gameMetadata", `{"name":"Tea","logo":"","theme":"x"}`}:     `{"ok":true}`,
	} {
		if got := g.must(request[0], request[1], request[2]); got != want {
			t.Errorf("%v: %s", request, got)
		}
	}
	g.must("set", "gatewayActions", `{"actions":[{"id":"bomb","category":"hinder","state":"available","impact":3,"name":"B","description":"","icon":"","count":5}]}`)
	g.must("set", "gatewayActionState", `{"id":"bomb","delta_inventory":{"change":-2}}`)
	g.refused("set", "gatewayActionState", `{"id":"none","count":1}`, 404, "")
	if got := g.must("get", "state", `{"state_id":"channel"}`); !strings.Contains(got, `"inventory":3`) || !strings.Contains(got, `"name":"Tea"`) {
		t.Error(got)
	}
	g.refused("validate", "transaction", `{"transaction_id":"x"}`, 404, "No such transaction")
	g.refused("validate", "drops", `{"id":"x"}`, 404, "")
	g.refused("broadcast", "", `{"topic":"vote_update:x","data":{}}`, 400, "event is a name that the service itself uses")
	g.refused("create", "match", `{"id":"m"}`, 403, "")
}

// A process that drains sends every game elsewhere.
func TestDrain(t *testing.T) {
	w := newWorld(t)
	g, _ := w.paired()
	w.games.Drain()
	g.await("the end", func() bool { return g.closed != nil })
	if got := websocket.CloseStatus(g.closed); got != websocket.StatusGoingAway {
		t.Errorf("closed with %v", g.closed)
	}
}

// A game that asks and does not read is cut off and counted, and others stay.
func TestSlowReader(t *testing.T) {
	w := newWorld(t)
	other, refresh := w.paired()
	w.ok(w.token("broadcaster", "77"), "POST", "/channel_state", `{"a":"`+strings.Repeat("x", 60_000)+`"}`)
	narrow := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		connection, err := new(net.Dialer).DialContext(ctx, network, address)
		if err == nil {
			err = connection.(*net.TCPConn).SetReadBuffer(4 << 10)
		}
		return connection, err
	}}
	defer narrow.CloseIdleConnections()
	socket, _, err := websocket.Dial(t.Context(), w.url+"/0.0.2/ext", &websocket.DialOptions{HTTPClient: &http.Client{Transport: narrow}}) //nolint:bodyclose // the library needs no close
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = socket.CloseNow() }()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute) // a bound of the test
	defer stop()
	text := `{"action":"authenticate","data":{"client_id":"ext","refresh":"` + refresh + `"}}`
	for err == nil { // until the server has ended the connection
		err = socket.Write(ctx, websocket.MessageText, []byte(text))
		text = `{"action":"get","params":{"target":"state"},"data":{"state_id":"channel"}}`
	}
	if ctx.Err() != nil {
		t.Fatal("a game that does not read keeps its connection")
	}
	if got := w.games.Stats(); got.Slow != 1 || got.Connections > 2 {
		t.Errorf("%+v", got)
	}
	other.must("get", "state", `{"state_id":"channel"}`)
}

// Games connect with wss:// too.
func TestTLS(t *testing.T) {
	w := newWorld(t)
	server := httptest.NewTLSServer(w.games)
	defer server.Close()
	w.url, w.client = "wss"+strings.TrimPrefix(server.URL, "https"), server.Client()
	g, _ := w.paired()
	g.must("set", "state", `{"state_id":"channel","state":{"a":1}}`)
	w.games.Drain()
	g.await("the end", func() bool { return g.closed != nil })
}
