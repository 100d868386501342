package tenant_test

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/internal/limit"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// keyPadding is the end of the keys in these tests.
const keyPadding = "-key-of-more-than-32-bytes-0123456"

func parse(t *testing.T, text string) *tenant.Registry {
	t.Helper()
	registry, err := tenant.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return registry
}

func extension(t *testing.T, registry *tenant.Registry, clientID string) *tenant.Extension {
	t.Helper()
	found, ok := registry.ByClientID(clientID)
	if !ok {
		t.Fatalf("no extension %q", clientID)
	}
	return found
}

// The built-in sample is the one that config/extensions.yaml explains.
func TestBuiltInSample(t *testing.T) {
	data, err := os.ReadFile("../../../config/extensions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	directory, err := tenant.OpenSample()
	if err != nil {
		t.Fatal(err)
	}
	all := cmp.Exporter(func(reflect.Type) bool { return true })
	if diff := cmp.Diff(parse(t, string(data)), directory.Registry(), all); diff != "" {
		t.Errorf("the built-in sample (-file +built-in):\n%s", diff)
	}
}

func TestSampleRegistry(t *testing.T) {
	data, err := os.ReadFile("../../../config/extensions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	sample := extension(t, parse(t, string(data)), "sample-extension")

	if !sample.IsAdmin("1000") || !sample.IsAdmin("1001") || sample.IsAdmin("1002") || sample.IsAdmin("") {
		t.Error("the owner and the listed admin are admins, and nobody else")
	}
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	for environment, want := range map[tenant.Environment]string{
		tenant.Production: "sample-secret-that-everyone-knows",
		tenant.Sandbox:    "sample-sandbox-secret-that-everyone-knows",
	} {
		secret, ok := sample.SigningSecret(environment, now)
		if !ok || string(secret.Value) != want {
			t.Errorf("%s: signing secret is %q, want %q", environment, secret.Value, want)
		}
	}
	before := time.Date(2025, 12, 31, 0, 0, 0, 0, time.UTC)
	if _, ok := sample.SigningSecret(tenant.Production, before); ok {
		t.Error("a secret signs before it is active")
	}
}

func TestLookups(t *testing.T) {
	registry := parse(t, `
extensions:
- {clientID: one, appIDs: [app-one, one], secrets: [{value: b25lLWtleS1vZi1tb3JlLXRoYW4tMzItYnl0ZXMtMDEyMzQ1Ng==}]}
- {clientID: two, appIDs: [app-two], secrets: [{value: dHdvLWtleS1vZi1tb3JlLXRoYW4tMzItYnl0ZXMtMDEyMzQ1Ng==}]}
`)
	for id, want := range map[string]string{"app-one": "one", "one": "one", "app-two": "two", "two": "two", "three": "", "": ""} {
		got := ""
		if found, ok := registry.Resolve(id); ok {
			got = found.ClientID
		}
		if got != want {
			t.Errorf("Resolve(%q) = %q, want %q", id, got, want)
		}
	}
	if _, ok := registry.ByAppID("two"); ok {
		t.Error("a client id is not an app id")
	}
}

func TestSecretsRotate(t *testing.T) {
	registry := parse(t, `
extensions:
- clientID: one
  secrets:
  - {value: YWx3YXlzLWtleS1vZi1tb3JlLXRoYW4tMzItYnl0ZXMtMDEyMzQ1Ng==}
  - {value: bGF0ZXIta2V5LW9mLW1vcmUtdGhhbi0zMi1ieXRlcy0wMTIzNDU2, activeFrom: 2026-03-01T00:00:00+01:00}
  - {value: Zmlyc3Qta2V5LW9mLW1vcmUtdGhhbi0zMi1ieXRlcy0wMTIzNDU2, activeFrom: 2026-02-01T00:00:00Z}
  - {value: c2Vjb25kLWtleS1vZi1tb3JlLXRoYW4tMzItYnl0ZXMtMDEyMzQ1Ng==, activeFrom: 2026-02-01T00:00:00Z}
`)
	one := extension(t, registry, "one")
	for at, want := range map[string][]string{
		"2026-01-01T00:00:00Z": {"always"},
		"2026-02-01T00:00:00Z": {"first", "second", "always"},
		"2026-02-28T23:00:00Z": {"later", "first", "second", "always"},
	} {
		now, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, secret := range one.ActiveSecrets(tenant.Production, now) {
			got = append(got, strings.TrimSuffix(string(secret.Value), keyPadding))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("active at %s (-want +got):\n%s", at, diff)
		}
		if got := one.ActiveSecrets(tenant.Sandbox, now); len(got) != 0 {
			t.Errorf("the sandbox has %d secrets of production", len(got))
		}
	}
}

func TestSandboxOverridesProduction(t *testing.T) {
	registry := parse(t, `
extensions:
- clientID: one
  allowedOrigins: ["https://one.example"]
  limits: {documentBytes: 1000, tokenHours: 240, identityStreamsPerHour: 5, extensionRate: {perSecond: 2.5}, identityRate: {perSecond: 1, burst: 7}}
  secrets: [{value: b25lLWtleS1vZi1tb3JlLXRoYW4tMzItYnl0ZXMtMDEyMzQ1Ng==}]
  sandbox:
    limits: {bodyBytes: 2000, identityBytesPerDay: 0, identityWhispersPerHour: 7, extensionRate: {perSecond: 0}, messageRate: {perSecond: 1, burst: 2}}
- clientID: two
  secrets: [{value: dHdvLWtleS1vZi1tb3JlLXRoYW4tMzItYnl0ZXMtMDEyMzQ1Ng==}]
  sandbox: {allowedOrigins: ["https://sandbox.example"]}
`)
	one, two := extension(t, registry, "one"), extension(t, registry, "two")
	production := tenant.Limits{
		IdentityRate:           limit.Rate{PerSecond: 1, Burst: 7},
		ExtensionRate:          limit.Rate{PerSecond: 2.5, Burst: 3},
		TokenLife:              240 * time.Hour,
		DocumentBytes:          1000,
		BodyBytes:              256 << 10,
		AdminMapBytes:          4 << 20,
		AccumulationEntryBytes: 64 << 10,
		MessageRate:            limit.Rate{PerSecond: 10, Burst: 100},
		IdentityStreams:        limit.Per(5, time.Hour),
		ExtensionStreams:       limit.Per(100_000, 24*time.Hour),
		IdentityBytes:          limit.Per(64<<20, 24*time.Hour),
		ExtensionBytes:         limit.Per(64<<30, 24*time.Hour),
		ExtensionDocuments:     limit.Per(1_000_000, 24*time.Hour),
		IdentityWhispers:       limit.Per(1_000, time.Hour),
	}
	sandbox := production
	sandbox.BodyBytes = 2000
	sandbox.IdentityBytes, sandbox.IdentityWhispers = limit.Rate{}, limit.Per(7, time.Hour)
	sandbox.MessageRate = limit.Rate{PerSecond: 1, Burst: 2}
	sandbox.ExtensionRate = limit.Rate{Burst: 1}
	if diff := cmp.Diff(production, one.Limits(tenant.Production)); diff != "" {
		t.Errorf("production limits (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(sandbox, one.Limits(tenant.Sandbox)); diff != "" {
		t.Errorf("sandbox limits (-want +got):\n%s", diff)
	}
	if one.Limits(tenant.Sandbox).ExtensionRate.Limited() {
		t.Error("a rate of 0 limits")
	}
	if !one.AllowsOrigin(tenant.Sandbox, "https://one.example") {
		t.Error("the sandbox does not have production's origins")
	}
	if two.AllowsOrigin(tenant.Production, "https://sandbox.example") || !two.AllowsOrigin(tenant.Sandbox, "https://sandbox.example") {
		t.Error("an origin of the sandbox is one of the sandbox alone")
	}
}

func TestParseRefuses(t *testing.T) {
	const good = `{clientID: first, appIDs: [app], secrets: [{value: Zmlyc3Qta2V5LW9mLW1vcmUtdGhhbi0zMi1ieXRlcy0wMTIzNDU2}]}`
	for name, test := range map[string]struct{ entry, want string }{
		"unknown field":             {`{clientID: x, secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}], colour: red}`, `extensions[1] "x": unknown field "colour"`},
		"unknown nested field":      {`{clientID: x, secrets: [{valu: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}`, `extensions[1] "x": unknown field "valu"`},
		"wrong type":                {`{clientID: x, ownerUserID: 1000}`, `extensions[1] "x": ownerUserID: is of type number, should be string`},
		"wrong nested type":         {`{clientID: x, secrets: [{value: 12}]}`, `extensions[1] "x": secrets.value: is of type number, should be string`},
		"no client id":              {`{secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}`, `extensions[1]: clientID: must be 1 to 128`},
		"null":                      {`null`, "extensions[1]: clientID: must be 1 to 128 letters, digits, dots, hyphens or underscores\nextensions[1]: secrets: is empty"},
		"bad client id":             {`{clientID: "a b", secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}`, `extensions[1] "a b": clientID: must be 1 to 128`},
		"duplicate client id":       {`{clientID: first, secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}`, `extensions[1] "first": clientID: "first" is already an id of extension "first"`},
		"duplicate app id":          {`{clientID: x, appIDs: [a, app], secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}`, `extensions[1] "x": appIDs[1]: "app" is already an id of extension "first"`},
		"repeated app id":           {`{clientID: x, appIDs: [a, a], secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}`, `extensions[1] "x": appIDs[1]: "a" is already an id of extension "x"`},
		"app id is client id":       {`{clientID: x, appIDs: [first], secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}`, `extensions[1] "x": appIDs[0]: "first" is already an id of extension "first"`},
		"client id is app id":       {`{clientID: app, secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}`, `extensions[1] "app": clientID: "app" is already an id of extension "first"`},
		"empty admin":               {`{clientID: x, adminUserIDs: [""], secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}`, `extensions[1] "x": adminUserIDs[0]: is empty`},
		"sign-in without an issuer": {`{clientID: x, signIn: {clientID: a, redirectURL: https://x.example/cb}, secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}`, `extensions[1] "x": signIn.issuer: is "", should be an address`},
		"sign-in without a client":  {`{clientID: x, signIn: {issuer: https://id.example, redirectURL: https://x.example/cb}, secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}`, `extensions[1] "x": signIn.clientID: is empty`},
		"viewers' false redirect":   {`{clientID: x, viewerIssuers: [{issuer: https://id.example, audience: a, channels: ["1"], redirectURL: "javascript:x"}], secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}`, `extensions[1] "x": viewerIssuers[0].redirectURL: is "javascript:x", should be an address`},
		"viewers' secret alone":     {`{clientID: x, viewerIssuers: [{issuer: https://id.example, audience: a, channels: ["1"], clientSecret: s}], secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}`, `extensions[1] "x": viewerIssuers[0].clientSecret: needs redirectURL`},
		"client of a wrong type":    {`{clientID: x, signIn: {clientID: 5}}`, `extensions[1] "x": signIn.clientID: is of type number, should be string`},
		"audience of a wrong type":  {`{clientID: x, viewerIssuers: [{audience: 5}]}`, `extensions[1] "x": viewerIssuers.audience: is of type number, should be string`},
		"staff without a claim":     {`{clientID: x, signIn: {issuer: https://id.example, clientID: a, redirectURL: https://x.example/cb, staff: [{value: x, channel: c, role: broadcaster}]}, secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}`, `extensions[1] "x": signIn.staff[0]: claim is empty`},
		"staff without a channel":   {`{clientID: x, signIn: {issuer: https://id.example, clientID: a, redirectURL: https://x.example/cb, staff: [{claim: sub, value: x, role: broadcaster}]}, secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}`, `extensions[1] "x": signIn.staff[0]: needs either channel or channelClaim`},
		"staff that is everyone":    {`{clientID: x, signIn: {issuer: https://id.example, clientID: a, redirectURL: https://x.example/cb, staff: [{claim: sub, channel: c, role: broadcaster}]}, secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}`, `extensions[1] "x": signIn.staff[0]: without a value everyone would be staff of the channel`},
		"staff without scopes":      {`{clientID: x, signIn: {issuer: https://id.example, clientID: a, redirectURL: https://x.example/cb, staff: [{claim: sub, value: x, channel: c, role: moderator}]}, secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}`, `extensions[1] "x": signIn.staff[0]: role should be`},
		"moderators":                {`{clientID: x, moderators: admins, secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}`, `extensions[1] "x": moderators: is "admins", should be "viewers" or "staff"`},
		"external role":             {`{clientID: x, externalRole: admin, secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}`, `extensions[1] "x": externalRole: is "admin"`},
		"no secret":                 {`{clientID: x}`, `extensions[1] "x": secrets: is empty`},
		"empty secret":              {`{clientID: x, secrets: [{value: ""}]}`, `extensions[1] "x": secrets[0]: is empty`},
		"not base64":                {`{clientID: x, sandbox: {secrets: [{value: "***"}]}}`, `extensions[1] "x": sandbox.secrets[0]: is not base64`},
		"external at a pub/sub":     {`{clientID: x, ownerUserID: "1", externalRole: backend, secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}], sandbox: {sinks: [{name: a, pubsub: {}}, {name: b, pubsub: {url: "https://a"}}]}}`, `extensions[1] "x": sandbox.sinks[1].pubsub.url: must be the platform's while externalRole is "backend"`},
		"weak secret":               {`{clientID: x, secrets: [{value: MTIzNDU2Nzg5MDEyMzQ1}]}`, `extensions[1] "x": secrets[0]: is weak: it has less than 16 bytes`},
		"weak webhook's secret":     {`{clientID: x, secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}], sinks: [{name: a, webhook: {url: "https://a", secrets: [{value: whsec_MTIzNDU2Nzg5MDEyMzQ1}]}}]}`, `extensions[1] "x": sinks[0].webhook.secrets[0]: is weak`},
		"others' production key":    {`{clientID: x, secrets: [{value: Zmlyc3Qta2V5LW9mLW1vcmUtdGhhbi0zMi1ieXRlcy0wMTIzNDU2}]}`, `extensions[1] "x": secrets[0]: is also a production secret of "first"`},
		"not padded":                {`{clientID: x, secrets: [{value: eA}]}`, `extensions[1] "x": secrets[0]: is not base64`},
		"bad activation":            {`{clientID: x, secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=, activeFrom: tomorrow}]}`, `extensions[1] "x": secrets[0]: activeFrom is not an RFC 3339 time`},
		"own shared secret":         {`{clientID: x, secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}], sandbox: {secrets: [{value: eS1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}, {value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}}`, `extensions[1] "x": sandbox.secrets[1]: is also a production secret of "x"`},
		"others' secret":            {`{clientID: x, sandbox: {secrets: [{value: Zmlyc3Qta2V5LW9mLW1vcmUtdGhhbi0zMi1ieXRlcy0wMTIzNDU2}]}}`, `extensions[1] "x": sandbox.secrets[0]: is also a production secret of "first"`},
		"bad origin":                {`{clientID: x, secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}], sandbox: {allowedOrigins: ["*", "https://a/b"]}}`, `extensions[1] "x": sandbox.allowedOrigins[1]: is not an origin`},
		"no token life":             {`{clientID: x, secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}], limits: {tokenHours: 0}}`, `extensions[1] "x": limits.tokenHours: must be between 1 and 87600`},
		"no document":               {`{clientID: x, secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}], limits: {documentBytes: 0}}`, `extensions[1] "x": limits.documentBytes: must be between 1 and 1048576`},
		"huge body":                 {`{clientID: x, secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}], sandbox: {limits: {bodyBytes: 999999999}}}`, `extensions[1] "x": sandbox.limits.bodyBytes: must be between 1 and 67108864`},
		"negative rate":             {`{clientID: x, secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}], limits: {identityRate: {perSecond: -1}}}`, `extensions[1] "x": limits.identityRate: perSecond must not be negative`},
		"retention no duration":     {`{clientID: x, secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}], retention: {logs: a month}}`, `extensions[1] "x": retention.logs: must be a duration from 1h to 87600h, such as "720h", or "0" to keep everything`},
		"retention too short":       {`{clientID: x, secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}], sandbox: {retention: {buffers: 59m}}}`, `extensions[1] "x": sandbox.retention.buffers: must be a duration from 1h to 87600h`},
		"retention too long":        {`{clientID: x, secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}], retention: {snapshots: 87600h1s}}`, `extensions[1] "x": retention.snapshots: must be a duration from 1h to 87600h`},
		"retention negative":        {`{clientID: x, secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}], retention: {rankings: -2h}}`, `extensions[1] "x": retention.rankings: must be`},
		"retention a number":        {`{clientID: x, secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}], retention: {snapshots: 3600}}`, `extensions[1] "x": retention.snapshots: is of type number, should be string`},
		"retention unknown":         {`{clientID: x, secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}], retention: {votes: 1h}}`, `extensions[1] "x": unknown field "votes"`},
		"no burst":                  {`{clientID: x, secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}], limits: {extensionRate: {perSecond: 1, burst: 0}}}`, `extensions[1] "x": limits.extensionRate: burst must be at least 1`},
		"sink's name":               {`{clientID: x, secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}], sinks: [{name: A, webhook: {url: "https://a", secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}}]}`, `extensions[1] "x": sinks[0].name: must be 1 to 63`},
		"sink's name twice":         {`{clientID: x, secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}], ownerUserID: "1", sinks: [{name: a, pubsub: {}}, {name: a, pubsub: {}}]}`, `extensions[1] "x": sinks[1].name: is that of another sink, too`},
		"sink of no kind":           {`{clientID: x, secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}], sinks: [{name: a}]}`, `extensions[1] "x": sinks[0]: must have either webhook or pubsub`},
		"sink of both kinds":        {`{clientID: x, secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}], ownerUserID: "1", sinks: [{name: a, pubsub: {}, webhook: {url: "https://a"}}]}`, `extensions[1] "x": sinks[0]: must have either webhook or pubsub`},
		"sink's URL":                {`{clientID: x, secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}], sinks: [{name: a, webhook: {url: "ftp://a", secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}}]}`, `extensions[1] "x": sinks[0].webhook.url: must be an http or https URL`},
		"sink's password":           {`{clientID: x, secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}], sinks: [{name: a, webhook: {url: "https://a:b@c", secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}}]}`, `extensions[1] "x": sinks[0].webhook.url: must not hold a user or a password`},
		"sink's fragment":           {`{clientID: x, secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}], sandbox: {sinks: [{name: a, webhook: {url: "https://a#b", secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}}]}}`, `extensions[1] "x": sandbox.sinks[0].webhook.url: must not have a fragment`},
		"webhook's secrets":         {`{clientID: x, secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}], sinks: [{name: a, webhook: {url: "https://a"}}]}`, `extensions[1] "x": sinks[0].webhook.secrets: is empty`},
		"webhook's secret":          {`{clientID: x, secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}], sinks: [{name: a, webhook: {url: "https://a", secrets: [{value: "!"}]}}]}`, `extensions[1] "x": sinks[0].webhook.secrets[0]: is not base64`},
		"pub/sub without owner":     {`{clientID: x, secrets: [{value: eC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}], sinks: [{name: a, pubsub: {}}]}`, `extensions[1] "x": sinks[0].pubsub: needs the extension's ownerUserID`},
	} {
		t.Run(name, func(t *testing.T) {
			registry, err := tenant.Parse(fmt.Appendf(nil, "extensions:\n- %s\n- %s\n", good, test.entry))
			if registry != nil || err == nil {
				t.Fatal("accepted")
			}
			if rest, ok := strings.CutPrefix(err.Error(), test.want); !ok || strings.Contains(rest, "\n") {
				t.Errorf("error is\n%v\nwant just one that begins with\n%s", err, test.want)
			}
		})
	}
}

func TestParseRefusesWholeFile(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"empty":         {"", "extensions: is missing"},
		"unknown field": {"extension: []", `unknown field "extension"`},
		"not an object": {"text", "is of type string"},
		"not a list":    {"extensions: {}", "extensions: is of type object"},
		"not YAML":      {"extensions: [", "yaml:"},
		"repeated key":  {"extensions: []\nextensions: []", `key "extensions" already set`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tenant.Parse([]byte(test.text))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error is %v, want one with %q", err, test.want)
			}
		})
	}
	parse(t, "extensions: []")
}

