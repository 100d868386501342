package httpapi_test

import (
	"slices"
	"strings"
	"testing"
)

func TestAllowedOrigins(t *testing.T) {
	a := newAPI(t)
	ext := viewer().header(t)
	other := identity{extension: "other", key: "other", role: "viewer", opaque: "U5"}.header(t)
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
				if exposed := got.header.Get("Access-Control-Expose-Headers"); exposed != "ETag, Retry-After, X-Request-Id" {
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
		"Access-Control-Allow-Headers": {"authorization", "content-type", "if-match"},
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
