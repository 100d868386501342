package httpapi_test

import "testing"

const limitedFile = `
extensions:
- clientID: ext
  secrets: [{value: cHJvZHVjdGlvbi1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]
  limits: {identityRate: {perSecond: 0.001, burst: 2}, extensionRate: {perSecond: 0.001, burst: 3}}
- clientID: other
  secrets: [{value: b3RoZXIta2V5LW9mLW1vcmUtdGhhbi0zMi1ieXRlcy0wMTIzNDU2}]
  limits: {identityRate: {perSecond: 0.001, burst: 2}, extensionRate: {perSecond: 0.001, burst: 3}}
`

func TestRateLimits(t *testing.T) {
	a := newAPI(t)
	a.reload(limitedFile)
	for range 2 {
		a.as(viewer(), "POST", "/vote", `{"value":1}`).is(200)
	}
	got := a.as(viewer(), "POST", "/vote", `{"value":2}`)
	got.refused(429, "Too many requests; nothing was stored")
	if got.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	if vote := a.as(stranger(), "GET", "/vote", "").is(200); vote.field("sum") != "1" {
		t.Errorf("a refused vote was stored: %s", vote.body)
	}
	// The extension has used up its three.
	a.as(broadcaster(), "GET", "/vote", "").is(429)
	other := identity{extension: "other", key: otherKey, role: "viewer", opaque: "U5"}
	for range 2 {
		a.as(other, "GET", "/vote", "").is(200)
	}
	a.as(other, "GET", "/vote", "").is(429)
}

func TestNewRateTakesEffect(t *testing.T) {
	a := newAPI(t)
	a.reload(limitedFile)
	for range 3 {
		a.as(viewer(), "GET", "/vote", "")
	}
	a.as(viewer(), "GET", "/vote", "").is(429)
	a.reload(registryFile)
	a.as(viewer(), "GET", "/vote", "").is(200)
}
