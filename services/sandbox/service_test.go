package sandbox_test

import (
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/sandbox"
)

const registryFile = `
extensions:
- clientID: one
  appIDs: [app-one]
  secrets: [{value: cHJvZHVjdGlvbi1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]
  sandbox:
    secrets:
    - {value: b2xkLWtleS1vZi1tb3JlLXRoYW4tMzItYnl0ZXMtMDEyMzQ1Ng==}
    - {value: bmV3LWtleS1vZi1tb3JlLXRoYW4tMzItYnl0ZXMtMDEyMzQ1Ng==, activeFrom: 2026-01-01T00:00:00Z}
    - {value: bmV4dC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=, activeFrom: 2027-01-01T00:00:00Z}
- {clientID: two, appIDs: [app-two], secrets: [{value: dHdvLWtleS1vZi1tb3JlLXRoYW4tMzItYnl0ZXMtMDEyMzQ1Ng==}]}
`

var now = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func newService(t *testing.T) *sandbox.Service {
	t.Helper()
	registry, err := tenant.Parse([]byte(registryFile))
	if err != nil {
		t.Fatal(err)
	}
	return sandbox.NewService(func() *tenant.Registry { return registry }, func() time.Time { return now })
}

// claims verifies a token and returns its payload.
func claims(t *testing.T, token, secret string, at time.Time) jwt.MapClaims {
	t.Helper()
	parsed, err := jwt.Parse(token, func(*jwt.Token) (any, error) { return []byte(secret), nil },
		jwt.WithValidMethods([]string{"HS256"}), jwt.WithExpirationRequired(),
		jwt.WithTimeFunc(func() time.Time { return at }))
	if err != nil {
		t.Fatal(err)
	}
	return parsed.Claims.(jwt.MapClaims)
}

func TestTokenSaysWhatWasAsked(t *testing.T) {
	tokens, err := newService(t).Tokens(sandbox.Request{ExtensionID: "one", ChannelID: "77", UserID: "5", Role: "viewer"})
	if err != nil || len(tokens) != 1 {
		t.Fatalf("%d tokens, error %v", len(tokens), err)
	}
	want := jwt.MapClaims{
		"exp":            float64(now.Add(30 * time.Minute).Unix()),
		"role":           "viewer",
		"channel_id":     "77",
		"opaque_user_id": "U5",
		"user_id":        "5",
		"extension_id":   "one",
		"is_unlinked":    false,
		"pubsub_perms":   map[string]any{"listen": []any{"broadcast", "global", "whisper-U5"}, "send": []any{}},
		"allowed_stage":  "sandbox",
	}
	if diff := cmp.Diff(want, claims(t, tokens[0], "new-key-of-more-than-32-bytes-0123456", now.Add(29*time.Minute))); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
}

// Section 4.6: the viewers that the tokens name, in order.
func TestIdentities(t *testing.T) {
	for name, test := range map[string]struct {
		request sandbox.Request
		want    string
	}{
		"one":                      {sandbox.Request{Role: "viewer", UserID: "5"}, "U5"},
		"several":                  {sandbox.Request{Role: "viewer", UserIDs: []string{"7", "6"}}, "U7 U6"},
		"one and several":          {sandbox.Request{Role: "viewer", UserID: "5", UserIDs: []string{"7", "6"}}, "U5 U7 U6"},
		"duplicates":               {sandbox.Request{Role: "viewer", UserID: "5", UserIDs: []string{"7", "5", "7"}}, "U5 U7"},
		"empty among several":      {sandbox.Request{Role: "viewer", UserIDs: []string{"", "7"}}, "U7"},
		"broadcaster":              {sandbox.Request{Role: "broadcaster", UserID: "5"}, "U77"},
		"broadcaster by default":   {sandbox.Request{Role: "broadcaster"}, "U77"},
		"broadcaster among others": {sandbox.Request{Role: "broadcaster", UserIDs: []string{"7", "77"}}, "U77 U7"},
		"any role":                 {sandbox.Request{Role: "Broadcaster", UserID: "5"}, "U5"},
	} {
		t.Run(name, func(t *testing.T) {
			test.request.ExtensionID, test.request.ChannelID = "one", "77"
			tokens, err := newService(t).Tokens(test.request)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, token := range tokens {
				c := claims(t, token, "new-key-of-more-than-32-bytes-0123456", now)
				got = append(got, c["opaque_user_id"].(string))
				if "U"+c["user_id"].(string) != c["opaque_user_id"] || c["role"] != test.request.Role {
					t.Errorf("claims %v", c)
				}
			}
			if got := strings.Join(got, " "); got != test.want {
				t.Errorf("tokens for %s, want %s", got, test.want)
			}
		})
	}
}

