package httpapi_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
)

// logged returns how many lines of requests the log has and how many requests they leave out, and
// empties it.
func (a *api) logged() (lines, leftOut int) {
	a.t.Helper()
	for text := range strings.Lines(a.log.String()) {
		var line struct {
			Msg     string
			LeftOut int `json:"left_out"`
		}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			a.t.Fatalf("%v in %s", err, text)
		}
		if line.Msg == "request" {
			lines++
			leftOut += line.LeftOut
		}
	}
	a.log.Reset()
	return lines, leftOut
}

// wantLogged compares the lines since the last call with those of a test.
func (a *api) wantLogged(name string, lines, leftOut int) {
	a.t.Helper()
	log := a.log.String()
	if gotLines, gotOut := a.logged(); gotLines != lines || gotOut != leftOut {
		a.t.Errorf("%s: %d lines leave out %d, want %d and %d:\n%s", name, gotLines, gotOut, lines, leftOut, log)
	}
}

// Of requests alike, the first of a second and each thousandth have lines, and these count the
// others.
func TestSampledRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		read := func(times int, path string, status int) {
			for range times {
				a.as(aged(viewer()), "GET", path, "").is(status)
			}
		}
		read(2100, "/vote", 200)
		a.wantLogged("reads", 3, 2*999)
		read(1, "/poll", 404)
		a.wantLogged("another route", 1, 0)
		read(20, "/vote?at=x", 400)
		a.wantLogged("refusals", 1, 0)
		<-time.After(time.Second)
		read(2, "/vote", 200)
		a.wantLogged("reads a second later", 1, 99)
		read(2, "/vote?at=x", 400)
		a.wantLogged("refusals a second later", 1, 19)
	})
}

// What staff writes is logged line by line, and so are sign-ins.
func TestWritesOfStaffAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		for _, test := range []struct {
			method, path, body string
			status, lines      int
		}{
			{"POST", "/v1/vote_config", `{"config":{"prompt":"?"}}`, 200, 10},
			{"POST", "/v1/vote_config", `{"config":{"prompt":1}}`, 400, 10},
			{"PATCH", "/v1/rank_config", `{"config":{"open":true}}`, 400, 10},
			{"POST", "/v1/vote_modifier", `{"user":"U5","add":1}`, 200, 10},
			{"POST", "/v1/rank_moderation", `{"action":"hide","key":"a"}`, 200, 10},
			{"DELETE", "/v1/vote", "", 200, 10},
			{"POST", "/v1/broadcast", `{"event":"default","data":1}`, 200, 10},
			{"POST", "/v1/gamelink/token", `{}`, 200, 10},
			{"POST", "/v1/overlay_keys", `{"polls":["default"]}`, 200, 10},
			{"POST", "/v1/channel_state", `{}`, 200, 10},
			{"DELETE", "/v1/accumulate", "", 403, 1}, // no right of a broadcaster
			{"POST", "/v1/vote", `{"value":1}`, 200, 1},
			{"GET", "/v1/vote_config", "", 404, 1},
		} {
			for range 10 {
				a.send(test.method, test.path, test.body, "Authorization", aged(broadcaster()).header(t)).is(test.status)
			}
			a.wantLogged(test.method+" "+test.path, test.lines, 0)
		}
		for range 10 {
			a.as(aged(viewer()), "DELETE", "/vote", "").is(403)
		}
		a.wantLogged("a viewer that may not", 1, 0)
		for range 10 {
			a.send("POST", "/sandbox/v1/authtoken", `{"extension_id":"ext","channel_id":"1","user_id":"2","role":"viewer"}`).is(200)
		}
		a.wantLogged("tokens of the sandbox", 10, 0)
	})
}

// Refused credentials have a line a second for each cause.
func TestRefusedCredentialsAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		expired := aged(viewer()).header(t)
		foreign := identity{role: "viewer", opaque: "U", extension: "none"}.header(t)
		<-time.After(2 * time.Hour)
		refuse := func(lines, leftOut int) {
			t.Helper()
			for n := range 5000 {
				for _, header := range []string{expired, foreign, "nonsense"} {
					a.send("GET", []string{"/v1/vote", "/v1/poll"}[n%2], "", "Authorization", header).is(401)
				}
			}
			a.wantLogged("refused credentials", lines, leftOut)
		}
		refuse(3, 0)
		<-time.After(time.Second)
		refuse(3, 3*4999)
	})
}

// All failures of the server have lines, but a flood of them.
func TestFailuresAreLogged(t *testing.T) {
	for _, kind := range []operation.RequestLog{operation.LogSampled, operation.LogOff} {
		synctest.Test(t, func(t *testing.T) {
			a := newAPI(t, broken{err: fault.New(fault.Storage, "disk 7")}.into, func(c *apiSettings) { c.LogRequests = kind })
			fail := func(times, lines, leftOut int) {
				t.Helper()
				for range times {
					a.as(aged(viewer()), "GET", "/vote", "").is(500)
				}
				a.wantLogged("failures", lines, leftOut)
			}
			fail(100, 100, 0)
			fail(5000, 0, 0)
			<-time.After(time.Second)
			fail(20, 10, 5000)
		})
	}
}

// --log-requests: each request has a line, or none that succeeds.
func TestAllAndNoRequestsAreLogged(t *testing.T) {
	for kind, lines := range map[operation.RequestLog]int{operation.LogAll: 22, operation.LogOff: 0} {
		a := newAPI(t, func(c *apiSettings) { c.LogRequests = kind })
		for range 20 {
			a.as(viewer(), "POST", "/vote", `{"value":1}`).is(200)
		}
		a.as(broadcaster(), "DELETE", "/vote", "").is(200)
		a.as(broadcaster(), "GET", "/nothing", "").is(404)
		a.wantLogged(string(kind), lines, 0)
	}
}
