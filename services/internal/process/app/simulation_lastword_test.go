package app

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/acclaim-dev/acclaim/services/internal/feed/sink"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/sandbox"
)

// The last word about polls that end while the clocks of their owners step by -45 to 300 seconds,
// processes are killed and viewers vote. A match has a poll in each of three channels; a game and
// a stream of events follow it at a process that stays, and a webhook receives everything. What
// must hold, of each poll and of the match:
//
//  1. The game receives one push that says expired, the last one, with what is stored.
//  2. The stream has one update that says expired, with what is stored.
//  3. All deliveries that say expired have what is stored, under one id.
//
// ACCLAIM_SIM_SEED tries one seed alone, with its log under -v; ACCLAIM_SIM_WORLDS sets how many
// are tried.
func TestLastWordOverFaults(t *testing.T) {
	seeds := []uint64{0}
	if worlds, err := strconv.ParseUint(os.Getenv("ACCLAIM_SIM_WORLDS"), 10, 64); err == nil {
		for n := range worlds / announcedShare {
			seeds = append(seeds, embeddedShare*(n+1)) // with a database
		}
	}
	log := io.Discard
	if seed, err := strconv.ParseUint(os.Getenv("ACCLAIM_SIM_SEED"), 10, 64); err == nil {
		seeds, log = []uint64{seed - seed%embeddedShare}, t.Output()
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			registry := filepath.Join(t.TempDir(), "extensions.yaml")
			if err := os.WriteFile(registry, []byte(simulatedRegistry+announcedSinks), 0o600); err != nil {
				t.Fatal(err)
			}
			cryptotest.SetGlobalRandom(t, seed)
			synctest.Test(t, func(t *testing.T) {
				w := &endingWorld{simulatedWorld: newSimulatedWorld(t, seed, registry, slog.New(slog.NewTextHandler(log, nil)))}
				w.play()
			})
		})
	}
}

const (
	endingPolls    = 2
	endingVoters   = 4
	endingChannels = 3
)

// endingWorld is a simulated world with a match, and what was received about it.
type endingWorld struct {
	*simulatedWorld

	mu       sync.Mutex
	polls    []string          // that viewers vote in
	ends     time.Time         // of the last of them
	late     int               // votes that were accepted after the end
	pushes   []endingPush      // to the game
	updates  []endingUpdate    // of the stream, of channel 1
	hook     []endingUpdate    // of the webhook
	accepted map[[2]string]int // votes, by poll and channel
}

type endingPush struct {
	Poll    string `json:"poll_id"`
	Status  string
	Overall struct{ Count int }
	Results map[string]struct{ Count int }
}

// endingUpdate is a vote_update.
type endingUpdate struct {
	Event, Channel string
	Data           struct {
		ID, Status string
		Stats      struct{ Count int }
	}
	delivery string
}

func (u endingUpdate) isLast(poll string) bool {
	return strings.HasSuffix(u.Event, ":vote_update:"+poll) && u.Data.Status == "expired"
}

func (w *endingWorld) play() {
	w.accepted = map[[2]string]int{}
	for i := range w.slots {
		<-w.process(i).opened
		w.process(i).clock.set(0)
	}
	ctx, stop := context.WithCancel(w.t.Context())
	var following sync.WaitGroup
	hook := w.serveHook()
	w.wait(recoveryBound)
	game := w.connectGame(ctx, &following)
	following.Go(func() { w.followEvents(ctx) })
	for n := range endingVoters {
		w.clients.running.Go(func() { w.voteOn(n) })
	}
	for n := range endingPolls {
		// A clock that is ahead closes polls early: with those behind alone, votes come late.
		w.playPoll(game, fmt.Sprint("poll", n), []time.Duration{44 * time.Second, 345 * time.Second}[n%2])
	}
	w.clients.stop()
	for i := range w.slots {
		w.process(i).clock.set(0)
	}
	w.wait(2 * time.Minute) // for a sink's lease of a process that ended
	for n := range endingPolls {
		w.check(fmt.Sprint("poll", n))
	}
	if w.note("late votes", "accepted", w.late); w.late == 0 {
		w.t.Error("no vote was accepted after the end")
	}
	stop()
	_ = game.CloseNow()
	following.Wait()
	_ = hook.Close()
	w.clients.close()
	for i := range w.slots {
		p := w.process(i)
		if err := p.Close(w.t.Context()); err != nil {
			w.t.Errorf("close: %v", err)
		}
		p.cancel()
		p.sinks.CloseIdleConnections()
	}
	w.ended.Wait()
	w.wait(answerBound)
}

