package main

import (
	"net/http"
	"strings"
	"testing"
)

// These tests run in a folder without config/extensions.yaml.

// Without a registry, a program on loopback serves the built-in sample, and token signs for it.
func TestWithoutRegistry(t *testing.T) {
	t.Parallel()
	out, note, status := runCommand(t, nil, "token", "--extension", sampleExtension, "--role", "viewer", "--channel", "1")
	if status != 0 || !strings.Contains(note, "built-in sample") {
		t.Fatalf("status %d, %s", status, note)
	}
	p := startProgram(t, t.TempDir(), "serve", "--extensions", "")
	if status, err := p.do(http.MethodPost, "/vote", strings.TrimSpace(out), `{"value":3}`, nil); err != nil || status != http.StatusOK {
		t.Errorf("a vote with the printed token: status %d, %v", status, err)
	}
}

// The sample's keys are public, so a program that others could reach refuses it.
func TestWithoutRegistryInProduction(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"public listener": {[]string{"serve", "--listen", "0.0.0.0:0"}, "--listen is 0.0.0.0:0"},
		"no sandbox":      {[]string{"serve", "--listen", "127.0.0.1:0", "--sandbox=false"}, "both production and the sandbox"},
		"one service":     {[]string{"voting", "--listen", "127.0.0.1:0"}, "both production and the sandbox"},
		"another's token": {[]string{"token", "--extension", "mine", "--role", "viewer", "--channel", "1"}, `no extension "mine"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, problem, status := runCommand(t, nil, append(test.args, "--extensions", "")...)
			if status != exitFailed || !strings.Contains(problem, test.want) || !strings.Contains(problem, `"acclaim init", or name its file with --extensions`) {
				t.Errorf("status %d, %s", status, problem)
			}
		})
	}
}
