package gamelink_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// slowClock shows the time of a machine that is behind.
type slowClock struct{ stream.Clock }

func (slowClock) Now() time.Time { return time.Now().Add(-1500 * time.Millisecond) }

// slowOwner is another process, which owns every poll.
type slowOwner struct{ *voting.Service }

func (o slowOwner) Owner(string) stream.Peer { return o }
func (slowOwner) Contenders(string) int      { return 0 }
func (slowOwner) ID() string                 { return "slow" }

func (o slowOwner) Send(ctx context.Context, request []byte, receive func(part []byte)) error {
	return o.Serve(ctx, request, receive)
}

func newSlowWorld(t *testing.T) *world {
	store := storetest.NewMemory()
	owner := slowOwner{voting.NewService(store, slowClock{stream.SystemClock()}, stream.Options{})}
	t.Cleanup(func() { _ = owner.Close(context.WithoutCancel(t.Context())) })
	return newWorldOver(t, store, owner)
}

// voteUntilClosed has one viewer after the other vote, in channels in turns, until the poll takes
// no vote in any of them, and returns how many were accepted after its end by the clock of the
// games, and in all.
func (w *world) voteUntilClosed(id string, ends time.Time, channels ...string) (late, all int) {
	w.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for n, closed := 0, 0; closed < len(channels); n++ {
		<-ticker.C
		status, answer := w.do(w.tokenIn(channels[n%len(channels)], "viewer", fmt.Sprint(n+10)), http.MethodPost, "/vote?id="+id, `{"value":1}`)
		switch {
		case status == http.StatusOK:
			closed = 0
			all++
			if time.Now().After(ends) {
				late++
			}
		case strings.Contains(answer, "poll is closed"):
			closed++
		default:
			w.Fatal(status, answer)
		}
	}
	return late, all
}

func (w *world) endIn(d time.Duration) time.Time {
	return time.Now().Truncate(time.Second).Add(d + time.Second)
}

// The one final push of a match counts the votes that the owners of its polls have accepted after
// the end by the clock of this process. Until then the match is active. What staff has done to
// the poll of a channel does not keep it from ending.
func TestFinalPushOfAMatch(t *testing.T) {
	w := newSlowWorld(t)
	g := w.server()
	g.must("create", "match", `{"id":"m"}`)
	g.must("add_channels", "match", `{"id":"m","channel_ids":["77","78","79","80","81"]}`)
	g.must("subscribe", "match_poll", `{"topic_id":"m"}`)
	ends := w.endIn(2 * time.Second)
	g.must("create", "match_poll", fmt.Sprintf(`{"id":"m","poll":{"poll_id":"p","prompt":"","options":[],"config":{"endsAt":%d}}}`, ends.Unix()))
	w.ok(w.tokenIn("79", "broadcaster", "79"), "DELETE", "/vote?id=p", "")
	w.ok(w.tokenIn("80", "broadcaster", "80"), "PATCH", "/vote_config", `{"id":"p","config":{"endsAt":0}}`)
	w.ok(w.tokenIn("81", "broadcaster", "81"), "PATCH", "/vote_config", fmt.Sprintf(`{"id":"p","config":{"endsAt":%d}}`, ends.Unix()+1000))
	late, all := w.voteUntilClosed("p", ends, "77", "78")
	pushes := g.pushedUntil(func(last received) bool { return strings.Contains(string(last.Data), `"status":"expired"`) })
	for i, u := range g.matchUpdates(0) {
		if last := i == len(pushes)-1; last != (u.Status == "expired") || last && (u.Overall.Count != all || len(u.Results) != 5) {
			t.Errorf("push %d of %d: %s with %d of %d votes", i, len(pushes), u.Status, u.Overall.Count, all)
		}
	}
	if late == 0 {
		t.Error("no vote was accepted after the end")
	}
	w.noMore(g, len(pushes))
}

// noMore checks that no push follows, by one of another poll.
func (w *world) noMore(g *game, pushes int) {
	w.Helper()
	g.must("subscribe", "state", `{"topic_id":"channel"}`)
	g.must("set", "state", `{"state_id":"channel","state":{"a":1}}`)
	if all := g.pushed(pushes + 1); all[pushes].Meta.Target != "channel" {
		w.Errorf("after the final push comes %s", all[pushes].Data)
	}
}

// Likewise the one final push of a poll, to a game that subscribes before the end and to one that
// does so after it.
func TestFinalPushOfAPoll(t *testing.T) {
	w := newSlowWorld(t)
	g, _ := w.paired()
	ends := w.endIn(2 * time.Second)
	g.must("subscribe", "poll", `{"topic_id":"p"}`)
	g.must("create", "poll", fmt.Sprintf(`{"poll_id":"p","prompt":"","options":[],"config":{"endsAt":%d}}`, ends.Unix()))
	<-time.After(time.Until(ends))
	late, _ := w.paired()
	late.must("subscribe", "poll", `{"topic_id":"*"}`)
	voted, all := w.voteUntilClosed("p", ends, "77")
	for _, game := range []*game{g, late} {
		pushes := game.pushedUntil(func(last received) bool { return strings.Contains(string(last.Data), `"status":"expired"`) })
		for i, p := range pushes {
			var u struct {
				Poll  struct{ Status string }
				Count int
			}
			if err := json.Unmarshal(p.Data, &u); err != nil {
				t.Fatal(err)
			}
			if last := i == len(pushes)-1; last != (u.Poll.Status == "expired") || last && u.Count != all {
				t.Errorf("push %d of %d: %s with %d of %d votes", i, len(pushes), u.Poll.Status, u.Count, all)
			}
		}
		w.noMore(game, len(pushes))
	}
	if voted == 0 {
		t.Error("no vote was accepted after the end")
	}
}
