package httpapi_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/face/httpapi"
)

const (
	unnamedText = "a trusted proxy names no client"
	manyText    = "trusted proxies name thousands of clients"
)

// watchWorld is a watch of the proxies in 10.0.0.0/8, with its log.
type watchWorld struct {
	*testing.T
	*httpapi.ProxyWatch
	proxies httpapi.TrustedProxies
	log     bytes.Buffer
}

func newWatchWorld(t *testing.T) *watchWorld {
	w := &watchWorld{T: t, proxies: httpapi.TrustedProxies{netip.MustParsePrefix("10.0.0.0/8")}}
	w.ProxyWatch = httpapi.NewProxyWatch(w.proxies, slog.New(slog.NewTextHandler(&w.log, nil)))
	return w
}

// ask notes a request from an address that names a client, "" for none.
func (w *watchWorld) ask(from, client string) {
	w.Helper()
	r := httptest.NewRequestWithContext(w.Context(), http.MethodGet, "/", nil)
	if r.RemoteAddr = from; client != "" {
		r.Header.Set("X-Forwarded-For", client)
	}
	if _, ok := w.Client(r); ok != (client != "" || !strings.HasPrefix(from, "10.")) {
		w.Errorf("the client of %s, %q is known: %t", from, client, ok)
	}
}

// crowd notes n clients, each of them twice.
func (w *watchWorld) crowd(n int, from string) {
	for i := range 2 * n {
		k := i % n
		w.ask(from, netip.AddrFrom4([4]byte{203, 1, byte(k >> 8), byte(k)}).String())
	}
}

func (w *watchWorld) warned(text string, times int) {
	w.Helper()
	if got := strings.Count(w.log.String(), text); got != times {
		w.Errorf("%q is in the log %d times, want %d", text, got, times)
	}
}

// A trusted proxy that names no client lifts the limits for addresses: the log says so once a
// minute.
func TestProxyNamesNoClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatchWorld(t)
		w.ask("203.0.113.9:1", "")
		w.ask("10.1.1.1:1", "203.0.113.9")
		w.warned(unnamedText, 0)
		for range 100 {
			w.ask("10.1.1.1:1", "")
		}
		w.warned(unnamedText, 1)
		<-time.After(time.Minute + time.Second)
		w.ask("10.1.1.1:1", "")
		w.warned(unnamedText, 2)
		if got := w.Unnamed(); got != 101 {
			t.Errorf("%d requests have no client", got)
		}
	})
}

// Thousands of clients behind trusted proxies are a crowd or a forgery. Others name none.
func TestProxyNamesThousands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatchWorld(t)
		w.crowd(9000, "203.0.113.9:1")
		if got := w.Clients(); got != 0 {
			t.Errorf("%d clients of no proxy", got)
		}
		w.crowd(3900, "10.1.1.1:1")
		w.warned(manyText, 0)
		<-time.After(time.Minute + time.Second)
		w.crowd(9000, "10.1.1.1:1")
		w.warned(manyText, 1)
		if got := w.Clients(); got < 8700 || got > 9300 {
			t.Errorf("9,000 clients are estimated as %d", got)
		}
		<-time.After(3 * time.Minute)
		if got := w.Clients(); got != 0 {
			t.Errorf("%d clients minutes later", got)
		}
		w.crowd(9000, "10.1.1.1:1")
		w.warned(manyText, 1)
	})
}

// Only requests of viewers need a client: the staff's own systems ask without a proxy.
func TestUnnamedClientsOfAPI(t *testing.T) {
	w := newWatchWorld(t)
	a := newAPI(t, func(c *apiSettings) { c.Proxies, c.ProxyWatch = w.proxies, w.ProxyWatch })
	send := func(i identity, forwarded string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/poll", nil)
		r.RemoteAddr = "10.1.1.1:5"
		r.Header.Set("Authorization", i.header(t))
		if forwarded != "" {
			r.Header.Set("X-Forwarded-For", forwarded)
		}
		a.handler.ServeHTTP(httptest.NewRecorder(), r)
	}
	send(viewer(), "203.0.113.9")
	send(backend(), "")
	send(broadcaster(), "")
	w.warned(unnamedText, 0)
	send(viewer(), "")
	w.warned(unnamedText, 1)
	if named := w.Clients(); w.Unnamed() != 1 || named != 1 {
		t.Errorf("%d without a client, %d clients", w.Unnamed(), named)
	}
}
