package httpapi_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/face/httpapi"
	"github.com/acclaim-dev/acclaim/services/internal/limit"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
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
	another := identity{role: "viewer", opaque: "U6", user: "6"}
	a.as(another, "POST", "/vote?id=c", `{"value":1}`).is(200)
	a.as(another, "POST", "/vote?id=d", `{"value":1}`).is(200)
	a.as(another, "POST", "/vote?id=e", `{"value":1}`).is(429)

	a.skew.Store(int64(25 * time.Minute))
	a.as(viewer(), "POST", "/vote?id=f", `{"value":1}`).is(429) // of the extension
	a.quotas(3, 0, 0, 0)
	a.as(viewer(), "POST", "/vote?id=f", `{"value":1}`).is(200)
}

// What a validated admin configured, voted in or modified first never counts, nor does what it
// makes.
func TestStaffPollsDoNotCount(t *testing.T) {
	a := newAPI(t)
	a.quotas(1, 1, 0, 0)
	a.as(viewer(), "POST", "/vote?id=mine", `{"value":1}`).is(200)
	for i := range 5 {
		a.as(owner(), "POST", "/vote", `{"value":1}`).is(200)
		a.as(owner(), "POST", fmt.Sprintf("/vote?id=v%d", i), `{"value":1}`).is(200)
		a.as(owner(), "POST", "/vote_config", fmt.Sprintf(`{"id":"c%d","config":{}}`, i)).is(200)
		a.as(owner(), "POST", fmt.Sprintf("/vote_modifier?id=m%d", i), `{"user":"U5","add":1}`).is(200)
		a.as(backend(), "POST", fmt.Sprintf("/accumulate?id=v%d", i), `{}`).is(200)
		for _, id := range []string{"v", "c", "m"} {
			a.as(viewer(), "POST", fmt.Sprintf("/vote?id=%s%d", id, i), `{"value":1}`).is(200)
		}
		a.as(viewer(), "POST", fmt.Sprintf("/accumulate?id=v%d", i), `{}`).is(200)
	}
	a.as(owner(), "DELETE", "/vote?id=v1", "").is(200)
	a.as(viewer(), "POST", "/vote?id=v1", `{"value":1}`).is(200)
	a.as(viewer(), "POST", "/vote?id=another", `{"value":1}`).is(429)
}

// The staff of a channel has ten times the quotas of a viewer, all of it together, for what it writes
// anywhere in the extension. A validated admin and a backend have none.
func TestQuotasOfChannels(t *testing.T) {
	a := newAPI(t)
	a.quotas(1, 0, 0, 0)
	others := identity{role: "broadcaster", opaque: "U78", user: "78", channel: "78"}
	staffed := []identity{broadcaster(), admin()}
	for i := range 12 {
		want := map[bool]int{true: 200, false: 429}[i < 10]
		route, body := "/vote_config", fmt.Sprintf(`{"id":"c%d","config":{}}`, i)
		switch i % 3 {
		case 1:
			route, body = fmt.Sprintf("/accumulate?id=l%d", i), "{}"
		case 2:
			route, body = fmt.Sprintf("/vote_modifier?id=m%d", i), `{"user":"U5","add":1}`
		}
		a.as(staffed[i%2], "POST", route, body).is(want)
	}
	a.as(broadcaster(), "POST", "/vote_config", `{"id":"c0","config":{"disabled":true}}`).is(200) // it is there
	a.as(broadcaster(), "POST", "/vote_config", `{"id":"late","config":{}}`).refused(429, "Too many new polls, buffers and questions; nothing was stored")
	a.as(viewer(), "POST", "/vote?id=v", `{"value":1}`).is(200)
	a.as(others, "POST", "/vote_config", `{"id":"theirs","config":{}}`).is(200)
	for i := range 20 {
		for _, who := range []identity{owner(), backend()} {
			a.as(who, "POST", "/vote_config", fmt.Sprintf(`{"id":"%s%d","config":{}}`, who.role, i)).is(200)
		}
	}
	a.quotas(0, 0, 1_000, 0)
	long := `{"event":"e","data":"` + strings.Repeat("x", 3_000) + `"}`
	for i, want := range []int{200, 200, 200, 200, 429} {
		if got := a.as(broadcaster(), "POST", "/broadcast", long); got.status != want {
			t.Errorf("broadcast %d: %d %s", i, got.status, got.body)
		}
	}
	a.as(broadcaster(), "DELETE", "/vote", "").refused(429, "Too many bytes stored; nothing was stored")
	a.as(backend(), "POST", "/broadcast", long).is(200)
}

