// Package dex_test signs people in at dex, an OpenID Connect issuer that others have written, in a module of its own:
// dex brings the libraries of all the services that it signs people in at. The tests of the program use issuers of ours.
package dex_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestDex(t *testing.T) {
	w := newWorld(t)
	for _, extension := range []string{"documented", "confidential"} {
		t.Run("staff of "+extension, func(t *testing.T) { w.in(t).signStaffIn(extension) })
	}
	t.Run("terminal", func(t *testing.T) { w.in(t).signTerminalIn() })
	t.Run("terminal, secret of the client", func(t *testing.T) { w.in(t).keepSecret() })
	t.Run("terminal, expired", func(t *testing.T) { w.in(t).expire() })
	t.Run("viewers", func(t *testing.T) { w.in(t).signViewersIn() })
}

// in returns the world for a part of the test.
func (w *world) in(t *testing.T) *world {
	part := *w
	part.T = t
	return &part
}

// signStaffIn signs a moderator in by the code flow, who then makes a poll, and refuses anyone else.
func (w *world) signStaffIn(extension string) {
	moderator, stranger := w.newBrowser(ada), w.newBrowser(bob)
	moderator.arrives("/staff/signin?extension="+extension, "/live/staff.html", "signed-in")
	if session := moderator.api(http.StatusOK, http.MethodGet, "/staff", ""); !bytes.Contains(session, []byte(`"name":"Ada"`)) {
		w.Errorf("the session is %s", session)
	}
	moderator.api(http.StatusOK, http.MethodPost, "/vote_config", `{"id":"lunch","config":{"options":["Soup","Salad"]}}`)

	stranger.arrives("/staff/signin?extension="+extension, "/live/staff.html", "sign-in-refused-403")
	stranger.api(http.StatusUnauthorized, http.MethodGet, "/staff", "")
}

// signTerminalIn signs a moderator in with the command, who makes a poll with another command.
func (w *world) signTerminalIn() {
	folder := w.TempDir()
	command := func(args ...string) *exec.Cmd {
		c := exec.CommandContext(w.Context(), w.binary, append(args, "--server", w.base)...)
		c.Env = append(os.Environ(), "XDG_CONFIG_HOME="+folder, "HOME="+folder)
		return c
	}
	login := command("login", "--extension", "documented")
	var out bytes.Buffer
	login.Stdout = &out
	shown := bufio.NewReader(must(login.StderrPipe())(w.T))
	if err := login.Start(); err != nil {
		w.Fatal(err)
	}
	page, found := "", false
	for !found {
		page, found = strings.CutPrefix(must(shown.ReadString('\n'))(w.T), "Or open ")
	}
	w.approve(w.newBrowser(ada), strings.TrimSpace(page))
	problem := must(io.ReadAll(shown))(w.T)
	if err := login.Wait(); err != nil || !strings.Contains(out.String(), "Signed in as Ada, for polls in channel 77 of documented.") {
		w.Fatalf("%v: %s%s", err, &out, problem)
	}
	if out, err := command("poll", "create", "dinner", "--option", "Soup").CombinedOutput(); err != nil {
		w.Errorf("%v: %s", err, out)
	}
	if out, err := command("logout").CombinedOutput(); err != nil {
		w.Errorf("%v: %s", err, out)
	}
}

// approve signs a person in at the page of dex for terminals.
func (w *world) approve(b *browser, address string) {
	w.Helper()
	if last := b.signIn(address); last.status != http.StatusOK || !bytes.Contains(last.content, []byte("Return to your device")) {
		w.Fatalf("status %d at %s: %s", last.status, last.at, last.content)
	}
}

// begun has the codes of a sign-in at a terminal.
type begun struct{ DeviceCode, VerificationURIComplete string }

func (b *browser) beginAtTerminal(extension string) (codes begun, session string) {
	b.Helper()
	answer := b.api(http.StatusOK, http.MethodPost, "/staff/device_signin", fmt.Sprintf(`{"extension":%q}`, extension))
	if err := json.Unmarshal(answer, &codes); err != nil {
		b.Fatal(err)
	}
	return codes, fmt.Sprintf(`{"extension":%q,"deviceCode":%q}`, extension, codes.DeviceCode)
}

