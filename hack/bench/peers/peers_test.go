package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Each peer counts a voter once, the last ballot, and tells requests without a credential apart.
// It runs those that are installed, and all where ACCLAIM_PEERS is set.
func TestPeers(t *testing.T) {
	installed := map[string]bool{"pocketbase": true}
	_, err := exec.LookPath("redis-server")
	installed["redis"] = err == nil
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	installed["postgresql"] = len(found) > 0
	for name, there := range installed {
		t.Run(name, func(t *testing.T) {
			if !there && os.Getenv("ACCLAIM_PEERS") == "" {
				t.Skip("it is not installed")
			}
			testPeer(t, name)
		})
	}
}

func testPeer(t *testing.T, name string) {
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o711); err != nil { // PostgreSQL runs as a user of its own
		t.Fatal(err)
	}
	p, err := openPeer(t.Context(), name, filepath.Join(dir, "data"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.close(); err != nil {
			t.Error(err)
		}
	}()
	send := func(method, route, voter, body string) string {
		t.Helper()
		token := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"exp": time.Now().Add(time.Hour).Unix(), "opaque_user_id": voter})
		signed, err := token.SignedString([]byte(signingKey))
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequestWithContext(t.Context(), method, "/v1/"+route, strings.NewReader(body))
		r.Header.Set("Authorization", extension+" "+signed)
		w := httptest.NewRecorder()
		p.handler.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			t.Fatalf("%s %s: %d %s", method, route, w.Code, w.Body)
		}
		return strings.TrimSpace(w.Body.String())
	}
	var together []string
	for n := range 1_000 {
		together = append(together, fmt.Sprintf(`{"opaque_user_id":"U%d","value":%d}`, n, n%7))
	}
	votes := `{"votes":[` + strings.Join(together, ",") + `]}`
	send(http.MethodPost, "votes?id=p", "", votes)
	send(http.MethodPost, "votes?id=p", "", votes)
	send(http.MethodPost, "votes?id=q", "", votes)
	send(http.MethodPost, "vote?id=p", "U6", `{"value":26}`)
	send(http.MethodPost, "vote?id=p", "late", `{"value":-3}`)
	sum := -3 + 20
	for n := range 1_000 {
		sum += n % 7
	}
	if got, want := send(http.MethodGet, "vote?id=p", "", ""), fmt.Sprintf(`{"count":1001,"sum":%d}`, sum); got != want {
		t.Errorf("statistics are %s, want %s", got, want)
	}
	w := httptest.NewRecorder()
	p.handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/vote?id=p", strings.NewReader(`{"value":1}`)))
	if w.Code != http.StatusUnauthorized {
		t.Errorf("without a credential: %d", w.Code)
	}
}
