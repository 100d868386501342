package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/face/httpapi"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
)

// heldEntries is an accumulation whose answers wait until they are released.
type heldEntries struct {
	operation.Accumulation
	begun, release chan struct{}
}

func (h heldEntries) Entries(context.Context, accumulation.Buffer, int64, *string) iter.Seq2[accumulation.Entry, error] {
	return func(yield func(accumulation.Entry, error) bool) {
		h.begun <- struct{}{}
		<-h.release
		yield(accumulation.Entry{Submission: accumulation.Submission{Data: json.RawMessage("{}")}}, nil)
	}
}

// Long answers are few: those of one identity, of one extension, and in all. Each ends
// what it took.
func TestLongAnswersAtOnce(t *testing.T) {
	held := heldEntries{begun: make(chan struct{}), release: make(chan struct{})}
	budgets := operation.NewBudgets(operation.BudgetLimits{Requests: 1000, PerAddress: 1000, BodyBytes: 1 << 20})
	a := newAPI(t, func(c *apiSettings) { c.Accumulation, c.Budgets = held, budgets })
	finished := make(chan int)
	begin := func(i identity) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/accumulate", nil)
		r.Header.Set("Authorization", i.header(t))
		go func() {
			w := httptest.NewRecorder()
			a.handler.ServeHTTP(w, r)
			finished <- w.Code
		}()
		<-held.begun
	}
	broadcasterOf := func(channel int) identity {
		id := fmt.Sprint(channel)
		return identity{role: "broadcaster", channel: id, opaque: "U" + id, user: id}
	}
	const ofIdentity, ofExtension = 4, 16
	for range ofIdentity {
		begin(broadcasterOf(1))
	}
	got := a.as(broadcasterOf(1), "GET", "/accumulate", "")
	got.refused(429, "Too many long answers at once; nothing was stored")
	if got.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	for channel := 2; channel < 2+ofExtension-ofIdentity; channel++ {
		begin(broadcasterOf(channel))
	}
	a.as(broadcasterOf(99), "GET", "/accumulate", "").is(429)
	a.as(backend(), "GET", "/vote_logs", "").is(429)
	other := identity{extension: "other", key: otherKey, role: "broadcaster", opaque: "U5"}
	begin(other)
	close(held.release)
	for range ofExtension + 1 {
		if status := <-finished; status != http.StatusOK {
			t.Errorf("a long answer ends with %d", status)
		}
	}
	if stats := budgets.Pages.Stats(); stats.Used != 0 || stats.OverShare != 3 {
		t.Errorf("%+v", stats)
	}
	a.as(backend(), "GET", "/vote_logs", "").is(200)
}

// The requests of one client address are limited, behind a trusted proxy too.
func TestRequestsOfOneAddress(t *testing.T) {
	held := heldEntries{begun: make(chan struct{}), release: make(chan struct{})}
	budgets := operation.NewBudgets(operation.BudgetLimits{Requests: 3, PerAddress: 2, BodyBytes: 1 << 20})
	a := newAPI(t, func(c *apiSettings) {
		c.Accumulation, c.Budgets = held, budgets
		c.Proxies = httpapi.TrustedProxies{netip.MustParsePrefix("192.0.2.0/24")} // the tests' address
	})
	finished := make(chan struct{})
	begin := func(i identity, address string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/accumulate", nil)
		r.Header.Set("Authorization", i.header(t))
		r.Header.Set("X-Forwarded-For", address)
		go func() { a.handler.ServeHTTP(httptest.NewRecorder(), r); finished <- struct{}{} }()
		<-held.begun
	}
	begin(broadcaster(), "198.51.100.1")
	begin(broadcaster(), "198.51.100.1")
	a.as(viewer(), "GET", "/vote", "", "X-Forwarded-For", "198.51.100.1").refused(429, "Too many requests of this address at once; nothing was stored")
	a.as(viewer(), "GET", "/vote", "", "X-Forwarded-For", "198.51.100.2").is(200)
	a.as(viewer(), "GET", "/vote", "").is(200) // the proxy names no client
	begin(broadcaster(), "198.51.100.2")
	a.as(viewer(), "GET", "/vote", "").refused(503, "The service cannot take this request now; nothing was stored")
	close(held.release)
	for range 3 {
		<-finished
	}
	if stats := budgets.Requests.Stats(); stats.Used != 0 {
		t.Errorf("%+v", stats)
	}
}

// A route without a credential takes 32 KiB at most.
func TestPublicBodies(t *testing.T) {
	a := newAPI(t)
	request := `{"app_id":"ext","channel_id":"77","role":"viewer"}`
	a.send("POST", "/sandbox/v1/authtoken", request+strings.Repeat(" ", 32<<10-len(request))).is(200)
	a.send("POST", "/sandbox/v1/authtoken", request+strings.Repeat(" ", 32<<10-len(request)+1)).refused(413, "The body is larger than 32768 bytes")
}

// A connection of HTTP/2 carries 100 requests at a time.
func TestConcurrentStreams(t *testing.T) {
	_, address := serve(t, newAPI(t).handler)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"); err != nil {
		t.Fatal(err)
	}
	const frameHeader, setting, maxConcurrentStreams = 9, 6, 3
	head := make([]byte, frameHeader)
	if _, err := io.ReadFull(conn, head); err != nil {
		t.Fatal(err)
	}
	settings := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
	if _, err := io.ReadFull(conn, settings); err != nil {
		t.Fatal(err)
	}
	for ; len(settings) >= setting; settings = settings[setting:] {
		if settings[1] == maxConcurrentStreams {
			if settings[5] != 100 || settings[4] != 0 {
				t.Errorf("%v requests at a time", settings[2:6])
			}
			return
		}
	}
	t.Error("the server sets no limit")
}
