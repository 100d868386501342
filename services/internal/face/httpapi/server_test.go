package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/face/httpapi"
	"github.com/acclaim-dev/acclaim/services/internal/telemetry"
)

// serve serves a handler until the test ends and returns the address.
func serve(t *testing.T, handler http.Handler) (*http.Server, string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := httpapi.NewServer(handler, slog.New(slog.DiscardHandler))
	done := make(chan error)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		_ = server.Close() // Serve tells
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve: %v", err)
		}
	})
	return server, "http://" + listener.Addr().String()
}

func TestServerSpeaksBothProtocols(t *testing.T) {
	_, address := serve(t, newAPI(t).handler)
	for version, enable := range map[int]func(*http.Protocols){
		1: func(p *http.Protocols) { p.SetHTTP1(true) },
		2: func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) },
	} {
		var protocols http.Protocols
		enable(&protocols)
		transport := &http.Transport{Protocols: &protocols}
		r, err := http.NewRequestWithContext(t.Context(), "POST", address+"/v1/vote", strings.NewReader(`{"value":1}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", viewer().header(t))
		response, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		if response.ProtoMajor != version || response.StatusCode != http.StatusOK {
			t.Errorf("%s %s", response.Proto, response.Status)
		}
		response.Body.Close()
		transport.CloseIdleConnections()
	}
}

// A drain lets requests under way end and takes no new ones.
func TestDrain(t *testing.T) {
	begun, finish := make(chan struct{}), make(chan struct{})
	server, address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(begun)
		<-finish
		_, _ = fmt.Fprint(w, "done")
	}))
	closing := make(chan struct{})
	server.RegisterOnShutdown(func() { close(closing) })
	answered := make(chan string)
	go func() {
		r, err := http.NewRequestWithContext(t.Context(), "GET", address, nil)
		if err != nil {
			answered <- err.Error()
			return
		}
		response, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			answered <- err.Error()
			return
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		answered <- string(body)
	}()
	<-begun
	drained := make(chan error)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() { drained <- server.Shutdown(ctx) }()
	<-closing
	close(finish)
	if body := <-answered; body != "done" {
		t.Errorf("the request under way was answered %q", body)
	}
	if err := <-drained; err != nil {
		t.Error(err)
	}
}

func TestAdmin(t *testing.T) {
	a := newAPI(t)
	metrics := telemetry.NewMetrics()
	observed := newAPI(t, func(c *apiSettings) { c.Metrics = metrics })
	observed.as(viewer(), "GET", "/vote?id=secret", "").is(200)
	observed.send("BREW", "/v1/nope/secret", "").is(404)
	var unhealthy, unready error
	a.handler = httpapi.NewAdminHandler(nil, func(context.Context) error { return unready }, nil, metrics.Registry, nil)
	a.send("GET", "/healthz", "").is(200)
	a.handler = httpapi.NewAdminHandler(func() error { return unhealthy }, func(context.Context) error { return unready }, nil, metrics.Registry, nil)
	a.send("GET", "/healthz", "").is(200)
	a.send("GET", "/readyz", "").is(200)
	a.handler = httpapi.NewAdminHandler(nil, func(context.Context) error { return unready }, func() []string { return []string{"game_connections"} }, metrics.Registry, nil)
	a.send("GET", "/readyz", "").want(200, `{"status":"ready","exhausted":["game_connections"]}`)
	a.handler = httpapi.NewAdminHandler(func() error { return unhealthy }, func(context.Context) error { return unready }, nil, metrics.Registry, nil)
	a.send("GET", "/readyz", "").want(200, `{"status":"ready"}`)
	unready = errors.New("secret")
	a.send("GET", "/healthz", "").is(200)
	if got := a.send("GET", "/readyz", "").is(503); strings.Contains(got.body, "secret") {
		t.Errorf("readyz answers %s", got.body)
	}
	unhealthy = errors.New("secret")
	if got := a.send("GET", "/healthz", "").is(503); strings.Contains(got.body, "secret") {
		t.Errorf("healthz answers %s", got.body)
	}
	w := httptest.NewRecorder()
	a.handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	for _, series := range []string{
		`acclaim_http_request_duration_seconds_count{method="GET",route="/vote",status="200"} 1`,
		`acclaim_http_request_duration_seconds_count{method="other",route="unknown",status="404"} 1`,
		`go_goroutines`,
	} {
		if !strings.Contains(w.Body.String(), series) {
			t.Errorf("no %s in the metrics", series)
		}
	}
	if strings.Contains(w.Body.String(), "secret") {
		t.Error("metrics grow with what callers send")
	}
}

// No cache stores an answer, and no browser guesses its type. A document that has a tag
// may be kept by its client, which asks whether it still holds.
func TestDefaultHeaders(t *testing.T) {
	_, address := serve(t, newAPI(t).handler)
	_, unavailable := serve(t, httpapi.NewUnavailableHandler(errors.New("starting")))
	const kept = "private, no-cache"
	for _, test := range []struct {
		address, method, target, cache string
		status                         int
	}{
		{address, "GET", "/v1/vote", "no-store", 200},
		{address, "GET", "/v1/user_info", "no-store", 200},
		{address, "GET", "/v1/accumulate", "no-store", 200},
		{address, "GET", "/v1/events?topic=goal", "no-store", 200},
		{address, "GET", "/v1/channel_state", kept, 200},
		{address, "GET", "/v1/config/channel", kept, 200},
		{address, "GET", "/v1/all_state", kept, 200},
		{address, "GET", "/v1/config", kept, 200},
		{address, "HEAD", "/v1/all_state", kept, 200},
		{address, "GET", "/v1/extension_viewer_state?user_ids=1", "no-store", 200},
		{address, "GET", "/v1/vote_config", "no-store", 404},
		{address, "OPTIONS", "/v1/vote", "no-store", 204},
		{address, "GET", "/v1/nope", "no-store", 404},
		{address, "PUT", "/v1/vote", "no-store", 405},
		{unavailable, "GET", "/v1/vote", "no-store", 503},
	} {
		t.Run(test.method+" "+test.target, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), test.method, test.address+test.target, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", owner().header(t))
			response, err := http.DefaultTransport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			h := response.Header
			if response.StatusCode != test.status || h.Get("Cache-Control") != test.cache || h.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s, headers %v", response.Status, h)
			}
		})
	}
}

// The log names the member of staff that wrote, and never a viewer.
func TestActorsInTheLog(t *testing.T) {
	a := newAPI(t)
	for _, test := range []struct {
		who                       identity
		method, path, body, actor string
	}{
		{owner(), "DELETE", "/vote", "", `"actor":"1000"`},
		{broadcaster(), "POST", "/vote_modifier", `{"user":"U5","add":1}`, `"actor":"77"`},
		{backend(), "PATCH", "/channel_state", `{}`, `"actor":"B"`},
		{owner(), "GET", "/vote", "", ""},
		{viewer(), "POST", "/vote", `{"value":1}`, ""},
		{stranger(), "POST", "/viewer_state", `{}`, ""},
		{viewer(), "DELETE", "/vote", "", ""}, // refused
	} {
		a.log.Reset()
		a.as(test.who, test.method, test.path, test.body)
		line := a.log.String()
		if got := strings.Contains(line, `"actor"`); got != (test.actor != "") || !strings.Contains(line, test.actor) {
			t.Errorf("%s %s as %s: %s", test.method, test.path, test.who.role, line)
		}
		if test.who.role == "viewer" && (strings.Contains(line, `"U5"`) || strings.Contains(line, `"A7"`)) {
			t.Errorf("the log names a viewer: %s", line)
		}
	}
}
