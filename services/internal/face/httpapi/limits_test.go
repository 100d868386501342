package httpapi_test

import (
	"strings"
	"testing"
)

const smallLimitsFile = `
extensions:
- clientID: ext
  ownerUserID: "1000"
  secrets: [{value: cHJvZHVjdGlvbi1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]
  limits: {documentBytes: 100, bodyBytes: 200, adminMapBytes: 300, accumulationEntryBytes: 50}
  sandbox:
    secrets: [{value: c2FuZGJveC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]
    limits: {documentBytes: 120}
`

// objectOf returns a JSON object of that many bytes.
func objectOf(size int) string { return `{"a":"` + strings.Repeat("x", size-8) + `"}` }

// The limits that the registry declares hold, to the byte and from its reload on.
func TestDeclaredLimits(t *testing.T) {
	a := newAPI(t)
	a.as(owner(), "POST", "/channel_state", objectOf(150)).is(200)
	a.reload(smallLimitsFile)
	for _, test := range []struct {
		route, body string
		status      int
	}{
		{"POST /channel_state", objectOf(100), 200},
		{"POST /channel_state", objectOf(101), 413},
		{"PATCH /channel_state", `{"b":1}`, 413},
		{"POST /config/channel", objectOf(100), 200},
		{"POST /config/channel", objectOf(101), 413},
		{"POST /channel_state", "{}" + strings.Repeat(" ", 198), 200},
		{"POST /channel_state", "{}" + strings.Repeat(" ", 199), 413},
		{"POST /vote", "{}" + strings.Repeat(" ", 198), 200},
		{"POST /vote", "{}" + strings.Repeat(" ", 199), 413},
		{"POST /accumulate", objectOf(50), 200},
		{"POST /accumulate", objectOf(51), 413},
		{"PATCH /extension_viewer_state", `{"5":{"a":1}}` + strings.Repeat(" ", 287), 200},
		{"PATCH /extension_viewer_state", `{"5":{"a":1}}` + strings.Repeat(" ", 288), 413},
		{"PATCH /extension_viewer_state", `{"5":` + objectOf(101) + `}`, 413},
		{"PATCH /extension_viewer_state", `{"own":1}` + strings.Repeat(" ", 192), 413},
	} {
		method, path, _ := strings.Cut(test.route, " ")
		got := a.as(owner(), method, path, test.body).is(test.status)
		if test.status == 413 && len(got.field("reason")) < 10 {
			t.Errorf("%s: reason is %s", test.route, got.field("reason"))
		}
	}
	box := identity{key: sandboxKey, role: "viewer", opaque: "U5"}.header(t)
	a.send("POST", "/sandbox/v1/viewer_state", objectOf(120), "Authorization", box).is(200)
	a.send("POST", "/sandbox/v1/viewer_state", objectOf(121), "Authorization", box).is(413)
	a.send("POST", "/sandbox/v1/accumulate", objectOf(51), "Authorization", box).is(413)
}

// What was stored under a larger limit can still be read, and made smaller.
func TestDocumentsOverANewLimitStay(t *testing.T) {
	a := newAPI(t)
	a.as(owner(), "POST", "/channel_state", objectOf(150)).is(200)
	a.reload(smallLimitsFile)
	a.as(owner(), "GET", "/channel_state", "").want(200, objectOf(150))
	a.as(owner(), "PATCH", "/channel_state", `{"b":1}`).is(413)
	a.as(owner(), "GET", "/channel_state", "").want(200, objectOf(150))
	a.as(owner(), "PATCH", "/channel_state", `{"a":"short"}`).want(200, "{}")
	a.as(owner(), "GET", "/channel_state", "").want(200, `{"a":"short"}`)
}
