package httpapi_test

import (
	"bufio"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"testing/synctest"

	"github.com/acclaim-dev/acclaim/services/internal/face/httpapi"
	"github.com/acclaim-dev/acclaim/services/internal/feed/live"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
)

// The server notices at once that a client has gone, so that a flood of clients that
// connect and close leaves nothing behind. No time passes in this test: no heartbeat
// finds them.
func TestClientsThatGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broker *live.Broker
		budgets := operation.NewBudgets(operation.BudgetLimits{Requests: 10, PerAddress: 10, BodyBytes: 1 << 20})
		a := newAPI(t, func(c *apiSettings) { broker, c.Budgets = c.Live.(*live.Broker), budgets })
		listener := make(pipes)
		server := httpapi.NewServer(a.handler, slog.New(slog.DiscardHandler))
		go func() { _ = server.Serve(listener) }() // until the listener ends
		connect := func() net.Conn {
			here, there := net.Pipe()
			listener <- there
			go func() { // a pipe has no buffer
				_, _ = fmt.Fprintf(here, "GET /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: %s\r\n\r\n", bubbled(viewer()).header(t))
			}()
			in := bufio.NewReader(here)
			until(t, in, "id: ")
			return here
		}
		for range 30 {
			conn := connect()
			if got, used := broker.Stats().Subscribers, budgets.Requests.Stats().Used; got != 1 || used != 1 {
				t.Fatalf("%d subscribers, %d requests", got, used)
			}
			_ = conn.Close() // it is a pipe
			synctest.Wait()
			if got, used := broker.Stats().Subscribers, budgets.Requests.Stats().Used; got != 0 || used != 0 {
				t.Fatalf("%d subscribers and %d requests are left of a client that has gone", got, used)
			}
		}
		conn := connect()
		_, _ = conn.Write([]byte("more")) // the server may close first
		synctest.Wait()
		if got := broker.Stats().Subscribers; got != 0 {
			t.Error("a client that talks stays")
		}
		close(listener)
		_ = server.Close() // likewise
	})
}

// The ninth subscriber of a viewer is refused, whatever its windows are; backends are not.
func TestSubscribersOfOneViewer(t *testing.T) {
	a := newAPI(t, func(c *apiSettings) { c.Proxies = httpapi.TrustedProxies{netip.MustParsePrefix("0.0.0.0/0")} })
	_, base := serve(t, a.handler)
	enable := func(p *http.Protocols) { p.SetHTTP1(true) }
	for range 8 {
		until(t, bufio.NewReader(connect(t, enable, base+"/v1/events", viewer().header(t))), "id: ")
		until(t, bufio.NewReader(connect(t, enable, base+"/v1/events", backend().header(t))), "id: ")
	}
	a.as(viewer(), "GET", "/events", "").refused(429, "Too many subscribers of this viewer or extension at once")
	a.as(stranger(), "GET", "/events", "").is(200)
	a.as(backend(), "GET", "/events", "").is(200)
}
