package dex_test

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/dexidp/dex/server"
	"github.com/dexidp/dex/server/signer"
	"github.com/dexidp/dex/storage"
	"github.com/dexidp/dex/storage/memory"
	"github.com/ghodss/yaml"
	"golang.org/x/crypto/bcrypt"
	"golang.org/x/net/html"
)

const (
	password = "the-password-of-everyone"
	secret   = "the-secret-of-the-client"
	// Ada is a moderator of channel 77; Bob is not.
	ada, bob = "ada@example.org", "bob@example.org"
)

// world runs dex, the program, and a proxy with TLS before it, as browsers keep its cookies over TLS alone.
type world struct {
	*testing.T
	issuer, site *httptest.Server
	binary, base string
	// ahead is the time by which the clock of dex is ahead.
	ahead *atomic.Int64
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, issuer: httptest.NewUnstartedServer(nil), site: httptest.NewUnstartedServer(nil), ahead: &atomic.Int64{}}
	w.issuer.Start()
	w.site.StartTLS()
	t.Cleanup(w.issuer.Close)
	t.Cleanup(w.site.Close)
	w.issuer.Config.Handler = w.newDex()
	w.startProgram()
	return w
}

// must ends the test that its result is called with at an error.
func must[V any](value V, err error) func(*testing.T) V {
	return func(t *testing.T) V {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// documentedClient returns the client that the documents tell people to register at dex.
func (w *world) documentedClient() storage.Client {
	document := must(os.ReadFile("../../services/docs/overlay.md"))(w.T)
	_, rest, _ := bytes.Cut(document, []byte("```yaml\nstaticClients:"))
	block, _, _ := bytes.Cut(rest, []byte("```"))
	block = bytes.ReplaceAll(block, []byte("https://votes.example.org"), []byte(w.site.URL))
	var clients []storage.Client
	if err := yaml.Unmarshal(block, &clients); err != nil || len(clients) != 1 {
		w.Fatalf("%d clients of dex in the documents, %v", len(clients), err)
	}
	return clients[0]
}

func (w *world) newDex() http.Handler {
	now := func() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }
	logger := slog.New(slog.DiscardHandler)
	hash := must(bcrypt.GenerateFromPassword([]byte(password), bcrypt.DefaultCost))(w.T)
	store := storage.WithStaticClients(memory.New(logger), []storage.Client{
		w.documentedClient(),
		{ID: "confidential", Secret: secret, RedirectURIs: []string{w.site.URL + "/v1/staff/callback", "/device/callback"}},
		{ID: "votes", Public: true, RedirectURIs: []string{w.site.URL + "/v1/viewer/callback"}},
	})
	store = storage.WithStaticPasswords(store, []storage.Password{
		{Email: ada, Hash: hash, Username: "ada", PreferredUsername: "Ada", UserID: "1", Groups: []string{"mods"}},
		{Email: bob, Hash: hash, Username: "bob", PreferredUsername: "Bob", UserID: "2", Groups: []string{"friends"}},
	}, logger)
	store = storage.WithStaticConnectors(store, []storage.Connector{{ID: server.LocalConnector, Type: server.LocalConnector, Name: "Password"}})
	keys := &signer.LocalConfig{KeysRotationPeriod: "6h"}
	signs := must(keys.Open(w.Context(), store, time.Hour, now, logger))(w.T)
	signs.Start(w.Context())
	return must(server.NewServer(w.Context(), server.Config{
		Issuer: w.issuer.URL, Storage: store, Signer: signs, Logger: logger, Now: now, PasswordConnector: server.LocalConnector,
	}))(w.T)
}

// startProgram builds the program and runs it until the test ends.
func (w *world) startProgram() {
	w.binary = filepath.Join(w.TempDir(), "acclaim")
	build := exec.CommandContext(w.Context(), "go", "build", "-trimpath", "-o", w.binary, "./services")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		w.Fatalf("%v\n%s", err, out)
	}
	registry := "extensions:\n"
	for name, client := range map[string]string{"documented": "clientID: acclaim", "confidential": "clientID: confidential, clientSecret: " + secret} {
		registry += fmt.Sprintf(`- clientID: %s
  secrets: [{value: %s}]
  signIn: {issuer: %q, %s, redirectURL: "%s/v1/staff/callback", scopes: [profile, groups],
    staff: [{claim: groups, value: mods, channel: "77", role: moderator, scopes: [polls]}]}
  viewerIssuers: [{issuer: %[3]q, audience: votes, redirectURL: "%[5]s/v1/viewer/callback", channels: ["77"]}]
`, name, base64.StdEncoding.EncodeToString([]byte(rand.Text()+rand.Text())), w.issuer.URL, client, w.site.URL)
	}
	path := filepath.Join(w.TempDir(), "extensions.yaml")
	if err := os.WriteFile(path, []byte(registry), 0o600); err != nil {
		w.Fatal(err)
	}
	program := exec.CommandContext(w.Context(), w.binary, "serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
		"--data-dir", w.TempDir(), "--extensions", path, "--sink-allow-private", "--log-level", "error")
	program.Stderr = os.Stderr
	program.Cancel = func() error { return program.Process.Signal(syscall.SIGTERM) }
	out := must(program.StdoutPipe())(w.T)
	if err := program.Start(); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = program.Wait() }) // the end of the test has stopped it
	line := must(bufio.NewReader(out).ReadString('\n'))(w.T)
	_, rest, _ := strings.Cut(line, " base=")
	w.base = strings.Fields(rest + " ")[0]
	target := must(url.Parse(strings.TrimSuffix(w.base, "/v1")))(w.T)
	w.site.Config.Handler = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
}

