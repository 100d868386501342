package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/acclaim-dev/acclaim/hack/harness"
)

// terminalCases are the attacks on sign-ins of staff by the device flow.
func terminalCases() []attackCase {
	return []attackCase{
		{name: "terminals", what: "one address, then 100, begin sign-ins at terminals, guess device codes and use those of others, while staff signs in", run: floodTerminals, issuer: true, buildUp: 4 * time.Second,
			signs: attackSigns{outcome: "429", times: 1_000, metrics: []metricBound{{name: "acclaim_limit_refused_total", least: 1_000}}}},
	}
}

// Sign-ins at a terminal.
const (
	terminalBegin  = "/v1/staff/device_signin"
	terminalFinish = "/v1/staff/device_session"
	noDeviceCode   = "NNNNNNNNNNNNNNNNNNNNNNNNNN"
)

// beginDevice begins a sign-in that waits for a person.
func (i *issuer) beginDevice(w http.ResponseWriter, r *http.Request) {
	code := rand.Text()
	i.mu.Lock()
	i.codes[code] = url.Values{"client_id": {r.FormValue("client_id")}, "waits": {"yes"}}
	i.mu.Unlock()
	i.answer(w, map[string]any{"device_code": code, "user_code": code[:8], "verification_uri": i.address + "/approve", "expires_in": 600, "interval": 1})
}

// approve lets the person that sub names agree to the sign-in of a user code.
func (i *issuer) approve(_ http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for code, query := range i.codes {
		if query.Has("waits") && code[:8] == r.FormValue("user_code") {
			query.Del("waits")
			query.Set("sub", r.FormValue("sub"))
		}
	}
}

// terminal is one at an address.
type terminal struct {
	*attacker
	http *http.Client
}

// newTerminal returns one at the n-th address of the attacker's network.
func (a *attacker) newTerminal(n int64) terminal {
	t := terminal{attacker: a.from(n)}
	t.http = t.newClient(1)
	return t
}

// codes are those of a sign-in at a terminal.
type codes struct{ UserCode, DeviceCode string }

// begin begins a sign-in.
func (t terminal) begin(ctx context.Context) (c codes) {
	status, body, err := harness.Ask(ctx, t.http, http.MethodPost, "http://"+t.Address+terminalBegin, "", `{"extension":"`+extension+`"}`)
	if err != nil || status != http.StatusOK || json.Unmarshal(body, &c) != nil {
		return codes{}
	}
	return c
}

// finish asks for the session of a device code once.
func (t terminal) finish(ctx context.Context, of, deviceCode string) (status int, credential string) {
	var session struct{ Credential string }
	body, _ := json.Marshal(map[string]string{"extension": of, "deviceCode": deviceCode}) // it never fails
	status, answer, err := harness.Ask(ctx, t.http, http.MethodPost, "http://"+t.Address+terminalFinish, "", string(body))
	if err == nil && status == http.StatusOK {
		err = json.Unmarshal(answer, &session)
	}
	if err != nil {
		return 0, ""
	}
	return status, session.Credential
}

// agree has a person agree at the issuer.
func (t terminal) agree(ctx context.Context, c codes, person string) {
	_, _, err := harness.Ask(ctx, t.http, http.MethodGet, t.Issuer+"/approve?user_code="+c.UserCode+"&sub="+person, "", "")
	if err != nil {
		t.count("the issuer: " + describeError(err))
	}
}

// signIn signs a person in, and reports whether the session is good.
func (t terminal) signIn(ctx context.Context, person string) bool {
	defer t.http.CloseIdleConnections()
	c := t.begin(ctx)
	if status, _ := t.finish(ctx, extension, c.DeviceCode); status != http.StatusConflict {
		return false // it must wait for the person
	}
	t.agree(ctx, c, person)
	_, credential := t.finish(ctx, extension, c.DeviceCode)
	return credential != "" && t.status(ctx, credential, http.MethodGet, "/v1/staff", "") == http.StatusOK
}

