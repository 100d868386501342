package gamelink_test

import (
	"strings"
	"sync"
	"testing"
)

// A game that reconfigures a poll undoes nothing that staff changes meanwhile, in the poll of
// the channel and in that of a match.
func TestReconfigureKeepsWhatStaffChanges(t *testing.T) {
	for name, prepare := range map[string]func(*world) (g *game, target, data string){
		"poll": func(w *world) (*game, string, string) {
			g, _ := w.paired()
			g.must("create", "poll", `{"poll_id":"p","prompt":"?","options":["a"]}`)
			return g, "poll", `{"poll_id":"p","config":`
		},
		"match poll": func(w *world) (*game, string, string) {
			g := w.server()
			g.must("create", "match", `{"id":"m"}`)
			g.must("add_channels", "match", `{"id":"m","channel_ids":["77","78"]}`)
			g.must("create", "match_poll", `{"id":"m","poll":{"poll_id":"p","prompt":"?","options":["a"]}}`)
			return g, "match_poll", `{"id":"m","poll_id":"p","config":`
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			g, target, data := prepare(w)
			staff := w.tokenIn("77", "broadcaster", "5")
			var once sync.Once
			w.intercept(func(name string, call func() error) error {
				if name == "Change" {
					once.Do(func() { w.ok(staff, "PATCH", "/vote_config", `{"id":"p","config":{"resultsVisibility":"staff"}}`) })
				}
				return call()
			})
			g.must("reconfigure", target, data+`{"disabled":true,"totalVotesPerUser":2}}`)
			g.must("reconfigure", target, data+`{"disabled":false}}`)
			got := w.ok(staff, "GET", "/poll?id=p", "")
			for _, want := range []string{`"resultsVisibility":"staff"`, `"totalVotesPerUser":2`, `"disabled":false`, `"prompt":"?"`} {
				if !strings.Contains(got, want) {
					t.Errorf("%s is not in %s", want, got)
				}
			}
			g.refused("reconfigure", target, data+`{"disabled":null}}`, 400, "disabled is missing or has the wrong type")
		})
	}
}

// A channel whose staff has deleted the poll of a match gets it again, with what has changed.
func TestReconfigureAfterDeletion(t *testing.T) {
	w := newWorld(t)
	g := w.server()
	g.must("create", "match", `{"id":"m"}`)
	g.must("add_channels", "match", `{"id":"m","channel_ids":["77"]}`)
	g.must("create", "match_poll", `{"id":"m","poll":{"poll_id":"p","prompt":"?","options":["a"]}}`)
	staff := w.tokenIn("77", "broadcaster", "5")
	w.ok(staff, "DELETE", "/vote?id=p", "")
	g.must("reconfigure", "match_poll", `{"id":"m","poll_id":"p","config":{"disabled":true}}`)
	if got := w.ok(staff, "GET", "/poll?id=p", ""); !strings.Contains(got, `"disabled":true`) || !strings.Contains(got, `"prompt":"?"`) {
		t.Error(got)
	}
	g.must("add_channels", "match", `{"id":"m","channel_ids":["78"]}`)
	if got := w.ok(w.tokenIn("78", "broadcaster", "5"), "GET", "/poll?id=p", ""); !strings.Contains(got, `"disabled":true`) {
		t.Errorf("a channel that came later: %s", got)
	}
}
