package main

import (
	"net/http"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/mongotest"
)

// While the database is away the program says that it is not ready and refuses
// what it cannot store. When the database is back so is the program, and all it
// has acknowledged is there.
func TestDatabaseGoesAway(t *testing.T) {
	server := mongotest.NewServer(t)
	p := startProgram(t, t.TempDir(), "serve", "--mongodb-uri", server.Start())
	known := &votes{acknowledged: map[string]bool{}, sent: map[string]bool{}}
	for range 2 {
		wantReady(t, p, http.StatusOK)
		known.try(t, p, "before")
		server.Stop()
		wantReady(t, p, http.StatusServiceUnavailable)
		if f := known.try(t, p, "away"); f == stored {
			t.Error("a vote was acknowledged without a database")
		}
		server.Start()
		wantReady(t, p, http.StatusOK)
		for known.try(t, p, "after") != stored && !t.Failed() {
		}
	}
	known.check(t, p)
}

// try votes once as somebody new and notes what became of it.
func (v *votes) try(t *testing.T, p *process, kind string) fate {
	voter := "U" + kind + string(rune('a'+len(v.sent)%26)) + string(rune('a'+len(v.sent)/26))
	f, _ := send(p, http.MethodPost, "/vote", sign(t, "viewer", voter), `{"value":1}`, nil)
	v.sent[voter] = f != refused
	if f == stored {
		v.acknowledged[voter] = true
	}
	return f
}

// wantReady asks until the program says that it is, or is not, ready.
func wantReady(t *testing.T, p *process, want int) {
	t.Helper()
	for t.Context().Err() == nil {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.admin+"/readyz", nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := res.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if res.StatusCode == want {
			return
		}
	}
}
