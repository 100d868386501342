package httpapi_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// aged returns identities whose key is active at any time, for tests that live
// in a bubble, where the year is 2000.
func aged(i identity) identity {
	i.key = oldKey
	return i
}

// poll is a poll that a test speaks to in the votes of numbered viewers.
type poll struct {
	*api
	query string
}

func (p poll) configure(config string) {
	p.t.Helper()
	p.as(aged(broadcaster()), "POST", "/vote_config", config).want(200, "{}")
}

func (p poll) vote(n int, body string) answer {
	p.t.Helper()
	return p.as(aged(identity{role: "viewer", opaque: fmt.Sprintf("U%d", n)}), "POST", "/vote"+p.query, body)
}

// shows checks members of the statistics, given as names and values in turn.
func (p poll) shows(fields ...string) {
	p.t.Helper()
	got := p.as(aged(viewer()), "GET", "/vote"+p.query, "").is(200)
	for i := 0; i+1 < len(fields); i += 2 {
		if value := got.field(fields[i]); value != fields[i+1] {
			p.t.Errorf("%s is %s, want %s", fields[i], value, fields[i+1])
		}
	}
}

// Status comes from the clock: pending before startsAt, expired from endsAt on.
func TestPollFollowsItsSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := poll{newAPI(t), ""}
		now := time.Now().Unix()
		p.configure(fmt.Sprintf(`{"config":{"startsAt":%d,"endsAt":%d}}`, now+60, now+120))
		is := func(status string, open bool) {
			t.Helper()
			if got := p.as(aged(viewer()), "GET", "/vote_config", "").is(200).field("status"); got != `"`+status+`"` {
				t.Errorf("status is %s, want %s", got, status)
			}
			if got := p.vote(1, `{"value":1}`); open {
				got.is(200)
			} else {
				got.refused(400, "poll is closed")
			}
		}
		is("pending", false)
		<-time.After(59 * time.Second)
		is("pending", false)
		<-time.After(time.Second)
		is("active", true)
		<-time.After(59 * time.Second)
		is("active", true)
		<-time.After(time.Second)
		is("expired", false)

		p.configure(`{"config":{"disabled":true}}`)
		is("active", false)
		p.configure(fmt.Sprintf(`{"config":{"startsAt":0,"endsAt":%d}}`, time.Now().Unix()+1))
		is("active", true)
		p.configure(`{"config":{"endsAt":-5}}`)
		is("expired", false)
		if got := p.as(aged(viewer()), "GET", "/vote_config", "").field("endsAt"); got != fmt.Sprint(time.Now().Unix()) {
			t.Errorf("endsAt is %s at %d", got, time.Now().Unix())
		}
		p.shows("count", "1", "sum", "1")
	})
}

// A forward-decayed sum: half of it is left after each minute.
func TestDecay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := poll{newAPI(t), ""}
		begin := time.Now().UnixMilli()
		decay := func(val, scale string, nudged, altered int64) {
			t.Helper()
			p.shows("decay", fmt.Sprintf(`{"last_nudged":%d,"val":%s,"current_scale":%s,"last_altered":%d}`, nudged, val, scale, altered))
		}
		p.configure(`{"config":{"totalVotesPerUser":9,"votesPerOption":9,"distinctOptionsPerUser":9}}`)
		p.vote(1, `{"value":4}`).is(200)
		decay("4", "1", begin, begin)
		<-time.After(time.Minute)
		decay("4", "1", begin, begin) // the time of the last vote
		p.vote(2, `{"value":2,"count":3}`).is(200)
		decay("8", "2", begin+60_000, begin)
		p.as(aged(broadcaster()), "POST", "/vote_modifier", `{"user":"U2","add":5}`).is(200)
		decay("8", "2", begin+60_000, begin)

		p.configure(`{"config":{}}`)
		<-time.After(time.Minute)
		p.vote(2, `{"value":-1}`).is(200) // replaces three, which stay in the sum
		decay("3", "4", begin+120_000, begin)
		<-time.After(41 * time.Minute)
		p.vote(3, `{"value":5}`).is(200)
		now := time.Now().UnixMilli()
		decay("5.000000000001364", "1", now, now)

		p.as(aged(broadcaster()), "DELETE", "/vote", "").is(200)
		decay("0", "0", 0, 0)
	})
}

// Each accepted POST adds to the poll, and one that would break a limit is
// refused whole.
func TestMultiVoteMode(t *testing.T) {
	p := poll{newAPI(t), "?id=multi"}
	p.configure(`{"id":"multi","config":{"totalVotesPerUser":5,"distinctOptionsPerUser":2,"votesPerOption":3}}`)
	for _, step := range []struct{ body, reason, count string }{
		{`{"value":1,"count":2}`, "", "2"},
		{`{"value":1,"count":2}`, "unacceptable vote", "2"}, // four for one option
		{`{"value":1}`, "", "3"},
		{`{"value":2,"count":3}`, "unacceptable vote", "3"}, // six in all
		{`{"value":2}`, "", "4"},
		{`{"value":3}`, "unacceptable vote", "4"}, // a third option
		{`{"value":2,"count":6}`, "Count out of bounds", "4"},
		{`{"value":129,"count":6}`, "Value out of bounds", "4"},
		{`{"value":2}`, "", "5"},
		{`{"value":2}`, "unacceptable vote", "5"}, // the sixth
	} {
		if got := p.vote(5, step.body); step.reason == "" {
			got.is(200)
		} else {
			got.refused(400, step.reason)
		}
		p.shows("count", step.count)
	}
	p.shows("sum", "7", "mean", "1.4", "vote", "2")

	// Back in single-vote mode the next vote replaces all of them.
	p.configure(`{"id":"multi","config":{}}`)
	p.shows("count", "5")
	p.vote(5, `{"value":9}`).is(200)
	p.shows("count", "1", "sum", "9", "vote", "9")
}

