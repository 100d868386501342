package page_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/face/page"
)

func get(t *testing.T, console bool, method, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	page.Handler(console).ServeHTTP(w, r)
	return w
}

func TestPages(t *testing.T) {
	for _, test := range []struct {
		console      bool
		method, path string
		status       int
		kind         string
	}{
		{true, "GET", "/live/", 200, "text/html"},
		{true, "HEAD", "/live/", 200, "text/html"},
		{true, "GET", "/live/overlay.js", 200, "text/javascript"},
		{true, "GET", "/live/overlay.css", 200, "text/css"},
		{true, "GET", "/live/console.html", 200, "text/html"},
		{false, "GET", "/live/", 200, "text/html"},
		{false, "GET", "/live/console.html", 404, ""},
		{false, "GET", "/live/console.js", 404, ""},
		{false, "GET", "/live/staff.html", 200, "text/html"},
		{false, "GET", "/live/style.css", 200, "text/css"},
		{false, "GET", "/live/openapi.yaml", 200, "text/plain"},
		{true, "POST", "/live/openapi.yaml", 405, ""},
		{true, "GET", "/live/nothing", 404, ""},
		{true, "GET", "/live/../page.go", 404, ""},
		{true, "POST", "/live/", 405, ""},
	} {
		res := get(t, test.console, test.method, test.path)
		if res.Code != test.status || !strings.HasPrefix(res.Header().Get("Content-Type"), test.kind) {
			t.Errorf("%s %s, console %t: %d %s", test.method, test.path, test.console, res.Code, res.Header().Get("Content-Type"))
		}
		if !strings.Contains(res.Header().Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s may load anything", test.path)
		}
	}
}

// The overlay alone takes styles of the software that shows it.
func TestStylesOfBroadcastSoftware(t *testing.T) {
	for path, want := range map[string]bool{"/live/": true, "/live/staff.html": false, "/live/overlay.js": false} {
		policy := get(t, true, "GET", path).Header().Get("Content-Security-Policy")
		if got := strings.Contains(policy, "'unsafe-inline'"); got != want || strings.Contains(policy, "script-src 'self' 'unsafe-inline'") {
			t.Errorf("%s has the policy %s", path, policy)
		}
	}
}

// The page at "/" links to what the process serves, and to the documentation of its version.
func TestHome(t *testing.T) {
	for _, console := range []bool{true, false} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		w := httptest.NewRecorder()
		page.Home{Console: console, Version: "1.2.3", Documentation: "https://docs.example/1.2.3/"}.Handler().ServeHTTP(w, r)
		text := w.Body.String()
		if !strings.Contains(text, "1.2.3") || !strings.Contains(text, `"https://docs.example/1.2.3/"`) || strings.Contains(text, "console.html") != console {
			t.Errorf("with a console %t: %s", console, text)
		}
		for _, link := range regexp.MustCompile(`href="(/[^"]*)"`).FindAllStringSubmatch(text, -1) {
			if res := get(t, console, http.MethodGet, link[1]); res.Code != http.StatusOK {
				t.Errorf("%s is answered %d", link[1], res.Code)
			}
		}
	}
}

// What a browser has is not sent again.
func TestPagesAreKept(t *testing.T) {
	tag := get(t, true, "GET", "/live/overlay.js").Header().Get("ETag")
	if res := get(t, true, "GET", "/live/overlay.js", "If-None-Match", tag); tag == "" || res.Code != http.StatusNotModified {
		t.Errorf("tag %q is answered %d", tag, res.Code)
	}
}

// The pages are made of what is in the program: nothing they name is elsewhere or
// missing.
func TestPagesNeedNothingElse(t *testing.T) {
	names := []string{"", "console.html", "staff.html", "overlay.js", "staff.js", "console.js", "client.js", "cloud.js", "live.js", "tally.js", "overlay.css", "style.css"}
	for _, name := range names {
		res := get(t, true, "GET", "/live/"+name)
		text := res.Body.Bytes()
		if res.Code != http.StatusOK {
			t.Fatalf("%s: %d", name, res.Code)
		}
		if elsewhere := regexp.MustCompile(`(https?:)?//[a-z0-9-]+\.[a-z]|@import|url\(`).Find(text); elsewhere != nil {
			t.Errorf("%s names %q", name, elsewhere)
		}
		for _, named := range regexp.MustCompile(`(?:src|href|from) ?=? ?"(?:\./)?([a-z]+\.[a-z]+)"`).FindAllSubmatch(text, -1) {
			if res := get(t, true, "GET", "/live/"+string(named[1])); res.Code != http.StatusOK {
				t.Errorf("%s names %s, which is answered %d", name, named[1], res.Code)
			}
		}
	}
}
