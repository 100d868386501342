package operation

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/acclaim-dev/acclaim/services/internal/limit"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// BenchmarkChecks measures each check on the way of a request by itself; the table in
// services/docs/internals/capacity.md has the figures.
func BenchmarkChecks(b *testing.B) {
	c := newCheckBench(b)
	for _, check := range []struct {
		name string
		run  func(b *testing.B)
	}{
		{"requests", c.takeRequest},
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
	api      *Service
	verifier *CredentialVerifier
	header   string
	request  *Call
}

func newCheckBench(b *testing.B) *checkBench {
	b.Helper()
	registry, err := tenant.Parse([]byte(`extensions: [{clientID: ext, secrets: [{value: cHJvZHVjdGlvbi1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}],
  limits: {identityRate: {perSecond: 1e9, burst: 1000000}, extensionRate: {perSecond: 1e9, burst: 1000000}}}]`))
	if err != nil {
		b.Fatal(err)
	}
	c := &checkBench{
		api: NewService(Config{
			Environment: tenant.Production, Registry: func() *tenant.Registry { return registry }, Now: time.Now,
		}),
		header: signedHeader(b, func(*jwt.Token) {}),
	}
	c.verifier = c.api.Verifier
	found, err := c.verifier.VerifyHeader(c.header)
	if err != nil {
		b.Fatal(err)
	}
	found.cache()
	c.request = &Call{Caller: found.Caller, Sent: []byte(`{"value":1}`)}
	return c
}

func (c *checkBench) takeRequest(b *testing.B) {
	client := netip.MustParsePrefix("192.0.2.1/32")
	for b.Loop() {
		lease, err := c.api.Config.Budgets.TakeRequest(tenant.Production, client)
		if err != nil {
			b.Fatal(err)
		}
		lease.Release()
	}
}

func (c *checkBench) verify(b *testing.B, v *CredentialVerifier) {
	for b.Loop() {
		if _, err := v.VerifyHeader(c.header); err != nil {
			b.Fatal(err)
		}
	}
}

// verifyNew verifies a credential that nothing has cached.
func (c *checkBench) verifyNew(b *testing.B) { c.verify(b, newTestVerifier(b)) }

func (c *checkBench) admit(b *testing.B) {
	for b.Loop() {
		if err := c.api.admitRate(c.request.Caller); err != nil {
			b.Fatal(err)
		}
	}
}

// readBody reads a body of a size from memory.
func (c *checkBench) readBody(b *testing.B, size int) {
	content, limit := bytes.Repeat([]byte("x"), size), c.request.Caller.Limits().BodyBytes
	source := bytes.NewReader(content)
	for b.Loop() {
		source.Reset(content)
		leases := c.api.Config.Budgets.BodyLeases(tenant.Production, c.request.Caller, limit)
		if _, err := (&bodyReader{leases: &leases, limit: limit}).readAll(source, int64(size)); err != nil {
			b.Fatal(err)
		}
		leases.Release()
	}
}

// checkJSON checks a document of about a size.
func (c *checkBench) checkJSON(b *testing.B, size int) {
	const member = `{"name":"value","number":12345.5},`
	document := []byte("[" + strings.Repeat(member, size/len(member)) + "{}]")
	for b.Loop() {
		if err := CheckStored(document); err != nil {
			b.Fatal(err)
		}
	}
}

func (c *checkBench) takeBytes(b *testing.B) {
	for b.Loop() {
		claims := c.request.byteClaims(1)
		claims[0].Rate, claims[1].Rate = unreachable(), unreachable()
		if err := c.api.take(c.request, "", claims[:]...); err != nil {
			b.Fatal(err)
		}
	}
}

// takeStream takes the quotas of a poll that a vote creates.
func (c *checkBench) takeStream(b *testing.B) {
	caller := c.request.Caller
	for b.Loop() {
		claims := caller.claims(limit.Streams, unreachable(), unreachable(), 1)
		if err := c.api.take(c.request, "", claims[:]...); err != nil {
			b.Fatal(err)
		}
	}
}

// unreachable is a rate that no benchmark uses up.
func unreachable() limit.Rate { return limit.Per(1<<60, time.Second) }

func (c *checkBench) takePage(b *testing.B) {
	for b.Loop() {
		lease, err := c.api.Config.Budgets.TakePage(c.request.Caller)
		if err != nil {
			b.Fatal(err)
		}
		lease.Release()
	}
}
