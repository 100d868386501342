package app

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/testing/mongotest"
)

// acclaim_database_reachable, on which an alert rests, has what the last readiness probe found
// out about the database.
func TestDatabaseReachable(t *testing.T) {
	proxy, uri := mongotest.StartProxy(t, mongotest.Start(t))
	r := openReplica(t, "replica", uri, nil)
	for _, step := range []struct {
		name string
		away bool
		want string
	}{{"at first", false, "1"}, {"away", true, "0"}, {"back", false, "1"}} {
		proxy.Blackhole(step.away)
		r.awaitReady(t, !step.away)
		r.wantReachable(t, step.name, step.want)
	}
}

// A client that hangs up during its readiness probe changes nothing about that.
func TestProbeWithoutClient(t *testing.T) {
	proxy, uri := mongotest.StartProxy(t, mongotest.Start(t))
	r := openReplica(t, "replica", uri, nil)
	gone, hangUp := context.WithCancel(t.Context())
	hangUp()
	if err := r.checkReady(gone); err != nil {
		t.Errorf("the database is reachable: %v", err)
	}
	r.wantReachable(t, "reachable", "1")
	proxy.Blackhole(true)
	if r.checkReady(gone) == nil {
		t.Error("the database is away, and the process ready")
	}
	r.wantReachable(t, "away", "0")
}

func (r *replica) wantReachable(t *testing.T, when, want string) {
	t.Helper()
	if got := r.metric(t, "acclaim_database_reachable"); got != want {
		t.Errorf("%s: acclaim_database_reachable is %q, want %s", when, got, want)
	}
}

// awaitReady probes a process until it is ready, or is not.
func (r *replica) awaitReady(t *testing.T, want bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		if status, _ := r.getAdmin(ctx, t, "/readyz"); (status == http.StatusOK) == want {
			return
		}
	}
	t.Fatalf("the process never becomes ready: %t", want)
}

// metric returns the value of a metric without labels, "" if there is none.
func (r *replica) metric(t *testing.T, name string) string {
	t.Helper()
	_, text := r.getAdmin(t.Context(), t, "/metrics")
	if found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(text); found != nil {
		return found[1]
	}
	return ""
}

// getAdmin returns the answer of the admin listener.
func (r *replica) getAdmin(ctx context.Context, t *testing.T, path string) (status int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.AdminAddress().String()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}