// refused demands that a terminal gets no session, for a reason.
func (b *browser) refused(status int, reason, body string) {
	b.Helper()
	if answer := b.api(status, http.MethodPost, "/staff/device_session", body); !bytes.Contains(answer, []byte(reason)) {
		b.Errorf("the reason is %s, not %q", answer, reason)
	}
}

// keepSecret demands that no browser sees the secret of a client: dex writes a secret that it gets in the body of the
// request for the codes into the address of its next page. So it refuses the person, and the documents want a client without.
func (w *world) keepSecret() {
	b := w.newBrowser(ada)
	codes, session := b.beginAtTerminal("confidential")
	if last := b.signIn(codes.VerificationURIComplete); last.status != http.StatusUnauthorized {
		w.Errorf("status %d at %s: %s", last.status, last.at, last.content)
	}
	b.refused(http.StatusConflict, "The person has not signed in yet", session)
	if visited := strings.Join(b.visited, "\n"); strings.Contains(visited, secret) || !strings.Contains(visited, "client_id=confidential") {
		w.Errorf("the browser was sent to\n%s", visited)
	}
}

// expire lets a code expire, after a terminal that asks too often.
func (w *world) expire() {
	b := w.newBrowser(ada)
	_, session := b.beginAtTerminal("documented")
	b.refused(http.StatusConflict, "The person has not signed in yet", session)
	b.refused(http.StatusConflict, "The terminal asks too often", session)
	w.ahead.Store(int64(6 * time.Minute))
	defer w.ahead.Store(0)
	b.refused(http.StatusUnauthorized, "The code has expired", session)
	b.refused(http.StatusUnauthorized, "The sign-in has failed", `{"extension":"documented","deviceCode":"none"}`)
}

// signViewersIn lets a viewer vote after a sign-in on the page of a poll, and another one with a token that a page of others
// has.
func (w *world) signViewersIn() {
	const scheme = "OIDC documented/77/"
	b := w.newBrowser(ada)
	token := w.tokenOf("votes", bob)
	w.awaitKeys(b, scheme+token)
	b.api(http.StatusOK, http.MethodPost, "/vote?id=lunch", `{"value":1}`, "Authorization", scheme+token)
	b.api(http.StatusUnauthorized, http.MethodPost, "/vote?id=lunch", `{"value":1}`, "Authorization", "OIDC documented/78/"+token)
	b.api(http.StatusUnauthorized, http.MethodPost, "/vote?id=lunch", `{"value":1}`, "Authorization", scheme+w.tokenOf("acclaim", bob))

	b.api(http.StatusUnauthorized, http.MethodPost, "/vote?id=lunch", `{"value":2}`, "Authorization", scheme)
	b.arrives("/viewer/signin?extension=documented&channel=77&poll=lunch", "/vote/documented/77/lunch", "signed-in")
	b.api(http.StatusOK, http.MethodPost, "/vote?id=lunch", `{"value":2}`, "Authorization", scheme)
	if stats := b.api(http.StatusOK, http.MethodGet, "/vote?id=lunch", "", "Authorization", scheme); !bytes.Contains(stats, []byte(`"specific":[0,1,1,0`)) {
		w.Errorf("the poll is %s", stats)
	}
}

// awaitKeys waits until the program has fetched the keys of dex.
func (w *world) awaitKeys(b *browser, credential string) {
	ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		answer := b.ask(http.MethodGet, b.site.URL+"/v1/poll?id=lunch", "", "Authorization", credential)
		if answer.status == http.StatusOK {
			return
		}
		select {
		case <-ctx.Done():
			w.Fatalf("no viewer is known: %s", answer.content)
		case <-again.C:
		}
	}
}

// tokenOf returns a person's identity token for a client of dex, which a page gets that is not ours.
func (w *world) tokenOf(client, person string) string {
	form := url.Values{"grant_type": {"password"}, "client_id": {client}, "scope": {"openid"}, "username": {person}, "password": {password}}
	answer := w.newBrowser(person).ask(http.MethodPost, w.issuer.URL+"/token", form.Encode(), "Content-Type", "application/x-www-form-urlencoded")
	var tokens struct {
		IDToken string `json:"id_token"`
	}
	if err := json.Unmarshal(answer.content, &tokens); err != nil || tokens.IDToken == "" {
		w.Fatalf("dex answers %s", answer.content)
	}
	return tokens.IDToken
}
