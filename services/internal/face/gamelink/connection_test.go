package gamelink

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/coder/websocket"
)

// A drain may end a connection that was accepted and is not served yet.
func TestEndBeforeServing(t *testing.T) {
	served := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if cause := recover(); cause != nil { // the HTTP server would swallow it
				t.Error(cause)
			}
			close(served)
		}()
		socket, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		c := newConnection(New(Options{}), socket, nil, r, netip.Prefix{})
		c.end(websocket.StatusGoingAway, "")
		c.run()
	}))
	defer server.Close()
	socket, _, err := websocket.Dial(t.Context(), server.URL, nil) //nolint:bodyclose // the library needs no close
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := socket.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("closed with %v", err)
	}
	<-served
}
