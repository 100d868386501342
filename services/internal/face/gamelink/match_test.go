package gamelink_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

type matchFigures struct {
	Results           []int
	Stddev, Mean, Sum float64
	Count             int
	Status            string
}

type matchUpdate struct {
	Topic   string `json:"topic_id"`
	Match   string `json:"match_id"`
	Poll    string `json:"poll_id"`
	Status  string
	Overall matchFigures
	Results map[string]matchFigures
}

// server returns a game that a PIN of an admin paired, who asked for the rights of all channels.
func (w *world) server() *game {
	w.Helper()
	g := w.connect()
	g.authenticate(`"pin":"` + w.pinFor("admin", "1000", `{"server":true}`) + `"`)
	return g
}

func (g *game) matchUpdates(n int) (updates []matchUpdate) {
	g.Helper()
	for _, p := range g.pushed(n) {
		var u matchUpdate
		g.decode(string(p.Data), &u)
		if p.Meta.Target != "match_poll" || u.Topic != "m" || u.Match != "m" {
			g.Errorf("%+v %s", p, p.Data)
		}
		updates = append(updates, u)
	}
	return updates
}

// What clients check: one vote in five channels, until the poll ends.
func TestMatch(t *testing.T) {
	w := newWorld(t)
	g := w.server()
	g.must("subscribe", "match_poll", `{"topic_id":"m"}`)
	g.must("create", "match", `{"id":"m"}`)
	g.must("add_channels", "match", `{"id":"m","channel_ids":["77","78","79","80","81"]}`)
	g.must("delete", "match_poll", `{"id":"m","poll_id":"default"}`)
	g.must("create", "match_poll", `{"id":"m","poll":{"poll_id":"default","prompt":"?","options":["a","b"],"user_data":null,"config":{"endsIn":5}}}`)
	w.ok(w.tokenIn("79", "viewer", "5"), "POST", "/vote?id=default", `{"value":1}`)
	updates := g.matchUpdates(2)
	for i, u := range updates {
		if want := []string{"active", "expired"}[i]; u.Status != want || u.Overall.Status != want || u.Poll != "default" {
			t.Errorf("%d: %+v", i, u)
		}
		o := u.Overall
		if o.Count != 1 || o.Sum != 1 || o.Mean != 1 || o.Stddev != 0 || len(o.Results) != 32 || o.Results[1] != 1 || len(u.Results) != 5 {
			t.Errorf("%d: %+v", i, u)
		}
		if f := u.Results["79"]; f.Count != 1 || f.Results[1] != 1 || len(u.Results["81"].Results) != 32 || u.Results["81"].Count != 0 {
			t.Errorf("%d: %+v", i, u)
		}
	}
	for range 3 { // stopping what is expired changes nothing
		g.must("reconfigure", "match_poll", `{"id":"m","poll_id":"default","config":{"endsAt":-1}}`)
	}
	g.must("create", "match_poll", `{"id":"m","poll":{"poll_id":"empty","prompt":"","options":[],"config":{"endsIn":1}}}`)
	if u := g.matchUpdates(3)[2]; u.Poll != "empty" || u.Status != "expired" || u.Overall.Count != 0 || len(u.Results) != 5 {
		t.Errorf("%+v", u)
	}
}

// The figures of all votes, a channel that comes later, one that goes, and a second server.
func TestMatchMembers(t *testing.T) {
	w := newWorld(t)
	g, other := w.server(), w.server()
	g.must("create", "match", `{"id":"m"}`)
	other.must("create", "match", `{"id":"m"}`)
	g.must("add_channels", "match", `{"id":"m","channel_ids":["78","79","78"]}`)
	g.must("create", "match_poll", `{"id":"m","poll":{"poll_id":"p","prompt":"?","options":["a","b"],"config":{"endsIn":300}}}`)
	w.ok(w.tokenIn("78", "viewer", "4"), "POST", "/vote?id=p", `{"value":4}`)
	g.must("subscribe", "match_poll", `{"topic_id":"m"}`)
	g.must("subscribe", "match_poll", `{"topic_id":"m"}`)
	other.must("subscribe", "match_poll", `{"topic_id":"m"}`)
	other.must("add_channels", "match", `{"id":"m","channel_ids":["79","80"]}`)
	if got := w.ok(w.tokenIn("80", "viewer", "5"), "GET", "/poll?id=p", ""); !strings.Contains(got, `"prompt":"?"`) {
		t.Errorf("the poll of a channel that came later: %s", got)
	}
	w.ok(w.tokenIn("80", "viewer", "5"), "POST", "/vote?id=p", `{"value":1}`)
	for _, server := range []*game{g, other} {
		u := server.matchUpdates(1)[0]
		if o := u.Overall; o.Count != 2 || o.Sum != 5 || o.Mean != 2.5 || fmt.Sprintf("%.4f", o.Stddev) != "2.1213" || o.Results[4] != 1 || len(u.Results) != 3 {
			t.Errorf("%+v", u)
		}
	}
	g.must("remove_channels", "match", `{"id":"m","channel_ids":["78","none"]}`)
	for _, server := range []*game{g, other} {
		if u := server.matchUpdates(2)[1]; u.Overall.Count != 1 || len(u.Results) != 2 {
			t.Errorf("%+v", u)
		}
	}
	w.ok(w.tokenIn("78", "viewer", "6"), "POST", "/vote?id=p", `{"value":4}`) // it keeps its poll, uncounted
	g.must("unsubscribe", "match_poll", `{"topic_id":"m"}`)
	other.must("reconfigure", "match_poll", `{"id":"m","poll_id":"p","config":{"endsAt":-1}}`)
	if u := other.matchUpdates(3)[2]; u.Overall.Count != 1 || u.Status != "expired" {
		t.Errorf("%+v", u)
	}
	if got := len(g.pushed(2)); got != 2 {
		t.Errorf("%d pushes to the one that unsubscribed", got)
	}
	for _, channel := range []string{"79", "80"} {
		if got := w.ok(w.tokenIn(channel, "viewer", "5"), "GET", "/poll?id=p", ""); !strings.Contains(got, `"status":"expired"`) {
			t.Errorf("%s: %s", channel, got)
		}
	}
	other.must("delete", "match_poll", `{"id":"m","poll_id":"p"}`)
	if got := w.ok(w.tokenIn("80", "viewer", "5"), "GET", "/vote?id=p", ""); !strings.Contains(got, `"count":0`) {
		t.Errorf("after the poll was deleted: %s", got)
	}
	other.must("broadcast", "match", `{"match_id":"m","topic":"boom","data":{"a":1}}`)
}