// A channel may use what others leave. Beside 64 channels that use all, the first votes of a show
// whose staff has configured a poll count, and so do those of a channel that comes after anonymous
// viewers have used all that they can.
func TestSharesOfChannels(t *testing.T) {
	a := newAPI(t)
	a.quotas(0, 1_300, 0, 0)
	first := func(channel, opaque string, votes int) (counted int) {
		who := identity{role: "viewer", opaque: opaque, channel: channel}
		for i := range votes {
			if a.as(who, "POST", fmt.Sprintf("/vote?id=%s-%d", opaque, i), `{"value":1}`).status == 200 {
				counted++
			}
		}
		return counted
	}
	a.as(identity{role: "broadcaster", opaque: "U1", channel: "show"}, "POST", "/vote_config", `{"id":"p","config":{}}`).is(200)
	total := 0
	for i := range 64 {
		total += first(fmt.Sprint("loud", i), fmt.Sprint("U9", i), 40)
	}
	if got := first("show", "U5", 10); got != 10 {
		t.Errorf("%d of 10 first votes in the show count, after %d of others", got, total)
	}

	a = newAPI(t)
	a.quotas(0, 400, 0, 0)
	drained := 0
	for i := range 100 {
		drained += first("loud", fmt.Sprint("A", i), 5)
	}
	if got := first("quiet", "U5", 50); got != 50 || drained < 300 || drained > 310 {
		t.Errorf("%d of 50 first votes in another channel count, after %d of 400 of anonymous viewers", got, drained)
	}
}

// Fourteen loud viewers of a channel leave the fifteenth its part of /datastream.
func TestSharesOfDatastream(t *testing.T) {
	a := newAPI(t)
	refused := 0
	for i := range 14 * 200 {
		loud := identity{role: "viewer", opaque: fmt.Sprint("Aloud", i%14)}
		if a.as(loud, "POST", "/datastream", `{"throw":1}`).status == 429 {
			refused++
		}
	}
	if refused == 0 {
		t.Error("the loud viewers are never refused")
	}
	for range 10 {
		a.as(viewer(), "POST", "/datastream", `{"throw":1}`).is(200)
	}
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

// Anyone may fill the sandbox of each extension: what all of them take together is bounded, and
// while that is nearly used up each has a share. Production is not affected.
func TestSandboxesShareAQuota(t *testing.T) {
	var production, box *httpapi.API
	a := newAPI(t, func(c *apiSettings) {
		config := *c
		config.Processes = func() int { return 100 } // this one gives 250 of 25,000
		config.Ledger = limit.NewLedger(config.Processes, nil)
		production = config.newAPI()
		config.Environment = tenant.Sandbox
		box = config.newAPI()
	})
	a.handler = httpapi.NewHandler(httpapi.Mount{API: production, Prefixes: []string{"/v1"}}, httpapi.Mount{API: box, Prefixes: []string{"/sandbox/v1"}})
	a.reload(`
extensions:
- clientID: loud
  secrets: [{value: bG91ZC1wcm9kdWN0aW9uLWtleS1vZi1tb3JlLXRoYW4tMzItYnl0ZXM=}]
  limits: {identityStreamsPerHour: 0, extensionStreamsPerDay: 1000000}
  sandbox: {secrets: [{value: bG91ZC1zYW5kYm94LWtleS1vZi1tb3JlLXRoYW4tMzItYnl0ZXM=}]}
- clientID: quiet
  secrets: [{value: cXVpZXQtcHJvZHVjdGlvbi1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVz}]
  limits: {identityStreamsPerHour: 0, extensionStreamsPerDay: 1000000}
  sandbox: {secrets: [{value: cXVpZXQtc2FuZGJveC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVz}]}
`)
	firstVotes := func(extension, path string, key string, votes int) (counted int) {
		who := identity{extension: extension, key: extension + key + "-key-of-more-than-32-bytes", role: "viewer", opaque: "U5"}.header(t)
		for i := range votes {
			got := a.send("POST", fmt.Sprintf("%s/vote?id=p%d", path, i), `{"value":1}`, "Authorization", who)
			switch got.status {
			case 200:
				counted++
			case 429:
				got.refused(429, "Too many new polls, buffers and questions; nothing was stored")
			default:
				t.Fatalf("%d %s", got.status, got.body)
			}
		}
		return counted
	}
	loud := firstVotes("loud", "/sandbox/v1", "-sandbox", 200)
	quiet := firstVotes("quiet", "/sandbox/v1", "-sandbox", 40)
	loud += firstVotes("loud", "/sandbox/v1", "-sandbox", 400) - loud // those that exist count for nothing
	quiet += firstVotes("quiet", "/sandbox/v1", "-sandbox", 100) - quiet
	if loud != 200 || quiet != 50 {
		t.Errorf("the sandbox of one extension took %d, that of the other %d; want 200, above its share, and the last 50 of 250", loud, quiet)
	}
	if got := firstVotes("loud", "/v1", "-production", 300); got != 300 {
		t.Errorf("%d of 300 first votes in production count", got)
	}
}

// Viewers bring so many documents into being, and go on editing those that there are. What
// a validated admin writes never counts.
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
	a.as(owner(), "POST", "/channel_state", `{"a":1}`).is(200)
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
	a.as(owner(), "POST", "/channel_state", `{"a":2}`).is(200)
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
	a := newAPI(t, func(c *apiSettings) { c.Processes = func() int { return 3 } })
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
	a := newAPI(t, func(c *apiSettings) { c.StorageLow = func() bool { return low } })
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
