package main

import (
	"cmp"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/face/httpapi"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
	"github.com/acclaim-dev/acclaim/services/internal/process/app"
)

// Where each service has a process of its own, requests are answered as in one program, and a
// process answers none of another service's.
func TestRightsOfServices(t *testing.T) {
	t.Parallel()
	alone := map[string]*process{}
	w := &rightsTries{brief: true, rightsWorld: newRightsWorld(t, func(w *rightsWorld) rightsDeployment { return deployServices(w, alone) })}
	w.checkGames()
	w.checkFeeds()
	w.checkHTTP("/v1")
	w.checkOthers(alone)
	t.Logf("%d cells tried", w.cells.Load())
}

// deployServices starts a process for each service of production, over one database, and an ingress
// that leads to them.
func deployServices(w *rightsWorld, alone map[string]*process) rightsDeployment {
	w.Helper()
	d := rightsDeployment{environments: []string{"production"}}
	uri, leads := databases["server"](w.T), map[string]*url.URL{}
	for _, service := range append(httpServices(), app.GameLinkService) {
		args := []string{"--extensions", w.registry, "--mongodb-uri", uri, "--games", "--sink-allow-private"}
		if service == operation.VotingService {
			args = append(args, "--result-log-key", newResultLogKey(w.T), "--result-log-origin", "votes.example/acclaim")
		}
		p := startProgram(w.T, w.TempDir(), service, args...)
		alone[service] = p
		target, err := url.Parse(strings.TrimSuffix(p.base, "/v1"))
		if err != nil {
			w.Fatal(err)
		}
		for _, path := range operation.Paths(service) {
			leads[path] = target
		}
		if service == operation.VotingService {
			leads[publicResults], leads[resultLog] = target, target
		}
		if service == operation.StateService {
			leads[""] = target
		}
		d.game = "ws://" + target.Host // that of the last
	}
	ingress := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.Header["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"]
		lead := strings.TrimPrefix(r.In.URL.Path, "/v1")
		for _, beside := range []string{publicResults, resultLog} {
			if strings.HasPrefix(lead, beside) {
				lead = beside
			}
		}
		r.SetURL(cmp.Or(leads[lead], leads[""]))
	}})
	w.Cleanup(ingress.Close)
	d.origin = ingress.URL
	return d
}

// publicResults begins the paths of public results, which have elements of any length.
const publicResults = "/public/"

// resultLog begins the paths of the files of the log of results, likewise.
const resultLog = "/log/"

// newResultLogKey returns the name of a file with a key that signs results.
func newResultLogKey(t *testing.T) string {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// httpServices returns the services that serve routes of production.
func httpServices() []string {
	return []string{operation.VotingService, operation.AccumulationService, operation.RankingService, operation.StateService}
}

// checkOthers asks each process for the routes of the others.
func (w *rightsTries) checkOthers(alone map[string]*process) {
	w.Helper()
	header := w.current["production"].headers["backend"]
	for service, p := range alone {
		for _, route := range httpapi.Routes() {
			if slices.Contains(operation.Paths(service), route.Path) {
				continue
			}
			w.cells.Add(1)
			if status, answer := w.send(route.Method, p.base+route.Path, header, "{}", false); status != http.StatusNotFound {
				w.Errorf("%s %s to a process of %s alone: %d %s, want 404", route.Method, route.Path, service, status, answer)
			}
		}
	}
}
