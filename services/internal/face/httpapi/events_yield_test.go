package httpapi_test

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/face/httpapi"
)

// yieldingListener counts the connections that were asked to yield no longer.
type yieldingListener struct {
	net.Listener
	stopped *atomic.Int64
}

type yieldingConn struct {
	net.Conn
	stopped *atomic.Int64
}

func (l yieldingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return yieldingConn{conn, l.stopped}, err
}

func (c yieldingConn) StopYielding() { c.stopped.Add(1) }

// A connection that becomes a stream of events yields to requests no longer, encrypted or
// not. One that answers requests does.
func TestEventsDoNotYield(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*httptest.Server){
		"plain": (*httptest.Server).Start, "encrypted": (*httptest.Server).StartTLS,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stopped atomic.Int64
			server := httptest.NewUnstartedServer(nil)
			server.Config = httpapi.NewServer(newAPI(t).handler, slog.New(slog.DiscardHandler))
			server.Listener = yieldingListener{server.Listener, &stopped}
			start(server)
			defer server.Close()
			for path, want := range map[string]int64{"/v1/vote": 0, "/v1/events": 1} {
				stopped.Store(0)
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Authorization", viewer().header(t))
				res, err := server.Client().Do(r)
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				if n := stopped.Load(); res.StatusCode != http.StatusOK || n != want {
					t.Errorf("GET %s is answered %d, and %d connections yield no longer, want %d", path, res.StatusCode, n, want)
				}
			}
		})
	}
}
