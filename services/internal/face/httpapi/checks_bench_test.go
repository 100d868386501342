package httpapi

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/acclaim-dev/acclaim/services/internal/quota"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// BenchmarkChecks measures each check on the way of a request by itself; the table in
// services/docs/before-you-face-the-public.md has the figures.
func BenchmarkChecks(b *testing.B) {
	c := newCheckBench(b)
	for _, check := range []struct {
		name string
		run  func(b *testing.B)
	}{
		{"requests/direct", func(b *testing.B) { c.takeRequest(b, "192.0.2.1:5000") }},
		{"requests/proxied", func(b *testing.B) { c.takeRequest(b, c.request.RemoteAddr) }},
		{"credential/known", func(b *testing.B) { c.verify(b, c.verifier) }},
		{"credential/new", c.verifyNew},
		{"rates", c.admit},
		{"body/100", func(b *testing.B) { c.readBody(b, 100) }},
		{"body/64Ki", func(b *testing.B) { c.readBody(b, 64<<10) }},
		{"json/100", func(b *testing.B) { c.checkJSON(b, 100) }},
		{"json/64Ki", func(b *testing.B) { c.checkJSON(b, 64<<10) }},
		{"quota/bytes", c.takeBytes},
		{"quota/stream", c.takeStream},
		{"pages", c.takePage},
	} {
		b.Run(check.name, func(b *testing.B) {
			b.ReportAllocs()
			check.run(b)
		})
	}
}

// checkBench is a request of a viewer to an API whose limits are all set and are never
// reached.
type checkBench struct {
	api      *API
	verifier *credentialVerifier
	header   string
	request  *apiRequest
}

func newCheckBench(b *testing.B) *checkBench {
	b.Helper()
	registry, err := tenant.Parse([]byte(`extensions: [{clientID: ext, secrets: [{value: cHJvZHVjdGlvbi1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}],
  limits: {identityRate: {perSecond: 1e9, burst: 1000000}, extensionRate: {perSecond: 1e9, burst: 1000000}}}]`))
	if err != nil {
		b.Fatal(err)
	}
	c := &checkBench{
		api: New(Config{
			Environment: tenant.Production, Registry: func() *tenant.Registry { return registry }, Now: time.Now,
			Proxies: TrustedProxies{netip.MustParsePrefix("127.0.0.0/8")},
		}),
		header: signedHeader(b, func(*jwt.Token) {}),
	}
	c.verifier = c.api.verifier
	found, err := c.verifier.verifyHeader(c.header)
	if err != nil {
		b.Fatal(err)
	}
	found.cache()
	r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/v1/vote", nil)
	r.RemoteAddr = "127.0.0.1:5000"
	r.Header.Set("X-Forwarded-For", "2001:db8::1")
	c.request = &apiRequest{Request: r, caller: found.caller, body: []byte(`{"value":1}`), x: &httpExchange{ResponseWriter: httptest.NewRecorder()}}
	return c
}

func (c *checkBench) takeRequest(b *testing.B, remote string) {
	r := c.request.WithContext(b.Context())
	r.RemoteAddr = remote
	for b.Loop() {
		lease, err := c.api.takeRequest(r)
		if err != nil {
			b.Fatal(err)
		}
		lease.Release()
	}
}

func (c *checkBench) verify(b *testing.B, v *credentialVerifier) {
	for b.Loop() {
		if _, err := v.verifyHeader(c.header); err != nil {
			b.Fatal(err)
		}
	}
}

// verifyNew verifies a credential that nothing has cached.
func (c *checkBench) verifyNew(b *testing.B) { c.verify(b, newTestVerifier(b)) }

func (c *checkBench) admit(b *testing.B) {
	for b.Loop() {
		if err := c.api.limiters.admitCaller(c.request.caller); err != nil {
			b.Fatal(err)
		}
	}
}

// readBody reads a body of a size from memory.
func (c *checkBench) readBody(b *testing.B, size int) {
	content, limit := bytes.Repeat([]byte("x"), size), c.request.caller.Limits().BodyBytes
	source := bytes.NewReader(content)
	r := c.request.WithContext(b.Context())
	r.Body, r.ContentLength = io.NopCloser(source), int64(size)
	for b.Loop() {
		source.Reset(content)
		leases := c.api.config.Budgets.bodyLeases(tenant.Production, c.request.caller, limit)
		if _, err := (&bodyReader{leases: &leases, limit: limit}).readAll(c.request.x, r); err != nil {
			b.Fatal(err)
		}
		leases.release()
	}
}

// checkJSON checks a document of about a size.
func (c *checkBench) checkJSON(b *testing.B, size int) {
	const member = `{"name":"value","number":12345.5},`
	document := []byte("[" + strings.Repeat(member, size/len(member)) + "{}]")
	for b.Loop() {
		if err := checkStored(document); err != nil {
			b.Fatal(err)
		}
	}
}

func (c *checkBench) takeBytes(b *testing.B) {
	for b.Loop() {
		claims := c.request.byteClaims(1)
		for i := range claims {
			claims[i].Quota = unreachable()
		}
		if err := c.api.take(c.request, "", claims...); err != nil {
			b.Fatal(err)
		}
	}
}

// takeStream takes the quotas of a poll that a vote creates.
func (c *checkBench) takeStream(b *testing.B) {
	caller := c.request.caller
	for b.Loop() {
		if err := c.api.take(c.request, "", caller.claim(quota.Streams, unreachable(), 1), caller.extensionClaim(quota.Streams, unreachable(), 1)); err != nil {
			b.Fatal(err)
		}
	}
}

// unreachable is a quota that no benchmark uses up.
func unreachable() quota.Quota { return quota.Quota{Amount: 1 << 60, Period: time.Second} }

func (c *checkBench) takePage(b *testing.B) {
	for b.Loop() {
		lease, err := c.api.config.Budgets.takePage(c.request.caller)
		if err != nil {
			b.Fatal(err)
		}
		lease.Release()
	}
}
