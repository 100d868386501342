package httpapi_test

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/face/httpapi"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/pairing"
)

// serveHTTP2 serves on an address of its own and returns it, and a client's transport that
// has one connection for all of its requests.
func serveHTTP2(t *testing.T, server *http.Server) (address string, client *http.Transport) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	client = &http.Transport{Protocols: new(http.Protocols)}
	client.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(client.CloseIdleConnections)
	return listener.Addr().String(), client
}

// A client that resets a few requests keeps its connection, one that goes on loses it.
func TestResets(t *testing.T) {
	addresses := make(chan string)
	server := httpapi.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		addresses <- r.RemoteAddr
		<-r.Context().Done()
	}), slog.New(slog.DiscardHandler))
	address, transport := serveHTTP2(t, server)

	connections := map[string]int{}
	reset := func(times int) {
		for range times {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address, http.NoBody)
				if err != nil {
					t.Error(err)
					return
				}
				if response, err := transport.RoundTrip(request); err == nil {
					t.Errorf("a request that its client reset is answered %d", response.StatusCode)
					_ = response.Body.Close()
				}
			}()
			select {
			case address := <-addresses:
				connections[address]++
			case <-ended: // the connection closed
			}
			cancel()
			<-ended
		}
	}
	reset(100)
	if len(connections) != 1 {
		t.Errorf("100 resets: %d connections, want one", len(connections))
	}
	reset(400)
	if len(connections) == 1 {
		t.Error("500 resets: one connection, want more")
	}
}

// gatedDocuments are documents that nothing reads while the gate is closed.
type gatedDocuments struct {
	document.Store
	closed  atomic.Bool
	waiting chan struct{} // has one value for each reader that waits
	open    chan struct{}
}

func (d *gatedDocuments) Get(ctx context.Context, keys ...string) ([]document.Document, error) {
	if d.closed.Load() {
		d.waiting <- struct{}{}
		<-d.open
	}
	return d.Store.Get(ctx, keys...)
}

// The store is asked whether an overlay key was revoked, and the connection's other requests
// do not wait for that.
func TestRevocationDelaysNoOtherRequest(t *testing.T) {
	gate := &gatedDocuments{Store: storetest.NewMemory(), waiting: make(chan struct{}), open: make(chan struct{})}
	a := newAPI(t, func(c *apiSettings) {
		c.Pairing = operation.NewPairing(pairing.NewService(document.NewService(gate, stream.SystemClock(), document.Options{}), nil))
	})
	overlay := a.newOverlay("/v1", broadcaster(), "{}")
	address, transport := serveHTTP2(t, httpapi.NewServer(a.handler, slog.New(slog.DiscardHandler)))
	ask := func(credential string) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/v1/vote?id=p", http.NoBody)
		if err != nil {
			t.Error(err)
			return
		}
		request.Header.Set("Authorization", credential)
		response, err := transport.RoundTrip(request)
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = response.Body.Close() }()
		if response.StatusCode != http.StatusOK {
			t.Errorf("answered %d", response.StatusCode)
		}
	}
	ask(viewer().header(t)) // the connection is there
	gate.closed.Store(true)
	var slow sync.WaitGroup
	slow.Go(func() { ask(overlay) })
	<-gate.waiting
	ask(viewer().header(t))
	close(gate.open)
	slow.Wait()
}
