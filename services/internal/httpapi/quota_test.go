package httpapi_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/httpapi"
)

const quotaFile = `
extensions:
- clientID: ext
  ownerUserID: "1000"
  viewersCreateGlobal: %t
  globalPolls: %s
  secrets: [{value: cHJvZHVjdGlvbi1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]
  limits: {identityStreamsPerHour: %d, extensionStreamsPerDay: %d, identityBytesPerDay: %d, identityWhispersPerHour: %d}
  sandbox: {secrets: [{value: c2FuZGJveC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}
`

func (a *api) quotas(identityStreams, extensionStreams, identityBytes, identityWhispers int) {
	a.t.Helper()
	a.reload(fmt.Sprintf(quotaFile, true, "broadcaster", identityStreams, extensionStreams, identityBytes, identityWhispers))
}

// A viewer brings so many polls, buffers and questions into being, and goes on using
// those that there are.
func TestStreamQuota(t *testing.T) {
	a := newAPI(t)
	a.quotas(3, 5, 0, 0)
	a.as(viewer(), "POST", "/vote?id=a", `{"value":1}`).is(200)
	a.as(viewer(), "POST", "/accumulate?id=a", `{}`).is(200)
	a.as(viewer(), "POST", "/rank?id=a", `{"key":"tea"}`).is(200)
	for _, route := range []string{"/vote?id=b", "/accumulate?id=b", "/rank?id=b"} {
		got := a.as(viewer(), "POST", route, `{"value":1,"key":"tea"}`)
		got.refused(429, "Too many new polls, buffers and questions; nothing was stored")
		if seconds, err := strconv.Atoi(got.header.Get("Retry-After")); err != nil || seconds < 1000 || seconds > 1202 {
			t.Errorf("%s: Retry-After is %q, want some 1200 seconds", route, got.header.Get("Retry-After"))
		}
	}
	a.as(viewer(), "GET", "/vote?id=b", "").is(200)
	if n := a.as(owner(), "GET", "/accumulate?id=b", "").is(200).field("data"); n != "[]" {
		t.Errorf("a refused entry was stored: %s", n)
	}
	for _, route := range []string{"/vote?id=a", "/accumulate?id=a", "/rank?id=a"} {
		a.as(viewer(), "POST", route, `{"value":1,"key":"tea"}`).is(200)
	}
	// The extension has two left, which another viewer uses.
	a.as(stranger(), "POST", "/vote?id=c", `{"value":1}`).is(200)
	a.as(stranger(), "POST", "/vote?id=d", `{"value":1}`).is(200)
	a.as(stranger(), "POST", "/vote?id=e", `{"value":1}`).is(429)

	a.skew.Store(int64(25 * time.Minute))
	a.as(viewer(), "POST", "/vote?id=f", `{"value":1}`).is(429) // of the extension
	a.quotas(3, 0, 0, 0)
	a.as(viewer(), "POST", "/vote?id=f", `{"value":1}`).is(200)
}

// What staff configured, voted in or modified first never counts, nor does what staff makes.
func TestStaffPollsDoNotCount(t *testing.T) {
	a := newAPI(t)
	a.quotas(1, 1, 0, 0)
	a.as(viewer(), "POST", "/vote?id=mine", `{"value":1}`).is(200)
	for i := range 5 {
		a.as(broadcaster(), "POST", "/vote", `{"value":1}`).is(200)
		a.as(broadcaster(), "POST", fmt.Sprintf("/vote?id=v%d", i), `{"value":1}`).is(200)
		a.as(broadcaster(), "POST", "/vote_config", fmt.Sprintf(`{"id":"c%d","config":{}}`, i)).is(200)
		a.as(broadcaster(), "POST", fmt.Sprintf("/vote_modifier?id=m%d", i), `{"user":"U5","add":1}`).is(200)
		a.as(backend(), "POST", fmt.Sprintf("/accumulate?id=v%d", i), `{}`).is(200)
		for _, id := range []string{"v", "c", "m"} {
			a.as(viewer(), "POST", fmt.Sprintf("/vote?id=%s%d", id, i), `{"value":1}`).is(200)
		}
		a.as(viewer(), "POST", fmt.Sprintf("/accumulate?id=v%d", i), `{}`).is(200)
	}
	a.as(broadcaster(), "DELETE", "/vote?id=v1", "").is(200)
	a.as(viewer(), "POST", "/vote?id=v1", `{"value":1}`).is(200)
	a.as(viewer(), "POST", "/vote?id=another", `{"value":1}`).is(429)
}

// A vote that the poll would refuse creates nothing and is refused for its own reason.
func TestBadVotesTakeNoQuota(t *testing.T) {
	a := newAPI(t)
	a.quotas(1, 1, 0, 0)
	for range 3 {
		a.as(viewer(), "POST", "/vote?id=a", `{"value":1000}`).refused(400, "Value out of bounds")
		a.as(viewer(), "POST", "/rank?id=a", `{"key":""}`).refused(400, "key must not be empty")
		a.as(viewer(), "POST", "/accumulate?id=a", `[]`).is(400)
	}
	a.as(viewer(), "POST", "/vote?id=a", `{"value":1}`).is(200)
}

