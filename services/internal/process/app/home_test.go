package app

import (
	"net/http"
	"strings"
	"testing"
)

// A browser gets a page at "/", a client of the API its usual answer.
func TestHome(t *testing.T) {
	p := openProcess(t, Config{Mounts: BothMounts()})
	for _, test := range []struct {
		method, accept string
		status         int
		kind           string
	}{
		{http.MethodGet, "text/html,application/xhtml+xml,*/*;q=0.8", 200, "text/html"},
		{http.MethodHead, "text/html", 200, "text/html"},
		{http.MethodGet, "*/*", 404, "application/json"},
		{http.MethodGet, "", 404, "application/json"},
		{http.MethodPost, "text/html", 404, "application/json"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), test.method, "http://"+p.PublicAddress().String()+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", test.accept)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != test.status || !strings.HasPrefix(res.Header.Get("Content-Type"), test.kind) {
			t.Errorf("%s with Accept %q: %d %v", test.method, test.accept, res.StatusCode, res.Header)
		}
	}
}