// floodTerminals begins sign-ins and guesses device codes, from one address in the first half and from many
// in the second, and looks whether staff still signs in.
func floodTerminals(ctx context.Context, a *attacker) {
	if !a.newTerminal(240).signIn(ctx, streamer) {
		a.breach("staff cannot sign in at a terminal")
		return
	}
	a.crossTerminals(ctx)
	asked := a.countAsked(ctx)
	first, half := context.WithTimeout(ctx, a.Duration/3)
	a.guessDevices(first, 1)
	half()
	if asked = a.countAsked(ctx) - asked; asked > 100 {
		a.breach(fmt.Sprintf("one address makes the program ask the issuer %d times", asked))
	}
	attacking, stop := context.WithTimeout(ctx, a.Duration/2)
	defer stop()
	var all sync.WaitGroup
	all.Go(func() {
		for n := int64(202); attacking.Err() == nil && n < 240; n++ {
			wait(attacking, 500*time.Millisecond)
			if !a.newTerminal(n).signIn(ctx, streamer) {
				a.breach("staff cannot sign in at a terminal beside many addresses")
			}
			a.count("a sign-in of staff")
		}
	})
	a.guessDevices(attacking, 100)
	all.Wait()
}

// guessDevices begins sign-ins and guesses device codes from so many addresses. A session is a breach.
func (a *attacker) guessDevices(ctx context.Context, addresses int64) {
	terminals := make([]terminal, addresses)
	for i := range terminals {
		terminals[i] = a.newTerminal(int64(i) + 1)
		defer terminals[i].http.CloseIdleConnections()
	}
	a.flood(ctx, 32, func(ctx context.Context, n int64) (string, error) {
		t := terminals[n%addresses]
		if n/addresses%2 == 0 {
			return a.send(ctx, t.http, "", http.MethodPost, terminalBegin, `{"extension":"`+extension+`"}`)
		}
		status, credential := t.finish(ctx, extension, rand.Text())
		if credential != "" || status/100 == 5 {
			a.breach(fmt.Sprintf("a guessed device code is answered with %d", status))
		}
		return fmt.Sprint(status), nil
	})
}

// crossTerminals uses what belongs to the sign-ins of others, once each: an address has few.
func (a *attacker) crossTerminals(ctx context.Context) {
	theirs := a.newTerminal(10)
	pending, done := theirs.begin(ctx), theirs.begin(ctx)
	theirs.agree(ctx, done, streamer)
	if _, credential := theirs.finish(ctx, extension, done.DeviceCode); credential == "" {
		a.breach("staff cannot sign in at a terminal")
	}
	agreed := theirs.begin(ctx)
	theirs.agree(ctx, agreed, streamer)
	stranger := theirs.begin(ctx)
	theirs.agree(ctx, stranger, "viewer")
	for i, try := range []struct{ what, extension, code string }{
		{"a sign-in that waits", extension, pending.DeviceCode}, {"a device code that is spent", extension, done.DeviceCode}, {"a user code", extension, agreed.UserCode},
		{"the device code of another extension", leakyExtension, agreed.DeviceCode}, {"no device code", extension, ""}, {"an invented device code", extension, noDeviceCode},
		{"a long device code", extension, strings.Repeat("N", 20_000)}, {"a person without a rule", extension, stranger.DeviceCode},
	} {
		t := a.newTerminal(int64(20 + i))
		if status, credential := t.finish(ctx, try.extension, try.code); credential != "" || status/100 == 5 {
			a.breach(fmt.Sprintf("%s is answered with %d", try.what, status))
		}
		t.http.CloseIdleConnections()
		a.count("a session refused")
	}
	if _, credential := theirs.finish(ctx, extension, agreed.DeviceCode); credential == "" {
		a.breach("others end a sign-in at a terminal")
	}
}
