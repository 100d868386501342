package httpapi_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"

	limits "github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/feed/live"
	"github.com/acclaim-dev/acclaim/services/message"
)

// several messages are published together: fewer than a subscriber may be behind.
const several = 16

// Over a real socket: a client that does not read is disconnected once the connection
// and its bounded buffer are full, while the others receive every message.
func TestClientThatDoesNotRead(t *testing.T) {
	for name, protocol := range map[string]func(*http.Protocols){
		"HTTP/1.1": func(p *http.Protocols) { p.SetHTTP1(true) },
		"HTTP/2.0": func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var broker *live.Broker
			var messages *message.Service
			a := newAPI(t, func(c *apiSettings) { broker, messages = c.Live.(*live.Broker), c.Messages.(*message.Service) })
			_, base := serve(t, a.handler)
			listen := func() *bufio.Reader {
				in := bufio.NewReader(connect(t, protocol, base+"/v1/events", viewer().header(t)))
				until(t, in, "id: ")
				return in
			}
			slow, quick := listen(), []*bufio.Reader{listen(), listen()}

			filler, published := strings.Repeat("x", limits.MaxMessageData-20), 0
			publish := func() {
				t.Helper()
				first := published
				for ; published < first+several; published++ {
					m := message.Message{Name: "tick", Data: fmt.Appendf(nil, `"%d %s"`, published, filler)}
					if err := messages.Publish(t.Context(), message.Feed{Environment: "production", Extension: "ext", Channel: "77"}, m); err != nil {
						t.Fatal(err)
					}
				}
				for i, in := range quick {
					for n := first; n < published; n++ {
						if line := until(t, in, "data: "); !strings.Contains(line, fmt.Sprintf(`"data":"%d x`, n)) {
							t.Fatalf("client %d receives %.80q instead of message %d", i, line, n)
						}
					}
				}
			}
			const tooMuch = 64 << 20 / limits.MaxMessageData // far more than systems buffer
			for broker.Stats().Slow == 0 && published < tooMuch {
				publish()
			}
			received, err := io.Copy(io.Discard, slow) // hangs unless it is disconnected
			t.Logf("disconnected after %d messages, had %d bytes of them, then %v", published, received, err)
			if published == tooMuch || received >= int64(published*limits.MaxMessageData) {
				t.Errorf("a client that does not read is sent %d messages, %d bytes", published, received)
			}
			for broker.Stats().Subscribers != len(quick) {
				runtime.Gosched()
			}
			publish()
		})
	}
}

// connect returns the stream of a client with a connection of its own, whose buffer is
// small.
func connect(t *testing.T, protocol func(*http.Protocols), url, credential string) io.Reader {
	t.Helper()
	transport := &http.Transport{Protocols: &http.Protocols{}}
	protocol(transport.Protocols)
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if tcp, ok := conn.(*net.TCPConn); ok {
			err = tcp.SetReadBuffer(16 << 10)
		}
		return conn, err
	}
	t.Cleanup(transport.CloseIdleConnections)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", credential)
	res, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() }) // the test is over
	return res.Body
}