// In the sandbox anyone gets a token of any role, so that the quotas are those of all roles.
func TestSandboxQuotasHoldForAllRoles(t *testing.T) {
	a := newAPI(t)
	a.quotas(1, 100, 0, 0)
	box := identity{key: sandboxKey, role: "admin", opaque: "U1000", user: "1000"}.header(t)
	a.send("POST", "/sandbox/v1/vote?id=a", `{"value":1}`, "Authorization", box).is(200)
	a.send("POST", "/sandbox/v1/vote?id=b", `{"value":1}`, "Authorization", box).is(429)
	a.as(viewer(), "POST", "/vote?id=b", `{"value":1}`).is(200)
}

// Viewers bring so many documents into being, and go on editing those that there are. What
// staff writes never counts.
func TestDocumentQuota(t *testing.T) {
	a := newAPI(t)
	limit := func(limits string) {
		file := fmt.Sprintf(quotaFile, true, "broadcaster", 0, 0, 0, 0)
		a.reload(strings.Replace(file, "identityWhispersPerHour: 0", limits, 1))
	}
	limit("extensionDocumentsPerDay: 2")
	a.as(viewer(), "POST", "/viewer_state", `{"a":1}`).is(200)
	a.as(stranger(), "PATCH", "/viewer_state", `{"a":1}`).is(200)
	for _, route := range []string{"/viewer_state", "/extension_viewer_state"} {
		got := a.as(identity{role: "viewer", opaque: "U9", user: "9"}, "POST", route, `{"a":1}`)
		got.refused(429, "Too many new documents; nothing was stored")
		if seconds, err := strconv.Atoi(got.header.Get("Retry-After")); err != nil || seconds < 1 {
			t.Errorf("%s: Retry-After is %q", route, got.header.Get("Retry-After"))
		}
		a.as(identity{role: "viewer", opaque: "U9", user: "9"}, "GET", route, "").want(200, "{}")
	}
	a.as(viewer(), "PATCH", "/viewer_state", `{"a":2}`).is(200)
	a.as(stranger(), "POST", "/viewer_state", `{"a":3}`).is(200)
	a.as(broadcaster(), "POST", "/channel_state", `{"a":1}`).is(200)
	a.as(owner(), "PATCH", "/extension_viewer_state", `{"77":{"a":1},"78":{"a":1}}`).is(200)

	// In the sandbox a map of staff counts, too.
	box := identity{key: sandboxKey, role: "admin", opaque: "U1000", user: "1000"}.header(t)
	a.send("PATCH", "/sandbox/v1/extension_viewer_state", `{"77":{"a":1},"78":{"a":1}}`, "Authorization", box).is(200)
	a.send("PATCH", "/sandbox/v1/extension_viewer_state", `{"77":{"a":2},"78":{"a":2}}`, "Authorization", box).is(200)
	a.send("PATCH", "/sandbox/v1/extension_viewer_state", `{"79":{"a":1}}`, "Authorization", box).is(429)

}

// All viewers together send so many bytes to be stored.
func TestExtensionByteQuota(t *testing.T) {
	a := newAPI(t)
	file := fmt.Sprintf(quotaFile, true, "broadcaster", 0, 0, 0, 0)
	a.reload(strings.Replace(file, "identityWhispersPerHour: 0", "extensionBytesPerDay: 500", 1))
	for i := range 4 {
		someone := identity{role: "viewer", opaque: fmt.Sprintf("U2%d", i)}
		want := 200
		if i == 3 { // three requests have taken 3 * (128 + 100) bytes
			want = 429
		}
		a.as(someone, "POST", "/viewer_state", `{"a":"`+strings.Repeat("x", 92)+`"}`).is(want)
	}
	a.as(viewer(), "POST", "/vote", `{"value":1}`).refused(429, "Too many bytes stored; nothing was stored")
	a.as(broadcaster(), "POST", "/channel_state", `{"a":2}`).is(200)
}

func TestByteQuota(t *testing.T) {
	a := newAPI(t)
	a.quotas(0, 0, 10_000, 0)
	entry := objectOf(1_900)
	for range 5 {
		a.as(viewer(), "POST", "/accumulate", entry).is(200)
	}
	for _, route := range []string{"/accumulate", "/vote", "/rank", "/whisper_self", "/viewer_state"} {
		a.as(viewer(), "POST", route, `{"value":1,"key":"tea","event":"e","data":1}`).refused(429, map[bool]string{
			false: "Too many bytes stored; nothing was stored", true: "Too many whispers; nothing was stored",
		}[route == "/whisper_self"])
	}
	a.as(stranger(), "POST", "/accumulate", entry).is(200)
	for range 10 {
		a.as(broadcaster(), "POST", "/accumulate", entry).is(200)
	}
	a.skew.Store(int64(30 * time.Minute))
	a.as(viewer(), "POST", "/accumulate", entry).is(200)
}