// Votes go by the shared user id, and so do modifiers, while the poll says so.
func TestUserIDVoting(t *testing.T) {
	a := newAPI(t)
	p := poll{a, ""}
	other := identity{role: "viewer", opaque: "U55", user: "5"}
	p.configure(`{"config":{"userIDVoting":true}}`)
	a.as(viewer(), "POST", "/vote", `{"value":1}`).is(200)
	a.as(other, "POST", "/vote", `{"value":2}`).is(200)
	p.shows("count", "1", "sum", "2", "vote", "2")
	a.as(stranger(), "POST", "/vote", `{"value":3}`).refused(400, "unacceptable vote")
	for user, count := range map[string]string{"U5": "1", "5": "3"} {
		a.as(backend(), "POST", "/vote_modifier", `{"user":"`+user+`","add":2}`).want(200, "{}")
		p.shows("count", count)
		a.as(backend(), "POST", "/vote_modifier", `{"user":"`+user+`","add":-2}`).want(200, "{}")
	}
	// Stored votes stay when votes go by another identity.
	p.configure(`{"config":{}}`)
	a.as(viewer(), "POST", "/vote", `{"value":4}`).is(200)
	p.shows("count", "2", "sum", "6", "vote", "4")
}

// Modifiers outlive configurations and later votes, and end with the poll.
func TestModifiersAreVoteState(t *testing.T) {
	a := newAPI(t)
	p := poll{a, ""}
	a.as(broadcaster(), "POST", "/vote_modifier", `{"user":"U5","add":2}`).want(200, "{}")
	a.as(viewer(), "POST", "/vote", `{"value":3}`).is(200)
	p.shows("count", "3", "sum", "9", "mean", "3", "stddev", "0", "vote", "3")
	p.configure(`{"config":{"prompt":"?"}}`)
	a.as(viewer(), "POST", "/vote", `{"value":40}`).is(200)
	p.shows("count", "3", "sum", "120", "vote", "40")
	a.as(broadcaster(), "POST", "/vote_modifier", `{"user":"U5","add":-9}`).want(200, "{}")
	p.shows("count", "0", "sum", "0", "mean", "0", "vote", "40")
	a.as(broadcaster(), "DELETE", "/vote", "").want(200, "{}")
	a.as(viewer(), "POST", "/vote", `{"value":3}`).is(200)
	p.shows("count", "1", "sum", "3")
}

// The sample deviation over all counted values, those without a slot included.
func TestStatisticsOfAPoll(t *testing.T) {
	p := poll{newAPI(t), ""}
	for n, value := range []int{-128, 0, 31, 32, 128} {
		p.vote(n+1, fmt.Sprintf(`{"value":%d}`, value)).is(200)
	}
	p.shows("count", "5", "sum", "63", "mean", "12.6", "stddev", "92.14011070104051", "vote", "128",
		"specific", "[1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1]")
}

// A voter learns from GET /poll that the stored vote is for another version, until the next vote;
// so does its entity tag. Others do not.
func TestVotedVersion(t *testing.T) {
	a := newAPI(t)
	configure := func(config string) string {
		t.Helper()
		a.as(broadcaster(), "POST", "/vote_config", config).is(200)
		return a.as(backend(), "GET", "/poll", "").is(200).field("version")
	}
	wants := func(who identity, version, voted string) {
		t.Helper()
		got, tag := a.as(who, "GET", "/poll", "").is(200), `"`+version+".active"
		if voted != "" {
			tag += "." + voted
		}
		if got.field("votedVersion") != voted || got.header.Get("ETag") != tag+`"` {
			t.Errorf("%s: votedVersion %q, tag %s; want %q, %s", who.opaque, got.field("votedVersion"), got.header.Get("ETag"), voted, tag)
		}
	}
	a.as(viewer(), "POST", "/vote", `{"value":1}`).is(200)
	first := configure(`{"config":{"prompt":"Keep the dog?"}}`)
	wants(viewer(), first, "") // the vote is from before the first configuration
	a.as(viewer(), "POST", "/vote", `{"value":1}`).is(200)
	wants(viewer(), first, "")
	second := configure(`{"config":{"prompt":"Sell the dog?"}}`)
	wants(viewer(), second, first)
	wants(identity{role: "viewer", opaque: "U99"}, second, "")
	wants(backend(), second, "")
	a.as(viewer(), "POST", "/vote", `{"value":0}`).is(200)
	wants(viewer(), second, "")
	a.as(broadcaster(), "DELETE", "/vote", "").is(200)
	wants(viewer(), configure(`{"config":{"prompt":"Keep the dog?"}}`), "")
}