// playPoll lets a poll of the match end among faults. The clocks step by -45 seconds and up to most
// more.
func (w *endingWorld) playPoll(game *websocket.Conn, id string, most time.Duration) {
	ends := time.Now().Truncate(time.Second).Add(20 * time.Second)
	w.request(game, "create", "match_poll", fmt.Sprintf(`{"id":"m","poll":{"poll_id":%q,"prompt":"","options":[],"config":{"endsAt":%d}}}`, id, ends.Unix()))
	w.wait(3 * time.Second)
	w.mu.Lock()
	w.polls, w.ends = []string{id}, ends
	w.mu.Unlock()
	w.wait(time.Until(ends) - 3*time.Second)
	for range 3 {
		for i := range w.slots {
			w.process(i).clock.set(time.Duration(w.rng.Int64N(int64(most))) - 45*time.Second)
		}
		w.pause(3 * time.Second)
	}
	slot := 1 + w.rng.IntN(len(w.slots)-1) // the game and the stream stay at the first
	w.note("a process is killed", "poll", id, "slot", slot)
	w.kill(slot, w.rng.IntN(2) == 0)
	w.pause(4 * time.Second)
	w.put(slot, w.boot(slot, -45*time.Second))
	w.wait(time.Minute) // until the slowest clock has passed the end
	for i := range w.slots {
		<-w.process(i).opened
		w.process(i).clock.set(0)
	}
	w.wait(recoveryBound)
}

// voteOn votes with one viewer after the other until the clients are stopped.
func (w *endingWorld) voteOn(number int) {
	for n := 0; !w.clients.over.Load(); n++ {
		w.wait(250 * time.Millisecond)
		w.mu.Lock()
		polls := w.polls
		w.mu.Unlock()
		for _, poll := range polls {
			channel, slot := fmt.Sprint(1+n%endingChannels), (n+number)%len(w.slots)
			token := w.token(sandbox.Grant{Role: "viewer", ChannelID: channel, OpaqueID: fmt.Sprintf("U%d-%d", number, n)})
			status, _, err := w.clients.exchange(slot, ":80", http.MethodPost, "/v1/vote?id="+poll, "simulated "+token, `{"value":1}`, nil)
			if err == nil && status == http.StatusOK {
				w.mu.Lock()
				w.accepted[[2]string{poll, channel}]++
				if time.Now().After(w.ends.Add(time.Second)) {
					w.late++
				}
				w.mu.Unlock()
			}
		}
	}
}

func (w *endingWorld) token(g sandbox.Grant) string {
	g.ExtensionID, g.Stage = "simulated", string(tenant.Production)
	token, err := sandbox.IssueToken(g, w.clients.secret, time.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	return token
}

// connectGame connects a game server, which follows a match of all channels.
func (w *endingWorld) connectGame(ctx context.Context, following *sync.WaitGroup) *websocket.Conn {
	game, _, err := websocket.Dial(ctx, "ws://"+w.process(0).ip+":83/0.0.2/simulated", &websocket.DialOptions{HTTPClient: w.clients.web}) //nolint:bodyclose // the library needs no close
	if err != nil {
		w.t.Fatal(err)
	}
	game.SetReadLimit(1 << 20)
	following.Go(func() { w.readGame(ctx, game) })
	token := w.token(sandbox.Grant{Role: "backend", ChannelID: "1", UserID: "1000"})
	w.request(game, "authenticate", "", fmt.Sprintf(`{"client_id":"simulated","jwt":%q}`, token))
	w.request(game, "create", "match", `{"id":"m"}`)
	w.request(game, "add_channels", "match", `{"id":"m","channel_ids":["1","2","3"]}`)
	w.request(game, "subscribe", "match_poll", `{"topic_id":"m"}`)
	w.wait(time.Second)
	return game
}

func (w *endingWorld) request(game *websocket.Conn, action, target, data string) {
	text := fmt.Sprintf(`{"action":%q,"params":{"request_id":1,"target":%q},"data":%s}`, action, target, data)
	if err := game.Write(w.t.Context(), websocket.MessageText, []byte(text)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *endingWorld) readGame(ctx context.Context, game *websocket.Conn) {
	for {
		_, text, err := game.Read(ctx)
		if err != nil {
			if ctx.Err() == nil {
				w.t.Errorf("the game was cut off: %v", err)
			}
			return
		}
		var m struct {
			Meta   struct{ Action, Target string }
			Data   endingPush
			Errors []json.RawMessage
		}
		if err := json.Unmarshal(text, &m); err != nil || len(m.Errors) > 0 {
			w.t.Errorf("the game received %s", text)
		}
		w.note("game", "message", string(text))
		if m.Meta.Target == "match_poll" && m.Meta.Action == "update" {
			w.mu.Lock()
			w.pushes = append(w.pushes, m.Data)
			w.mu.Unlock()
		}
	}
}

// followEvents follows the polls of the first channel.
func (w *endingWorld) followEvents(ctx context.Context) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.process(0).ip+":80/v1/events?topic=vote_update:*", nil)
	if err != nil {
		w.t.Error(err)
		return
	}
	r.Header.Set("Authorization", "simulated "+w.token(sandbox.Grant{Role: "viewer", ChannelID: "1", OpaqueID: "Uear"}))
	response, err := w.clients.web.Do(r)
	if err != nil {
		w.t.Error(err)
		return
	}
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			w.record(&w.updates, data, "")
		}
	}
	if ctx.Err() == nil {
		w.t.Error("the stream has ended")
	}
}