// browser keeps the cookies of a person at both servers.
type browser struct {
	*world
	http   *http.Client
	person string
	// visited are the addresses to which it was sent.
	visited []string
}

func (w *world) newBrowser(person string) *browser {
	b := &browser{world: w, person: person}
	jar := must(cookiejar.New(nil))(w.T)
	b.http = &http.Client{Transport: w.site.Client().Transport, Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		b.visited = append(b.visited, r.URL.String())
		return nil
	}}
	return b
}

// page holds the last answer to a request.
type page struct {
	status  int
	at      *url.URL
	content []byte
}

// ask sends a request with headers, each a name and a value, and follows redirects.
func (b *browser) ask(method, address, body string, headers ...string) page {
	b.Helper()
	request := must(http.NewRequestWithContext(b.Context(), method, address, strings.NewReader(body)))(b.T)
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := b.http.Do(request)
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close()
	return page{response.StatusCode, response.Request.URL, must(io.ReadAll(response.Body))(b.T)}
}

// api sends a request of a page of the program, or of any other client with its credential, and demands a status.
func (b *browser) api(status int, method, path, body string, headers ...string) []byte {
	b.Helper()
	answer := b.ask(method, b.site.URL+"/v1"+path, body, append(headers, "Sec-Fetch-Site", "same-origin")...)
	if answer.status != status {
		b.Fatalf("%s %s: status %d, not %d: %s", method, path, answer.status, status, answer.content)
	}
	return answer.content
}

// signIn opens an address and fills in the forms of dex that it leads to. It returns the last page.
func (b *browser) signIn(address string) page {
	b.Helper()
	last := b.ask(http.MethodGet, address, "", "Sec-Fetch-Mode", "navigate")
	for range 4 { // the code, the password and the approval, and no form is shown twice
		action, fields, found := formOf(last.content)
		if !found || "http://"+last.at.Host != b.issuer.URL {
			return last
		}
		if fields.Has("login") {
			fields.Set("login", b.person)
			fields.Set("password", password)
		}
		at := must(last.at.Parse(action))(b.T)
		last = b.ask(http.MethodPost, at.String(), fields.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Mode", "navigate")
	}
	b.Fatalf("dex shows one form after the other: %s", last.content)
	return page{}
}

// formOf returns the first form of a page.
func formOf(content []byte) (action string, fields url.Values, found bool) {
	document, err := html.Parse(bytes.NewReader(content))
	if err != nil {
		return "", nil, false
	}
	for form := range document.Descendants() {
		if form.Data != "form" {
			continue
		}
		fields = url.Values{}
		for input := range form.Descendants() {
			if input.Data == "input" {
				fields.Set(attribute(input, "name"), attribute(input, "value"))
			}
		}
		return attribute(form, "action"), fields, true
	}
	return "", nil, false
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// arrives demands that a sign-in ends at a page of the program with an outcome.
func (b *browser) arrives(address, path, outcome string) {
	b.Helper()
	last := b.signIn(b.site.URL + "/v1" + address)
	if last.status != http.StatusOK || last.at.Path != path || last.at.Fragment != outcome {
		b.Fatalf("status %d at %s, not at %s#%s", last.status, last.at, path, outcome)
	}
}
