package httpapi_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

func TestAllowedOrigins(t *testing.T) {
	a := newAPI(t)
	ext := viewer().header(t)
	other := identity{extension: "other", key: otherKey, role: "viewer", opaque: "U5"}.header(t)
	const (
		own       = "https://ext.ext-twitch.tv"
		local     = "http://localhost:3000"
		localTLS  = "https://localhost"
		panel     = "https://panel.example"
		elsewhere = "https://evil.example"
	)
	for _, test := range []struct {
		name, method, path, credential string
		status                         int
		allowed                        string
	}{
		{"preflight", "OPTIONS", "/v1/vote", "", 204, own + " " + local + " " + localTLS + " " + panel},
		{"preflight of a public route", "OPTIONS", "/sandbox/v1/authtoken", "", 204, own + " " + local + " " + localTLS + " " + panel},
		{"preflight of nothing", "OPTIONS", "/v1/nope", "", 404, own + " " + local + " " + localTLS + " " + panel},
		{"unknown route", "GET", "/v1/nope", ext, 404, own + " " + local + " " + localTLS + " " + panel},
		{"wrong method", "PUT", "/v1/vote", ext, 405, own + " " + local + " " + localTLS + " " + panel},
		{"no credential", "GET", "/v1/vote", "", 401, own + " " + local + " " + localTLS + " " + panel},
		{"bad credential", "GET", "/v1/vote", "ext x", 401, own + " " + local + " " + localTLS + " " + panel},
		{"good", "GET", "/v1/vote", ext, 200, own + " " + local + " " + localTLS},
		{"forbidden", "GET", "/v1/rank", ext, 403, own + " " + local + " " + localTLS},
		{"too large", "POST", "/v1/accumulate", ext, 413, own + " " + local + " " + localTLS},
		{"bad request", "POST", "/v1/vote", ext, 400, own + " " + local + " " + localTLS},
		{"not configured", "GET", "/v1/vote_config", ext, 404, own + " " + local + " " + localTLS},
		{"another list", "GET", "/v1/vote", other, 200, panel},
		{"another list, forbidden", "GET", "/v1/rank", other, 403, panel},
		{"token", "POST", "/sandbox/v1/authtoken", "", 400, own + " " + local + " " + localTLS + " " + panel},
	} {
		t.Run(test.name, func(t *testing.T) {
			body := "x"
			if test.status == 413 {
				body = strings.Repeat("x", 1<<20)
			}
			for _, origin := range []string{own, local, localTLS, panel, elsewhere, "null", "http://localhost.evil.example"} {
				got := a.send(test.method, test.path, body, "Authorization", test.credential, "Origin", origin).is(test.status)
				want := ""
				if slices.Contains(strings.Fields(test.allowed), origin) {
					want = origin
				}
				if allowed := got.header.Get("Access-Control-Allow-Origin"); allowed != want {
					t.Errorf("origin %q: allowed %q", origin, allowed)
				}
				if !slices.Contains(got.header.Values("Vary"), "Origin") {
					t.Errorf("Vary is %q", got.header.Values("Vary"))
				}
				if exposed := got.header.Get("Access-Control-Expose-Headers"); exposed != "ETag, Idempotency-Replayed, Retry-After, X-Ignored-Members, X-Invalid-Member, X-Request-Id" {
					t.Errorf("exposes %q", exposed)
				}
			}
		})
	}
}

func TestPreflight(t *testing.T) {
	a := newAPI(t)
	got := a.send("OPTIONS", "/v1/e/config/channel", "",
		"Origin", "http://localhost:8080",
		"Access-Control-Request-Method", "PATCH",
		"Access-Control-Request-Headers", "authorization,content-type")
	for name, want := range map[string][]string{
		"Access-Control-Allow-Methods": {"GET", "POST", "PATCH", "DELETE"},
		"Access-Control-Allow-Headers": {"authorization", "content-type", "idempotency-key", "if-match", "if-none-match", "last-event-id"},
		"Access-Control-Allow-Origin":  {"http://localhost:8080"},
		"Access-Control-Max-Age":       {"7200"},
	} {
		listed := strings.Split(got.header.Get(name), ", ")
		for _, one := range want {
			if !slices.Contains(listed, one) {
				t.Errorf("%s is %q, want %s in it", name, listed, one)
			}
		}
	}
	if got.is(204).body != "" {
		t.Errorf("body is %q", got.body)
	}
}

// A list of the registry replaces the default, "*" allows any page, and the
// sandbox has what production has unless it says otherwise.
func TestDeclaredOrigins(t *testing.T) {
	a := newAPI(t)
	a.reload(`
extensions:
- clientID: ext
  secrets: [{value: cHJvZHVjdGlvbi1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]
  allowedOrigins: ["https://panel.example", "https://dev.example:*"]
  sandbox: {secrets: [{value: c2FuZGJveC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}], allowedOrigins: ["*"]}
`)
	box := identity{key: sandboxKey, role: "viewer", opaque: "U5"}.header(t)
	for origin, production := range map[string]bool{
		"https://panel.example":       true,
		"https://dev.example":         true,
		"https://dev.example:8443":    true,
		"http://panel.example":        false,
		"https://panel.example:444":   false,
		"https://ext.ext-twitch.tv":   false,
		"http://localhost:3000":       false,
		"https://a.panel.example":     false,
		"https://panel.example.evil":  false,
		"https://dev.example.evil:80": false,
	} {
		for _, got := range []answer{
			a.as(viewer(), "GET", "/vote", "", "Origin", origin).is(200),
			a.send("GET", "/v1/vote", "", "Origin", origin).is(401),
			a.send("OPTIONS", "/v1/vote", "", "Origin", origin).is(204),
		} {
			allowed := got.header.Get("Access-Control-Allow-Origin")
			if (allowed == origin) != production || !production && allowed != "" {
				t.Errorf("%s: %d allows %q to %s", got.name, got.status, allowed, origin)
			}
		}
		if got := a.send("GET", "/sandbox/v1/vote", "", "Authorization", box, "Origin", origin).is(200); got.header.Get("Access-Control-Allow-Origin") != origin {
			t.Errorf("the sandbox does not allow %s", origin)
		}
	}
}

// A page can read the reason of every failure.
func TestFailuresCanBeReadAcrossOrigins(t *testing.T) {
	const origin = "http://localhost:3000"
	for status, err := range map[int]error{
		412: fault.New(fault.Mismatch, "Other."), 429: fault.New(fault.RateLimited, "Slow."),
		500: fault.New(fault.Storage, "Lost."), 503: fault.New(fault.Unavailable, "Later."),
	} {
		a := newAPI(t, broken{err: err}.into)
		got := a.as(viewer(), "GET", "/vote", "", "Origin", origin).is(status)
		if got.header.Get("Access-Control-Allow-Origin") != origin || got.header.Get("Access-Control-Expose-Headers") == "" {
			t.Errorf("%d: headers are %v", status, got.header)
		}
	}
}