func TestMatchRefusals(t *testing.T) {
	w := newWorld(t)
	g := w.server()
	for request, number := range map[[3]string]int{
		{"keepalive", "match", `{"id":"x"}`}:                                                     404,
		{"add_channels", "match", `{"id":"x","channel_ids":["1"]}`}:                              404,
		{"remove_channels", "match", `{"id":"x","channel_ids":["1"]}`}:                           404,
		{"broadcast", "match", `{"match_id":"x","topic":"boom","data":{}}`}:                      404,
		{"create", "match_poll", `{"id":"x","poll":{"poll_id":"p","prompt":"","options":[]}}`}:   404,
		{"reconfigure", "match_poll", `{"id":"x","poll_id":"p","config":{}}`}:                    404,
		{"dance", "match", `{"id":"x"}`}:                                                         404,
		{"create", "match", `{}`}:                                                                400,
		{"create", "match", `{"id":"` + strings.Repeat("x", 129) + `"}`}:                         400,
		{"add_channels", "match", `{"id":"x"}`}:                                                  400,
		{"add_channels", "match", `{"id":"x","channel_ids":[""]}`}:                               400,
		{"create", "match_poll", `{"id":"x"}`}:                                                   400,
		{"subscribe", "match_poll", `{"topic_id":7}`}:                                            400,
		{"create", "match_poll", `{"id":"x","poll":{"poll_id":"p.q","prompt":"","options":[]}}`}: 400,
	} {
		g.refused(request[0], request[1], request[2], number, "")
	}
	g.must("delete", "match_poll", `{"id":"x","poll_id":"p"}`)
	g.must("unsubscribe", "match_poll", `{"topic_id":"x"}`)
	for n := range 100 {
		g.must("create", "match", fmt.Sprintf(`{"id":"m%d"}`, n))
	}
	g.must("create", "match", `{"id":"m0"}`)
	g.must("keepalive", "match", `{"id":"m99"}`)
	g.refused("create", "match", `{"id":"one more"}`, 400, "An extension has at most 100 matches")
	var ids []string
	for n := range 1000 {
		ids = append(ids, fmt.Sprint(n))
	}
	add := func(ids []string) string {
		encoded, err := json.Marshal(map[string]any{"id": "m0", "channel_ids": ids})
		if err != nil {
			t.Fatal(err)
		}
		return string(encoded)
	}
	g.must("add_channels", "match", add(ids))
	g.must("add_channels", "match", add(ids[:1]))
	g.refused("add_channels", "match", add([]string{"one more"}), 400, "A match has at most 1000 channels")
	g.must("create", "match_poll", `{"id":"m0","poll":{"poll_id":"p","prompt":"","options":["a"]}}`)
	g.refused("create", "match_poll", `{"id":"m0","poll":{"poll_id":"q","prompt":"","options":["a"],"config":{"totalVotesPerUser":5000}}}`, 400, "totalVotesPerUser must be between 1 and 1024")
	g.refused("reconfigure", "match_poll", `{"id":"m0","poll_id":"q","config":{"disabled":true}}`, 404, "No such poll")
	if got := w.ok(w.tokenIn("999", "viewer", "5"), "GET", "/poll?id=p", ""); !strings.Contains(got, `"options":["a"]`) {
		t.Error(got)
	}
	broadcaster, _ := w.paired()
	broadcaster.refused("subscribe", "match_poll", `{"topic_id":"m0"}`, 403, "")
}