func TestWhisperQuota(t *testing.T) {
	a := newAPI(t)
	a.quotas(0, 0, 0, 2)
	for range 2 {
		a.as(viewer(), "POST", "/whisper_self", `{"event":"default","data":1}`).is(200)
	}
	a.as(viewer(), "POST", "/whisper_self", `{"event":"default","data":1}`).refused(429, "Too many whispers; nothing was stored")
	a.as(stranger(), "POST", "/whisper_self", `{"event":"default","data":1}`).is(200)
	a.as(viewer(), "POST", "/vote", `{"value":1}`).is(200)
}

// Each of several processes gives its share of quotas and rates.
func TestProcessesShareQuotas(t *testing.T) {
	a := newAPI(t, func(c *httpapi.Config) { c.Processes = func() int { return 3 } })
	a.quotas(9, 0, 0, 0)
	for i := range 3 {
		a.as(viewer(), "POST", fmt.Sprintf("/vote?id=p%d", i), `{"value":1}`).is(200)
	}
	a.as(viewer(), "POST", "/vote?id=p3", `{"value":1}`).is(429)

	a.reload(strings.NewReplacer("burst: 2", "burst: 6", "burst: 3", "burst: 9").Replace(limitedFile))
	for range 2 {
		a.as(viewer(), "GET", "/vote", "").is(200)
	}
	a.as(viewer(), "GET", "/vote", "").is(429)
}

func TestViewersMayNotCreateGlobalIDs(t *testing.T) {
	a := newAPI(t)
	a.reload(fmt.Sprintf(quotaFile, false, "broadcaster", 0, 0, 0, 0))
	const reason = "Viewers of this extension create no global ids"
	a.as(viewer(), "POST", "/vote?id=globalx", `{"value":1}`).refused(403, reason)
	a.as(viewer(), "POST", "/rank?id=globalx", `{"key":"tea"}`).refused(403, reason)
	a.as(viewer(), "POST", "/vote?id=x", `{"value":1}`).is(200)
	a.as(viewer(), "POST", "/accumulate?id=globalx", `{}`).is(200)
	a.as(broadcaster(), "POST", "/vote_config", `{"id":"globalx","config":{"global":true}}`).is(200)
	a.as(viewer(), "POST", "/vote?id=globalx", `{"value":1}`).is(200)
}

// globalPolls names the least of the roles that own what belongs to all channels.
func TestOwnersOfGlobalPolls(t *testing.T) {
	for setting, owners := range map[string][]identity{
		"broadcaster": {broadcaster(), admin(), owner(), backend()},
		"admin":       {owner(), backend()},
		"backend":     {backend()},
	} {
		a := newAPI(t)
		a.reload(fmt.Sprintf(quotaFile, true, setting, 0, 0, 0, 0))
		for _, caller := range []identity{broadcaster(), admin(), owner(), backend()} {
			want := 403
			for _, o := range owners {
				if o == caller {
					want = 200
				}
			}
			for _, id := range []string{"global", "globalfinal"} {
				a.as(caller, "POST", "/vote_config", `{"id":"`+id+`","config":{"global":true}}`).is(want)
				a.as(caller, "POST", "/vote_modifier?id="+id, `{"user":"U42","add":1}`).is(want)
				a.as(caller, "DELETE", "/vote?id="+id, "").is(want)
				a.as(caller, "DELETE", "/rank?id="+id, "").is(want)
				a.as(caller, "POST", "/rank_config?id="+id, "{}").is(want)
				a.as(caller, "POST", "/rank_moderation?id="+id, `{"action":"show","key":"x"}`).is(want)
				a.as(caller, "POST", "/vote?id="+id, `{"value":1}`).is(200)
				a.as(caller, "GET", "/vote?id="+id, "").is(200)
			}
			a.as(caller, "POST", "/vote_config", `{"id":"own","config":{}}`).is(200)
			a.as(caller, "DELETE", "/vote?id=own", "").is(200)
			a.as(caller, "DELETE", "/rank?id=own", "").is(200)
		}
	}
}

// Below the low-water mark of the disk viewers' writes wait, and staff's go on.
func TestLowStorage(t *testing.T) {
	low := false
	a := newAPI(t, func(c *httpapi.Config) { c.StorageLow = func() bool { return low } })
	a.as(viewer(), "POST", "/vote", `{"value":1}`).is(200)
	low = true
	for _, route := range []string{"POST /vote", "POST /accumulate", "POST /rank", "POST /whisper_self", "POST /viewer_state", "PATCH /viewer_state"} {
		method, path, _ := strings.Cut(route, " ")
		got := a.as(viewer(), method, path, `{"value":1,"key":"tea","event":"e","data":1}`)
		got.refused(503, "The service cannot take this request now; nothing was stored")
		if got.header.Get("Retry-After") == "" {
			t.Errorf("%s: no Retry-After", route)
		}
		a.as(owner(), method, path, `{"value":1,"key":"tea","event":"e","data":1}`).is(200)
	}
	a.as(viewer(), "GET", "/vote", "").is(200)
	low = false
	a.as(viewer(), "POST", "/vote", `{"value":1}`).is(200)
}