func (w *endingWorld) record(to *[]endingUpdate, text, delivery string) {
	w.note("event", "text", text, "delivery", delivery)
	u := endingUpdate{delivery: delivery}
	if !strings.Contains(text, ":vote_update:") {
		return
	}
	if err := json.Unmarshal([]byte(text), &u); err != nil {
		w.t.Errorf("%v in %s", err, text)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	*to = append(*to, u)
}

// serveHook serves the system that the webhook leads to.
func (w *endingWorld) serveHook() *http.Server {
	listener, err := w.network.Host("10.3.0.1").Listen(w.t.Context(), "tcp", "10.3.0.1:80")
	if err != nil {
		w.t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err == nil {
			w.record(&w.hook, string(body), r.Header.Get(sink.IDHeader))
		}
	})}
	w.ended.Go(func() { serveUntilClosed(server, listener) })
	return server
}

func serveUntilClosed(server *http.Server, listener net.Listener) { _ = server.Serve(listener) }

// check checks what was said last about a poll.
func (w *endingWorld) check(poll string) {
	stored, all := map[string]int{}, 0
	for n := range endingChannels {
		channel := fmt.Sprint(1 + n)
		var tally struct{ Count int }
		token := w.token(sandbox.Grant{Role: "viewer", ChannelID: channel, OpaqueID: "Ureader"})
		if status, said, err := w.clients.exchange(0, ":80", http.MethodGet, "/v1/vote?id="+poll, "simulated "+token, "", &tally); status != http.StatusOK || err != nil {
			w.t.Fatalf("%s: %d %s %v", poll, status, said, err)
		}
		stored[channel], all = tally.Count, all+tally.Count
		if accepted := w.accepted[[2]string{poll, channel}]; tally.Count < accepted || accepted == 0 {
			w.t.Errorf("%s in %s: %d votes are stored, %d were accepted", poll, channel, tally.Count, accepted)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	pushes := slices.DeleteFunc(slices.Clone(w.pushes), func(p endingPush) bool { return p.Poll != poll })
	last := slices.IndexFunc(pushes, func(p endingPush) bool { return p.Status == "expired" })
	if last < 0 || last != len(pushes)-1 || pushes[last].Overall.Count != all {
		w.t.Errorf("%s has %d votes, and the game received %+v", poll, all, pushes[max(0, last-1):])
	}
	w.checkUpdates("the stream", poll, stored, w.updates)
	w.checkUpdates("the webhook", poll, stored, w.hook)
}

func (w *endingWorld) checkUpdates(who, poll string, stored map[string]int, updates []endingUpdate) {
	last := map[string][]endingUpdate{}
	for _, u := range updates {
		if u.Channel == "" { // of a stream
			u.Channel = "1"
		}
		if u.isLast(poll) {
			last[u.Channel] = append(last[u.Channel], u)
		}
	}
	for channel, all := range last {
		for _, u := range all {
			if u.Data.Stats.Count != stored[channel] || u.delivery != all[0].delivery || u.delivery == "" && len(all) > 1 {
				w.t.Errorf("%s: %s has %d votes in %s, and the last updates are %+v", who, poll, stored[channel], channel, all)
			}
		}
	}
	if len(last) == 0 || who == "the webhook" && len(last) != endingChannels {
		w.t.Errorf("%s: %s has last updates in %d channels", who, poll, len(last))
	}
}
