package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/api/client"
	"github.com/acclaim-dev/acclaim/api/contract"
)

// scripted is a service that gives a terminal one answer after the other, each a status and a reason.
type scripted struct {
	*testing.T
	answers []string
	waited  []int // seconds
}

// ServeHTTP implements [http.Handler].
func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // it is compared
	switch r.Method + " " + r.URL.Path {
	case "GET /staff/signins":
		_, _ = io.WriteString(w, `{"signIns":[{"extension":"ext","name":"Example ID"}]}`) // to a client that reads it
	case "POST /staff/device_signin":
		if string(body) != `{"extension":"ext"}` {
			s.Errorf("begins with %s", body)
		}
		_, _ = io.WriteString(w, `{"userCode":"WDJB\u001b[2J","verificationURI":"https://id.example/device","deviceCode":"d","interval":7,"expiresIn":60}`)
	default:
		if string(body) != `{"deviceCode":"d","extension":"ext"}` || len(s.answers) == 0 {
			s.Errorf("%s %s: %s, with %d answers left", r.Method, r.URL, body, len(s.answers))
			return
		}
		status, reason, _ := strings.Cut(s.answers[0], " ")
		s.answers = s.answers[1:]
		var code int
		if _, err := fmt.Sscan(status, &code); err != nil {
			s.Error(err)
		}
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, `{"reason":%q,"credential":%q}`, reason, reason)
	}
}

// signIn signs a person in, without to wait for real.
func (s *scripted) signIn() (credential, shown string, err error) {
	server := httptest.NewServer(s)
	defer server.Close()
	var stderr bytes.Buffer
	l := login{
		client: client.New(server.URL, client.UseToken(""), client.Options{Attempts: 1}), stderr: &stderr,
		wait: func(_ context.Context, d time.Duration) error {
			s.waited = append(s.waited, int(d.Seconds()))
			return nil
		},
	}
	credential, err = l.signIn(s.Context())
	return credential, stderr.String(), err
}

// A terminal keeps to the interval, waits longer where it asks too often or gets no answer, and stops when
// the answer is final or the code has expired.
func TestTerminalWaitsForSession(t *testing.T) {
	pending, fast := "409 "+contract.SignInPending, "409 "+contract.SignInTooFast
	for name, test := range map[string]struct {
		answers []string
		waited  []int // seconds
		err     string
	}{
		"agrees":      {[]string{pending, pending, "200 ext x.y.z"}, []int{7, 7, 7}, ""},
		"too often":   {[]string{fast, pending, fast, "200 ext x.y.z"}, []int{7, 12, 12, 17}, ""},
		"no answer":   {[]string{"503 ", "429 Too many", "200 ext x.y.z"}, []int{7, 14, 28}, ""},
		"denied":      {[]string{pending, "403 The sign-in was denied"}, []int{7, 7}, "The sign-in was denied"},
		"other state": {[]string{"409 Another"}, []int{7}, "Another"},
		"expires":     {[]string{pending, fast, fast, fast, fast}, []int{7, 7, 12, 17, 22}, "acclaim login"},
	} {
		s := &scripted{T: t, answers: test.answers}
		credential, shown, err := s.signIn()
		if diff := cmp.Diff(test.waited, s.waited); diff != "" || len(s.answers) > 0 {
			t.Errorf("%s: waited (-want +got):\n%s%d answers left", name, diff, len(s.answers))
		}
		if test.err == "" && (err != nil || credential != "ext x.y.z") || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%s: %q, %v", name, credential, err)
		}
		if !strings.Contains(shown, "https://id.example/device\n") || !strings.Contains(shown, "WDJB") || strings.Contains(shown, "\x1b") {
			t.Errorf("%s: shows %q", name, shown)
		}
	}
}

// A session is stored for its server and for the user alone.
func TestStoredSessions(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	check := func(server, want string) {
		t.Helper()
		if got, err := readSession(server); err != nil || got != want {
			t.Errorf("the session at %s is %q, %v", server, got, err)
		}
	}
	check("https://one.example/v1", "")
	for server, credential := range map[string]string{"https://one.example/v1": "a", "https://two.example/v1": "b"} {
		if err := storeSession(server, "old"); err != nil {
			t.Fatal(err)
		}
		if err := storeSession(server, credential); err != nil {
			t.Fatal(err)
		}
	}
	check("https://one.example/v1/", "a")
	check("https://two.example/v1", "b")
	name, err := sessionFile("https://one.example/v1")
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode() != 0o600 {
		t.Errorf("%s is %v, %v", name, info.Mode(), err)
	}
	if err := removeSession("https://one.example/v1"); err != nil {
		t.Error(err)
	}
	check("https://one.example/v1", "")
	check("https://two.example/v1", "b")
}
