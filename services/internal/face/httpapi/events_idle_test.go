package httpapi_test

import (
	"bufio"
	"context"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/face/httpapi"
)

// pipes is a listener whose connections are in memory.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	conn, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// A client stays connected however long there are no events, on a shared connection
// too.
func TestIdleClient(t *testing.T) {
	for _, protocol := range []func(*http.Protocols){
		func(p *http.Protocols) { p.SetHTTP1(true) },
		func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) },
	} {
		synctest.Test(t, func(t *testing.T) {
			a, listener := newAPI(t), make(pipes)
			server := httpapi.NewServer(a.handler, slog.New(slog.DiscardHandler))
			go func() { _ = server.Serve(listener) }() // until the listener ends
			transport := &http.Transport{Protocols: &http.Protocols{}}
			protocol(transport.Protocols)
			transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
				here, there := net.Pipe()
				listener <- there
				return here, nil
			}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://test/v1/events", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", bubbled(viewer()).header(t))
			res, err := transport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			in := bufio.NewReader(res.Body)
			until(t, in, "id: ")
			<-time.After(14 * time.Second) // less than a heartbeat
			a.as(bubbled(broadcaster()), http.MethodPost, "/broadcast", `{"event":"goal","data":1}`).is(http.StatusOK)
			until(t, in, "data: ")
			_ = res.Body.Close() // the test is over
			transport.CloseIdleConnections()
			close(listener)
			_ = server.Close() // likewise
		})
	}
}
