package main

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

func TestProbe(t *testing.T) {
	t.Parallel()
	p := startProgram(t, t.TempDir(), "serve")
	sealed := httptest.NewTLSServer(http.NotFoundHandler())
	defer sealed.Close()
	authority := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: sealed.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args   []string
		status int
	}{
		"ready":        {[]string{p.admin + "/readyz"}, 0},
		"other status": {[]string{p.base + "/vote"}, exitProblems},
		"that status":  {[]string{"--status", "401", p.base + "/vote"}, 0},
		"no listener":  {[]string{"http://127.0.0.1:1/"}, exitProblems},
		"no URL":       {[]string{"::"}, exitFailed},
		"TLS":          {[]string{"--status", "404", "--ca", authority, sealed.URL}, 0},
		"untrusted":    {[]string{"--status", "404", sealed.URL}, exitProblems},
		"no authority": {[]string{"--ca", filepath.Join("..", "go.mod"), sealed.URL}, exitFailed},
		"no file":      {[]string{"--ca", authority + "x", sealed.URL}, exitFailed},
	} {
		t.Run(name, func(t *testing.T) {
			if _, problem, status := runCommand(t, nil, append([]string{"probe"}, c.args...)...); status != c.status {
				t.Errorf("status %d, want %d: %s", status, c.status, problem)
			}
		})
	}
}
