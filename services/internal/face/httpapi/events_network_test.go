package httpapi_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/feed/live"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
)

// subscribed keeps the last subscription to a broker.
type subscribed struct {
	operation.Live
	live.Subscription
}

func (s *subscribed) Subscribe(ctx context.Context, to live.Subscription) (*live.Subscriber, error) {
	s.Subscription = to
	return s.Live.Subscribe(ctx, to)
}

// reported notes the routes of requests that are over.
type reported struct{ routes chan string }

func (r reported) Observe(route, _ string, _ int, _ time.Duration, _ string) { r.routes <- route }

// With a connection of its own and with a shared one, a client receives events, learns
// when to reconnect as the process drains, and has its stream ended properly. The request is reported
// when the stream begins.
func TestEventsOverTheNetwork(t *testing.T) {
	for name, protocol := range map[string]func(*http.Protocols){
		"HTTP/1.1": func(p *http.Protocols) { p.SetHTTP1(true) },
		"HTTP/2.0": func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) },
	} {
		t.Run(name, func(t *testing.T) {
			var broker *live.Broker
			last, requests := &subscribed{}, reported{make(chan string, 10)}
			a := newAPI(t, func(c *apiSettings) {
				broker = c.Live.(*live.Broker)
				last.Live, c.Live, c.Metrics = c.Live, last, requests
			})
			_, base := serve(t, a.handler)
			transport := &http.Transport{Protocols: &http.Protocols{}}
			protocol(transport.Protocols)
			t.Cleanup(transport.CloseIdleConnections)
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/v1/events", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", viewer().header(t))
			r.Header.Set("Origin", "https://ext.ext-twitch.tv")
			res, err := transport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			h := res.Header
			if res.StatusCode != http.StatusOK || res.Proto != name || h.Get("Content-Type") != "text/event-stream" ||
				h.Get("X-Request-Id") == "" || h.Get("Access-Control-Allow-Origin") != "https://ext.ext-twitch.tv" {
				t.Fatalf("%s %s, headers %v", res.Proto, res.Status, h)
			}
			in := bufio.NewReader(res.Body)
			until(t, in, "id: ")
			if route := <-requests.routes; route != "/events" || last.OwnConnection != (name == "HTTP/1.1") {
				t.Errorf("a request for %q is over, own connection: %v", route, last.OwnConnection)
			}
			a.as(broadcaster(), http.MethodPost, "/broadcast", `{"event":"goal","data":[1, 2]}`).is(http.StatusOK)
			until(t, in, "event: broadcast")
			if line := until(t, in, "data: "); line != `data: {"event":"production:ext:goal","data":[1,2]}`+"\n" {
				t.Errorf("received %q", line)
			}
			broker.Drain()
			if rest, err := io.ReadAll(in); err != nil || !strings.HasPrefix(string(rest), "\nretry: ") {
				t.Errorf("in the end came %q, %v", rest, err)
			}
		})
	}
}

// until returns the first line that begins with prefix.
func until(t *testing.T, in *bufio.Reader, prefix string) string {
	t.Helper()
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(line, prefix) {
			return line
		}
	}
}
