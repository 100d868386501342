package tenant_test

import (
	"fmt"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

func TestDefaultOrigins(t *testing.T) {
	registry := parse(t, `
extensions:
- {clientID: One, secrets: [{value: b25lLWtleS1vZi1tb3JlLXRoYW4tMzItYnl0ZXMtMDEyMzQ1Ng==}]}
- {clientID: two, allowedOrigins: ["https://two.example:*", "http://[::1]:8080"], secrets: [{value: dHdvLWtleS1vZi1tb3JlLXRoYW4tMzItYnl0ZXMtMDEyMzQ1Ng==}]}
`)
	one, two := extension(t, registry, "One"), extension(t, registry, "two")
	for origin, want := range map[string]struct{ one, two, any bool }{
		"https://one.ext-twitch.tv":      {true, false, true},
		"http://one.ext-twitch.tv":       {false, false, false},
		"https://one.ext-twitch.tv:8443": {false, false, false},
		"https://two.ext-twitch.tv":      {false, false, false},
		"http://localhost":               {true, false, true},
		"http://localhost:8080":          {true, false, true},
		"https://localhost:3000":         {true, false, true},
		"https://localhost.example":      {false, false, false},
		"http://localhost:":              {false, false, false},
		"http://localhost:80.example":    {false, false, false},
		"http://localhost:80@example":    {false, false, false},
		"http://localhost:65536":         {false, false, false},
		"https://two.example":            {false, true, true},
		"https://two.example:1":          {false, true, true},
		"http://[::1]:8080":              {false, true, true},
		"http://[::1]:8081":              {false, false, false},
		"*":                              {false, false, false},
		"null":                           {false, false, false},
		"":                               {false, false, false},
	} {
		if got := one.AllowsOrigin(tenant.Production, origin); got != want.one {
			t.Errorf("defaults allow %q: %v", origin, got)
		}
		if got := two.AllowsOrigin(tenant.Production, origin); got != want.two {
			t.Errorf("list allows %q: %v", origin, got)
		}
		if got := registry.AllowsOrigin(tenant.Production, origin); got != want.any {
			t.Errorf("registry allows %q: %v", origin, got)
		}
	}
}

func TestAnyOrigin(t *testing.T) {
	registry := parse(t, `extensions: [{clientID: one, allowedOrigins: ["*"], secrets: [{value: b25lLWtleS1vZi1tb3JlLXRoYW4tMzItYnl0ZXMtMDEyMzQ1Ng==}]}]`)
	one := extension(t, registry, "one")
	if !one.AllowsOrigin(tenant.Production, "https://anything.example") || !one.AllowsOrigin(tenant.Production, "null") {
		t.Error("* does not allow every origin")
	}
	if one.AllowsOrigin(tenant.Production, "") {
		t.Error("no origin is allowed")
	}
}

func TestOriginPatterns(t *testing.T) {
	for pattern, want := range map[string]bool{
		"*": true, "https://a": true, "http://a.b:8080": true, "https://a:*": true, "http://[::1]:*": true,
		"": false, "a": false, "a.example": false, "https://": false, "ftp://a": false, "https://A": false,
		"https://a/": false, "https://a:443": false, "http://a:80": false, "https://a:": false, "https://a:1:*": false,
		"https://*.a": false, "https://a?b": false, "https://a#b": false, "https://u@a": false, "https://a b": false, "null": false,
	} {
		text := fmt.Sprintf("extensions: [{clientID: one, allowedOrigins: [%q], secrets: [{value: b25lLWtleS1vZi1tb3JlLXRoYW4tMzItYnl0ZXMtMDEyMzQ1Ng==}]}]", pattern)
		if _, err := tenant.Parse([]byte(text)); (err == nil) != want {
			t.Errorf("pattern %q: %v", pattern, err)
		}
	}
}
