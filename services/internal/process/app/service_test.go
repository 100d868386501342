package app

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/face/httpapi"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/message"
	"github.com/acclaim-dev/acclaim/services/ranking"
	"github.com/acclaim-dev/acclaim/services/roster"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// start runs services over an embedded store until the test ends and returns the
// address of their API.
func start(t *testing.T, services ...Service) (base string) {
	t.Helper()
	mount := DefaultMount(tenant.Sandbox) // which alone has every service
	p, err := Open(t.Context(), Config{
		Listen:          "127.0.0.1:0",
		AdminListen:     "127.0.0.1:0",
		Store:           StoreConfig{DataDir: t.TempDir()},
		Extensions:      "../../../../config/extensions.yaml",
		ShutdownTimeout: time.Minute,
		Services:        services,
		Mounts:          []Mount{mount},
		Logger:          slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return "http://" + p.PublicAddress().String() + mount.Path
}

// Every path of the contract belongs to one row, and the row's service alone answers
// it.
func TestPathsOfServices(t *testing.T) {
	var rows []string
	for _, service := range Services() {
		rows = append(rows, service.Paths()...)
	}
	var paths []string
	for _, route := range httpapi.Routes() {
		if !route.Shared && !slices.Contains(paths, route.Path) {
			paths = append(paths, route.Path)
		}
	}
	slices.Sort(rows)
	slices.Sort(paths)
	if !slices.Equal(rows, paths) {
		t.Errorf("the rows have\n%s\nthe contract has\n%s", strings.Join(rows, " "), strings.Join(paths, " "))
	}
	for _, service := range Services() {
		t.Run(service.Name, func(t *testing.T) {
			base := start(t, service)
			for _, path := range paths {
				want := slices.Contains(service.Paths(), path) && path != "/receipt" // which production alone has
				if got := answers(t, base+path); got != want {
					t.Errorf("%s is answered: %t, want %t", path, got, want)
				}
			}
		})
	}
}

// answers reports whether a server has a route, whatever the method.
func answers(t *testing.T, url string) bool {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode != http.StatusNotFound
}

// Everything that iterates over the rows needs what a row says.
func TestRowsAreComplete(t *testing.T) {
	kinds := map[string]bool{}
	for _, service := range Services() {
		if service.Name == "" || service.Environment == "" || service.start == nil {
			t.Errorf("%+v lacks a field", service)
		}
	}
	for _, service := range streamRows() {
		if service.Kind == "" {
			continue
		}
		if service.Domain == "" || service.Retention == nil || service.newEngine == nil || kinds[service.Kind] {
			t.Errorf("%+v lacks a field, or another row has its kind", service)
		}
		kinds[service.Kind] = true
	}
	ages := tenant.Retention{Logs: 1, Buffers: 2, Rankings: 3, Snapshots: 4}
	want := map[string]time.Duration{voting.Kind: 1, accumulation.Kind: 2, ranking.Kind: 3, message.Kind: contract.MessageLifetime, roster.Kind: 1}
	for kind, domain := range Domains(nil) {
		if got := domain.Retention(ages); got != want[kind] {
			t.Errorf("the retention of %s is %v, want %v", kind, got, want[kind])
		}
	}
	if got := len(Domains(nil)); got != len(kinds) {
		t.Errorf("%d domains, want %d", got, len(kinds))
	}
}