func TestAnonymousIsSomebodyNew(t *testing.T) {
	seen := map[any]bool{}
	for range 20 {
		tokens, err := newService(t).Tokens(sandbox.Request{ExtensionID: "one", ChannelID: "77", Role: "viewer"})
		if err != nil || len(tokens) != 1 {
			t.Fatalf("%d tokens, error %v", len(tokens), err)
		}
		c := claims(t, tokens[0], "new-key-of-more-than-32-bytes-0123456", now)
		opaque := c["opaque_user_id"].(string)
		if _, shared := c["user_id"]; shared || c["is_unlinked"] != true || opaque[0] != 'A' || seen[opaque] {
			t.Errorf("claims %v", c)
		}
		seen[opaque] = true
	}
}

func TestExtensionIsFound(t *testing.T) {
	for _, request := range []sandbox.Request{
		{ExtensionID: "one"}, {AppID: "app-one"}, {AppID: "one"},
		{ExtensionID: "one", AppID: "app-one"}, {ExtensionID: "one", AppID: "one"},
	} {
		request.ChannelID, request.Role = "77", "viewer"
		tokens, err := newService(t).Tokens(request)
		if err != nil {
			t.Errorf("%+v: %v", request, err)
		} else if got := claims(t, tokens[0], "new-key-of-more-than-32-bytes-0123456", now)["extension_id"]; got != "one" {
			t.Errorf("%+v: token of %v", request, got)
		}
	}
}

func TestRefusals(t *testing.T) {
	good := sandbox.Request{ExtensionID: "one", ChannelID: "77", Role: "viewer"}
	for name, test := range map[string]struct {
		spoil  func(*sandbox.Request)
		reason string
	}{
		"no extension":       {func(r *sandbox.Request) { r.ExtensionID = "" }, "extension_id or app_id is required"},
		"unknown extension":  {func(r *sandbox.Request) { r.ExtensionID = "x" }, "No such extension found"},
		"unknown app":        {func(r *sandbox.Request) { r.ExtensionID, r.AppID = "", "x" }, "No such extension found"},
		"one is unknown":     {func(r *sandbox.Request) { r.AppID = "x" }, "No such extension found"},
		"app for extension":  {func(r *sandbox.Request) { r.ExtensionID = "app-one" }, "No such extension found"},
		"two extensions":     {func(r *sandbox.Request) { r.AppID = "app-two" }, "extension_id and app_id are of different extensions"},
		"no channel":         {func(r *sandbox.Request) { r.ChannelID = "" }, "channel_id and role are required"},
		"no role":            {func(r *sandbox.Request) { r.Role = "" }, "channel_id and role are required"},
		"too many":           {func(r *sandbox.Request) { r.UserIDs = make([]string, 1001) }, "Too many user_ids specified"},
		"long channel":       {func(r *sandbox.Request) { r.ChannelID = strings.Repeat("x", 257) }, "An id or the role is longer than 256 bytes"},
		"long role":          {func(r *sandbox.Request) { r.Role = strings.Repeat("x", 257) }, "An id or the role is longer than 256 bytes"},
		"long id":            {func(r *sandbox.Request) { r.UserID = strings.Repeat("x", 257) }, "An id or the role is longer than 256 bytes"},
		"long id of several": {func(r *sandbox.Request) { r.UserIDs = []string{"1", strings.Repeat("x", 257)} }, "An id or the role is longer than 256 bytes"},
		"no sandbox":         {func(r *sandbox.Request) { r.ExtensionID = "two" }, "The extension has no active sandbox secret"},
	} {
		t.Run(name, func(t *testing.T) {
			request := good
			test.spoil(&request)
			tokens, err := newService(t).Tokens(request)
			if tokens != nil || fault.KindOf(err) != fault.Invalid || err.Error() != test.reason {
				t.Errorf("%d tokens, error %v, want %q", len(tokens), err, test.reason)
			}
		})
	}
	if _, err := newService(t).Tokens(good); err != nil {
		t.Errorf("what is to be spoilt is bad already: %v", err)
	}
}
