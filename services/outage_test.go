package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/hack/harness"
	"github.com/acclaim-dev/acclaim/services/internal/testing/faultproxy"
	"github.com/acclaim-dev/acclaim/services/internal/testing/mongotest"
)

// While the database is unreachable the program reports that it is not ready and
// refuses commands. When the database is back the program serves again, and every
// acknowledged vote is stored.
func TestDatabaseGoesAway(t *testing.T) {
	server := mongotest.NewServer(t)
	p := startProgram(t, t.TempDir(), "serve", "--mongodb-uri", server.Start())
	known := &votes{acknowledged: map[string]bool{}, sent: map[string]bool{}}
	for range 2 {
		wantReady(t, p, http.StatusOK)
		known.try(t, p, "before")
		server.Stop()
		wantReady(t, p, http.StatusServiceUnavailable)
		if f := known.try(t, p, "away"); f == stored {
			t.Error("a vote was acknowledged without a database")
		}
		server.Start()
		wantReady(t, p, http.StatusOK)
		for known.try(t, p, "after") != stored && !t.Failed() {
		}
	}
	known.check(t, p)
	server.Stop()
	wantReady(t, p, http.StatusServiceUnavailable)
	p.end(t) // it has finished what it accepted
}

// A program that starts before its database keeps running, reports that it is not
// ready, and serves when the database is reachable. SIGTERM stops it meanwhile.
func TestDatabaseIsLate(t *testing.T) {
	server := mongotest.NewServer(t)
	uri := server.Start()
	server.Stop()
	stopped, patient := startWaiting(t, uri), startWaiting(t, uri)
	if err := stopped.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := stopped.cmd.Wait(); err != nil {
		t.Errorf("told to stop: %v", err)
	}
	server.Start()
	patient.awaitReady(t)
	wantReady(t, patient, http.StatusOK)
	known := &votes{acknowledged: map[string]bool{}, sent: map[string]bool{}}
	if f := known.try(t, patient, "late"); f != stored {
		t.Errorf("fate %d of the first vote", f)
	}
	known.check(t, patient)
}

// startWaiting starts a program and returns after its first failed connection to the
// database.
func startWaiting(t *testing.T, uri string) *process {
	t.Helper()
	address, public := freeAddress(t), freeAddress(t)
	p := newProgram(t, t.TempDir(), "voting", "--mongodb-uri", uri, "--admin-listen", address, "--listen", public, "--log-level", "warn")
	p.admin = "http://" + address
	p.cmd.Stderr = nil
	log, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.launch(t)
	lines := bufio.NewScanner(log)
	for lines.Scan() && !strings.Contains(lines.Text(), "waiting for the database") {
	}
	if lines.Err() != nil || lines.Text() == "" {
		t.Fatalf("it does not wait: %v", lines.Err())
	}
	go func() { _, _ = io.Copy(io.Discard, log) }() // ends with the process
	wantReady(t, p, http.StatusServiceUnavailable)
	wantStatus(t, p.admin+"/healthz", http.StatusOK)
	if got := metric(t, p, "acclaim_database_reachable"); got != 0 {
		t.Errorf("acclaim_database_reachable is %d before the first contact", got)
	}
	wantStatus(t, "http://"+public+"/v1/vote", http.StatusServiceUnavailable)
	return p
}

// freeAddress returns an address without a listener, which nothing takes before it is used.
func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := harness.FreeAddress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// A database that stops answering while it executes a request leaves an unknown
// outcome. The program refuses the commands after it until the database answers
// again, and then settles the outcome.
func TestDatabaseFallsSilent(t *testing.T) {
	t.Parallel()
	proxy, uri := mongotest.StartProxy(t, mongotest.Start(t))
	p := startProgram(t, t.TempDir(), "serve", "--mongodb-uri", uri)
	known := &votes{acknowledged: map[string]bool{}, sent: map[string]bool{"Ufirst": true}}
	known.try(t, p, "before")

	silent := make(chan struct{})
	var once sync.Once
	proxy.Inject(func(command string) faultproxy.Action {
		if command == "insert" {
			once.Do(func() {
				proxy.Blackhole(true)
				close(silent)
			})
		}
		return faultproxy.Action{}
	})
	first := make(chan fate, 1)
	go func() {
		f, _ := send(p, http.MethodPost, "/vote", sign(t, "viewer", "Ufirst"), `{"value":1}`, nil)
		first <- f
	}()
	<-silent
	wantReady(t, p, http.StatusServiceUnavailable)
	var others sync.WaitGroup
	for path, body := range map[string]string{"/vote": `{"value":1}`, "/vote?id=other": `{"value":1}`, "/rank": `{"key":"k"}`, "/accumulate": `{}`} {
		others.Go(func() { wantShed(t, p, http.MethodPost, path, body) })
		others.Go(func() { wantShed(t, p, http.MethodGet, path, "") })
	}
	others.Go(func() { wantShed(t, p, http.MethodPatch, "/viewer_state", `{"a":1}`) })
	others.Wait()
	select {
	case f := <-first:
		t.Errorf("fate %d of the first request was told before the others were refused", f)
		first <- f
	default:
	}

	proxy.Blackhole(false)
	wantReady(t, p, http.StatusOK)
	switch <-first {
	case stored:
		known.acknowledged["Ufirst"] = true
	case refused:
		t.Error("a vote that was sent to the database was refused")
	}
	for known.try(t, p, "after") != stored && !t.Failed() {
	}
	known.check(t, p)
}

// wantShed sends a request that the program must refuse with status 503.
func wantShed(t *testing.T, p *process, method, path, body string) {
	role := "viewer"
	if method == http.MethodGet {
		role = "backend"
	}
	res, err := p.exchange(method, path, sign(t, role, "Ushed"), body)
	if err != nil {
		t.Error(err)
		return
	}
	defer res.Body.Close()
	var answer struct{ Reason string }
	err = json.NewDecoder(res.Body).Decode(&answer)
	if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" || !strings.Contains(answer.Reason, "nothing was stored") {
		t.Errorf("%s %s: status %d, retry after %q, %q, %v", method, path, res.StatusCode, res.Header.Get("Retry-After"), answer.Reason, err)
	}
}

// try sends the vote of a new client and records its outcome.
func (v *votes) try(t *testing.T, p *process, kind string) fate {
	voter := "U" + kind + string(rune('a'+len(v.sent)%26)) + string(rune('a'+len(v.sent)/26))
	f, _ := send(p, http.MethodPost, "/vote", sign(t, "viewer", voter), `{"value":1}`, nil)
	v.sent[voter] = f != refused
	if f == stored {
		v.acknowledged[voter] = true
	}
	return f
}

// wantReady asks until the readiness probe has a status.
func wantReady(t *testing.T, p *process, want int) {
	t.Helper()
	wantStatus(t, p.admin+"/readyz", want)
}

// wantStatus asks until the answer has a status, and leaves the processor to the program
// meanwhile.
func wantStatus(t *testing.T, url string, want int) {
	t.Helper()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for ; t.Context().Err() == nil; <-again.C {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := res.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if res.StatusCode == want {
			return
		}
	}
}
