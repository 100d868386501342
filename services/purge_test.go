package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/store/mongostore"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/admin"
	"github.com/acclaim-dev/acclaim/services/ranking"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// What viewers invented can be purged in a running program and, when it has ended, by the
// command; neither touches what is younger than an hour.
func TestPurge(t *testing.T) {
	t.Parallel()
	t.Run("embedded", func(t *testing.T) {
		dir := t.TempDir()
		testPurge(t, dir, "--data-dir", dir)
	})
	for name, start := range databases {
		t.Run(name, func(t *testing.T) { testPurge(t, t.TempDir(), "--mongodb-uri", start(t)) })
	}
}

func testPurge(t *testing.T, dir string, store ...string) {
	p := startProgram(t, dir, "serve", store...)
	for _, id := range []string{"globala", "globalb", "c"} {
		if status, err := p.do(http.MethodPost, "/vote?id="+id, sign(t, "viewer", "U1"), `{"value":1}`, nil); err != nil || status != http.StatusOK {
			t.Fatalf("status %d, %v", status, err)
		}
	}
	for name, test := range map[string]struct {
		role, body string
		status     int
		reason     string
	}{
		"viewer":         {"viewer", `{"environment":"production","olderThan":"1h"}`, http.StatusForbidden, "not allowed"},
		"too young":      {"backend", `{"environment":"production","olderThan":"59m"}`, http.StatusBadRequest, "at least 1h"},
		"no age":         {"backend", `{"environment":"production"}`, http.StatusBadRequest, "olderThan"},
		"no environment": {"backend", `{"olderThan":"1h"}`, http.StatusBadRequest, "environment"},
		"wrong kind":     {"backend", `{"environment":"production","olderThan":"1h","kind":"message"}`, http.StatusBadRequest, "message"},
		"nothing":        {"backend", `{"environment":"production","olderThan":"1h","kind":"poll"}`, http.StatusOK, `{"kinds":{"poll":{"searched":3,"found":0,"entries":0,"bytes":0}},"names":[],"problems":[]}`},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.admin+"/purge", strings.NewReader(test.body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", sign(t, test.role, ""))
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if answer := string(body); response.StatusCode != test.status || !strings.Contains(answer, test.reason) {
			t.Errorf("%s: %d %s, want %d %s", name, response.StatusCode, answer, test.status, test.reason)
		}
	}
	p.end(t)
	command := append([]string{"purge", "--extension", sampleExtension}, store...)
	out, problem, status := runCommand(t, nil, append(command, "--older-than", "1h", "--prefix", "global")...)
	if status != 0 || !strings.Contains(out, "poll         3      0") {
		t.Errorf("status %d, %s, %s", status, out, problem)
	}
	if _, problem, status := runCommand(t, nil, command...); status != exitFailed || !strings.Contains(problem, "--older-than") {
		t.Errorf("status %d, %s", status, problem)
	}
}

// Two programs share a database and have polls, a buffer and a question in memory. A purge
// by a third process removes those of one prefix from both, while votes arrive in all; what
// is acknowledged later stays.
func TestPurgeBesidePrograms(t *testing.T) {
	t.Parallel()
	for name, start := range databases {
		t.Run(name, func(t *testing.T) { testPurgeBesidePrograms(t, start(t)) })
	}
}

func testPurgeBesidePrograms(t *testing.T, uri string) {
	f := startFleet(t, []string{uri}, 2)
	backend := sign(t, "backend", "")
	write := func(path, body string) {
		for i := range 2 {
			if f, why := send(f.any(i), http.MethodPost, path, signViewer(t, fmt.Sprintf("U-%d", i), ""), body, nil); f != stored {
				t.Errorf("%s: %s", path, why)
			}
		}
	}
	count := func(i int, id string) int {
		var tally struct{ Count int }
		if f, why := send(f.any(i), http.MethodGet, "/vote?id="+id, backend, "", &tally); f != stored {
			t.Fatal(why)
		}
		return tally.Count
	}
	for _, path := range []string{"/vote?id=old1", "/vote?id=old2", "/vote?id=kept"} {
		write(path, `{"value":1}`)
	}
	write("/accumulate?id=old", `{"n":1}`)
	write("/rank?id=old", `{"key":"tea"}`)

	store, err := mongostore.Open(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	polls := voting.NewService(store, stream.SystemClock(), stream.Options{})
	buffers := accumulation.NewService(store, stream.SystemClock(), stream.Options{})
	questions := ranking.NewService(store, stream.SystemClock(), stream.Options{AllowEqualTimestamps: true})
	domains := admin.Domains{voting.Kind: {Purger: polls}, accumulation.Kind: {Purger: buffers}, ranking.Kind: {Purger: questions}}
	purges := admin.NewPurgeService(store, domains, nil, laterClock{}.Now)
	filter := admin.PurgeFilter{Extension: sampleExtension, Environment: tenant.Production, Prefix: "old", OlderThan: time.Hour}

	const voters, rounds = 4, 10
	var votes sync.WaitGroup
	for v := range voters {
		votes.Go(func() {
			for i := range rounds {
				header := signViewer(t, fmt.Sprintf("U-%d-%d", v, i), "")
				for _, id := range []string{"kept", "old1"} {
					if f, why := send(f.any(v+i), http.MethodPost, "/vote?id="+id, header, `{"value":1}`, nil); f != stored {
						t.Errorf("a vote failed: %s", why)
					}
				}
			}
		})
	}
	report, err := purges.Purge(t.Context(), filter, func(int) {})
	if err != nil || report.Total().Found != 4 || len(report.Problems) != 0 {
		t.Errorf("purged %+v, %v, want 4 streams", report, err)
	}
	votes.Wait()
	if n := count(0, "old1"); n > voters*rounds || n != count(1, "old1") {
		t.Errorf("%d and %d votes are left of %d", n, count(1, "old1"), voters*rounds)
	}
	if _, err := purges.Purge(t.Context(), filter, func(int) {}); err != nil {
		t.Error(err)
	}
	for i := range 2 {
		if old, kept := count(i, "old1")+count(i, "old2"), count(i, "kept"); old != 0 || kept != 2+voters*rounds {
			t.Errorf("the program counts %d purged votes and %d others, want 0 and %d", old, kept, 2+voters*rounds)
		}
		for _, path := range []string{"/accumulate?id=old", "/rank?id=old"} {
			var list struct{ Data []any }
			if f, why := send(f.any(i), http.MethodGet, path, backend, "", &list); f != stored || len(list.Data) != 0 {
				t.Errorf("%s has %v %s", path, list.Data, why)
			}
		}
	}
	write("/vote?id=old1", `{"value":1}`)
	if n := count(0, "old1"); n != 2 || n != count(1, "old1") {
		t.Errorf("after the purge %d votes are counted, want 2", n)
	}
	if err := errors.Join(polls.Close(t.Context()), buffers.Close(t.Context()), questions.Close(t.Context()), store.Close(context.WithoutCancel(t.Context()))); err != nil {
		t.Error(err)
	}
	if out, status := runVerify(t, "--mongodb-uri", uri); status != 0 {
		t.Errorf("verify: status %d\n%s", status, out)
	}
}