func TestParseReportsAllProblemsAndNoSecret(t *testing.T) {
	_, err := tenant.Parse([]byte(`
extensions:
- {clientID: one, externalRole: king, secrets: [{value: c2hhcmVkLXNlY3JldC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}, {value: hush-hush}]}
- {clientID: two, sandbox: {secrets: [{value: c2hhcmVkLXNlY3JldC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}}
- {clientID: one, secrets: [{value: "!", activeFrom: hush-hush}]}
`))
	want := []string{
		`extensions[0] "one": externalRole: is "king", should be empty or "backend"`,
		`extensions[0] "one": secrets[1]: is not base64`,
		`extensions[2] "one": clientID: "one" is already an id of extension "one"`,
		`extensions[2] "one": secrets[0]: is not base64`,
		`extensions[1] "two": sandbox.secrets[0]: is also a production secret of "one"`,
	}
	if err == nil {
		t.Fatal("accepted")
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestExtensionPrintsNoSecret(t *testing.T) {
	one := extension(t, parse(t, `extensions: [{clientID: one, secrets: [{value: aHVzaC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}]`), "one")
	secret, _ := one.SigningSecret(tenant.Production, time.Now())
	text := fmt.Sprintf("%v %+v %s %v", one, one, one, secret)
	if strings.Contains(text, "hush") || strings.Contains(text, fmt.Sprint([]byte("hush"))) {
		t.Errorf("prints its secret: %s", text)
	}
}

// What is left out keeps everything; the sandbox has what production has, unless it
// says otherwise.
func TestParseRetention(t *testing.T) {
	none := extension(t, parse(t, `extensions: [{clientID: one, secrets: [{value: aC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}]`), "one")
	if got := none.Retention(tenant.Production); got != (tenant.Retention{}) {
		t.Errorf("without a word it is %+v", got)
	}
	some := extension(t, parse(t, `
extensions:
- clientID: one
  secrets: [{value: aC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]
  retention: {logs: 720h, buffers: 90m, rankings: 87600h, snapshots: 1h}
  sandbox: {retention: {logs: "0", rankings: 24h}}
`), "one")
	want := tenant.Retention{Logs: 720 * time.Hour, Buffers: 90 * time.Minute, Rankings: 87600 * time.Hour, Snapshots: time.Hour}
	if diff := cmp.Diff(want, some.Retention(tenant.Production)); diff != "" {
		t.Errorf("production (-want +got):\n%s", diff)
	}
	want.Logs, want.Rankings = 0, 24*time.Hour
	if diff := cmp.Diff(want, some.Retention(tenant.Sandbox)); diff != "" {
		t.Errorf("sandbox (-want +got):\n%s", diff)
	}
}

// Keys that are used and should be replaced are found by their place.
func TestKeysToReplace(t *testing.T) {
	registry := parse(t, `
extensions:
- {clientID: one, secrets: [{value: MTIzNDU2Nzg5MDEyMzQ1Ng==}, {value: MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI=}, {value: MTIzNDU2Nzg5MDEyMzQ1Ng==}]}
- {clientID: two, sandbox: {secrets: [{value: MTIzNDU2Nzg5MDEyMzQ1Njc4OQ==}, {value: c2FtcGxlLXNhbmRib3gtc2VjcmV0}]}}
`)
	if diff := cmp.Diff([]string{"one: secrets[0]", "one: secrets[2]", "two: sandbox.secrets[0]"}, registry.ShortKeys()); diff != "" {
		t.Errorf("short keys (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"two: sandbox.secrets[1]"}, registry.SampleKeys()); diff != "" {
		t.Errorf("sample keys (-want +got):\n%s", diff)
	}
}
