package main

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each service runs alone and answers its own routes and no others.
func TestSingleServices(t *testing.T) {
	for service, routes := range map[string]struct{ mine, others string }{
		votingService:       {"/vote", "/rank"},
		accumulationService: {"/accumulate", "/vote"},
		rankingService:      {"/rank", "/user_info"},
		stateService:        {"/user_info", "/accumulate"},
		sandboxService:      {"/authtoken", "/vote"},
	} {
		t.Run(service, func(t *testing.T) {
			p := startProgram(t, t.TempDir(), service)
			if service == sandboxService && !strings.HasSuffix(p.base, sandboxPath) {
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
	for service, want := range map[string]int{rankingService: http.StatusNotFound, sandboxService: http.StatusOK} {
		p := startProgram(t, t.TempDir(), service, "--environment", "sandbox")
		status, err := p.do(http.MethodPost, "/authtoken", "", `{"app_id":"sample-app","channel_id":"1","role":"viewer"}`, nil)
		if err != nil || status != want {
			t.Errorf("%s: status %d, %v, want %d", service, status, err, want)
		}
	}
}

// Where the program cannot listen it leaves nothing behind.
func TestPortThatIsTaken(t *testing.T) {
	other, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close() //nolint:errcheck // it only has to be there
	for taken, free := range map[string]string{"--listen": "--admin-listen", "--admin-listen": "--listen"} {
		dir := filepath.Join(t.TempDir(), "data")
		command := newCommand()
		command.SetOut(io.Discard)
		command.SetErr(io.Discard)
		command.SetArgs([]string{"serve", "--data-dir", dir, "--extensions", registryFile(), free, "127.0.0.1:0", taken, other.Addr().String()})
		if err := command.ExecuteContext(t.Context()); err == nil || !strings.HasPrefix(err.Error(), taken) {
			t.Errorf("%s: %v", taken, err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the folder is there: %v", taken, err)
		}
	}
}

func TestToken(t *testing.T) {
	var out bytes.Buffer
	command := newCommand()
	command.SetOut(&out)
	command.SetArgs([]string{"token", "--extensions", registryFile(), "--extension", sampleExtension,
		"--role", "viewer", "--channel", "1", "--user", "42"})
	if err := command.Execute(); err != nil {
		t.Fatal(err)
	}
	p := startProgram(t, t.TempDir(), "serve")
	status, err := p.do(http.MethodPost, "/vote", strings.TrimSpace(out.String()), `{"value":3}`, nil)
	if err != nil || status != http.StatusOK {
		t.Errorf("a vote with the printed value: status %d, %v", status, err)
	}
}

func TestCommandsThatCannotRun(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"environment": {[]string{"voting", "--environment", "moon"}, "moon"},
		"half-life":   {[]string{"serve", "--decay-half-life", "0"}, "--decay-half-life"},
		"timeout":     {[]string{"serve", "--shutdown-timeout", "-1s"}, "--shutdown-timeout"},
		"delay":       {[]string{"serve", "--drain-delay", "-1s"}, "--drain-delay"},
		"base path":   {[]string{"voting", "--base-path", "v1"}, "--base-path"},
		"registry":    {[]string{"serve", "--extensions", "nowhere.yaml"}, "nowhere.yaml"},
		"extension":   {[]string{"token", "--extensions", registryFile(), "--extension", "x", "--role", "viewer", "--channel", "1"}, `"x"`},
	} {
		t.Run(name, func(t *testing.T) {
			command := newCommand()
			command.SetOut(&bytes.Buffer{})
			command.SetErr(&bytes.Buffer{})
			command.SetArgs(c.args)
			if err := command.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error about %s", err, c.want)
			}
		})
	}
}
