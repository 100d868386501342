package app

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/face/httpapi"
)

// maintainedConfig returns the configuration of a process whose listeners, in the order of their opening, go to
// opened.
func maintainedConfig(t *testing.T, maintenance string, opened chan<- string) Config {
	t.Helper()
	listen := func(ctx context.Context, network, address string) (net.Listener, error) {
		l, err := (&net.ListenConfig{}).Listen(ctx, network, address)
		if err == nil {
			opened <- l.Addr().String()
		}
		return l, err
	}
	return Config{
		Listen: "127.0.0.1:0", AdminListen: "127.0.0.1:0", MaintenanceListen: maintenance,
		Store: StoreConfig{DataDir: t.TempDir()}, Extensions: "../../../../config/extensions.yaml",
		ShutdownTimeout: time.Minute, Services: Services(), Mounts: BothMounts(),
		Logger: slog.New(slog.DiscardHandler), Machine: Machine{Listen: listen},
	}
}

// wantMaintenanceUnavailable sends every request that works on the store.
func wantMaintenanceUnavailable(t *testing.T, address string) {
	t.Helper()
	tried := 0
	for _, route := range httpapi.OperatorRoutes() {
		method, path, _ := strings.Cut(route, " ")
		if method != http.MethodPost && path != "/export" {
			continue
		}
		tried++
		request, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err = errors.Join(err, response.Body.Close()); err != nil {
			t.Error(err)
		}
		if response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "" || !strings.Contains(string(body), "nothing was stored") {
			t.Errorf("%s: %s, Retry-After %q, %s", route, response.Status, response.Header.Get("Retry-After"), body)
		}
	}
	if tried < 4 {
		t.Errorf("%d routes were tried", tried)
	}
}

// A script that maintains a process while that starts gets the answer to try again.
func TestMaintenanceWhileStarting(t *testing.T) {
	for name, maintenance := range map[string]string{"on the admin listener": "", "on its own": "127.0.0.1:0"} {
		t.Run(name, func(t *testing.T) {
			opened := make(chan string, 4)
			config := maintainedConfig(t, maintenance, opened)
			silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0") // a database that never answers
			if err != nil {
				t.Fatal(err)
			}
			defer silent.Close() //nolint:errcheck // it only holds the port
			config.Store = StoreConfig{MongoDBURI: "mongodb://" + silent.Addr().String() + "/acclaim"}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				_, err := Open(ctx, config)
				ended <- err
			}()
			address := <-opened
			if maintenance != "" {
				address = <-opened
			}
			<-opened // the public one: the admin listener has its routes
			wantMaintenanceUnavailable(t, address)
			stop()
			if err := <-ended; err == nil {
				t.Error("a process without a database has started")
			}
		})
	}
}

// While a process that stops finishes what it has accepted, it begins no maintenance.
func TestMaintenanceWhileStopping(t *testing.T) {
	p, err := Open(t.Context(), maintainedConfig(t, "", make(chan string, 4)))
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", p.PublicAddress().String())
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.WriteString(accepted, "POST /sandbox/v1/authtoken HTTP/1.1\r\nHost: acclaim\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(accepted).ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("the process answers %q, %v", line, err)
	}
	closed := make(chan error, 1)
	go func() { closed <- p.Close(t.Context()) }()
	awaitNoListener(t, p.PublicAddress())
	wantMaintenanceUnavailable(t, p.AdminAddress().String())
	if err := errors.Join(accepted.Close(), <-closed); err != nil {
		t.Error(err)
	}
}

// awaitNoListener returns once nothing listens at an address.
func awaitNoListener(t *testing.T, address net.Addr) {
	t.Helper()
	for t.Context().Err() == nil {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address.String())
		if err != nil {
			return
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
