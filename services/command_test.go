package main

import (
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Each service can run alone. It answers its own routes and no others.
func TestSingleServices(t *testing.T) {
	t.Parallel()
	for service, routes := range map[string]struct{ mine, others string }{
		"voting":       {"/vote", "/rank"},
		"accumulation": {"/accumulate", "/vote"},
		"ranking":      {"/rank", "/user_info"},
		"state":        {"/user_info", "/accumulate"},
		"sandbox":      {"/authtoken", "/vote"},
	} {
		t.Run(service, func(t *testing.T) {
			p := startProgram(t, t.TempDir(), service)
			if service == "sandbox" && !strings.HasSuffix(p.base, "/sandbox/v1") {
				t.Errorf("the sandbox service is at %s", p.base)
			}
			for path, want := range map[string]int{routes.mine: http.StatusUnauthorized, routes.others: http.StatusNotFound} {
				if path == "/authtoken" {
					want = http.StatusMethodNotAllowed
				}
				if status, err := p.do(http.MethodGet, path, "", "", nil); err != nil || status != want {
					t.Errorf("GET %s: status %d, %v, want %d", path, status, err, want)
				}
			}
		})
	}
}

// In the sandbox, too, only the sandbox service issues tokens.
func TestOnlyTheSandboxServiceIssuesTokens(t *testing.T) {
	t.Parallel()
	for service, want := range map[string]int{"ranking": http.StatusNotFound, "sandbox": http.StatusOK} {
		p := startProgram(t, t.TempDir(), service, "--environment", "sandbox")
		status, err := p.do(http.MethodPost, "/authtoken", "", `{"app_id":"sample-app","channel_id":"1","role":"viewer"}`, nil)
		if err != nil || status != want {
			t.Errorf("%s: status %d, %v, want %d", service, status, err, want)
		}
	}
}

// A program that cannot listen leaves no data folder behind.
func TestPortThatIsTaken(t *testing.T) {
	t.Parallel()
	other, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close() //nolint:errcheck // it only occupies the port
	for taken, free := range map[string]string{"--listen": "--admin-listen", "--admin-listen": "--listen"} {
		dir := filepath.Join(t.TempDir(), "data")
		_, problem, status := runCommand(t, nil, "serve", "--data-dir", dir, "--extensions", registryFile(), free, "127.0.0.1:0", taken, other.Addr().String())
		if status != exitFailed || !strings.Contains(problem, "\nError: "+taken) {
			t.Errorf("%s: status %d, %s", taken, status, problem)
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the folder is there: %v", taken, err)
		}
	}
}

func TestToken(t *testing.T) {
	t.Parallel()
	out, problem, status := runCommand(t, nil, "token", "--extensions", registryFile(), "--extension", sampleExtension,
		"--role", "viewer", "--channel", "1", "--user", "42", "--for", "8h")
	if status != 0 {
		t.Fatalf("status %d, %s", status, problem)
	}
	var claims jwt.RegisteredClaims
	_, token, _ := strings.Cut(strings.TrimSpace(out), " ")
	if _, _, err := jwt.NewParser().ParseUnverified(token, &claims); err != nil || time.Until(claims.ExpiresAt.Time).Round(time.Hour) != 8*time.Hour {
		t.Errorf("the token ends at %v, %v", claims.ExpiresAt, err)
	}
	p := startProgram(t, t.TempDir(), "serve")
	status, err := p.do(http.MethodPost, "/vote", strings.TrimSpace(out), `{"value":3}`, nil)
	if err != nil || status != http.StatusOK {
		t.Errorf("a vote with the printed value: status %d, %v", status, err)
	}
}

func TestCommandsThatCannotRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"environment":  {[]string{"voting", "--environment", "moon"}, "moon"},
		"no half-life": {[]string{"serve", "--decay-half-life", "1m"}, "--decay-half-life"},
		"timeout":      {[]string{"serve", "--shutdown-timeout", "-1s"}, "--shutdown-timeout"},
		"delay":        {[]string{"serve", "--drain-delay", "-1s"}, "--drain-delay"},
		"base path":    {[]string{"voting", "--base-path", "v1"}, "--base-path"},
		"registry":     {[]string{"serve", "--extensions", "nowhere.yaml"}, "nowhere.yaml"},
		"extension":    {[]string{"token", "--extensions", registryFile(), "--extension", "x", "--role", "viewer", "--channel", "1"}, `"x"`},
		"short token":  {[]string{"token", "--extensions", registryFile(), "--extension", sampleExtension, "--role", "viewer", "--channel", "1", "--for", "0s"}, "--for is 0s"},
		"long token":   {[]string{"token", "--extensions", registryFile(), "--extension", sampleExtension, "--role", "viewer", "--channel", "1", "--for", "721h"}, "from 1s to 720h"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, problem, status := runCommand(t, nil, c.args...); status != exitFailed || !strings.Contains(problem, c.want) {
				t.Errorf("status %d, %s, want an error about %s", status, problem, c.want)
			}
		})
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	for _, arg := range []string{"version", "--version"} {
		out, _, status := runCommand(t, nil, arg)
		if want := "acclaim (devel) (commit unknown, " + runtime.Version() + ")\n"; status != 0 || out != want {
			t.Errorf("%s: status %d, %q, want %q", arg, status, out, want)
		}
	}
	p := startProgram(t, t.TempDir(), "serve")
	if n := metric(t, p, `acclaim_build_info{commit="unknown",go_version="`+runtime.Version()+`",version="(devel)"}`); n != 1 {
		t.Errorf("acclaim_build_info is %d", n)
	}
}
