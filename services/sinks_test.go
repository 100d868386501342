package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/testing/mongotest"
	"github.com/acclaim-dev/acclaim/services/internal/testing/sinktest"
)

// sinkRegistry returns the sample registry with sinks of both kinds in it.
func sinkRegistry(t *testing.T, to *sinktest.Server, life string) string {
	t.Helper()
	sample, err := os.ReadFile(registryFile())
	if err != nil {
		t.Fatal(err)
	}
	sinks := fmt.Sprintf("\n  sinks: [{name: hook, webhook: {url: %q, secrets: [{value: aG9vay1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}}, {name: viewers, pubsub: {url: %q}}]", to.HookURL(life), to.PubSubURL(life))
	path := filepath.Join(t.TempDir(), "extensions.yaml")
	if err := os.WriteFile(path, []byte(strings.Replace(string(sample), "\n  sandbox:", sinks+"\n  sandbox:", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// faults are the moods of the receiving system during the first program's run. The
// test kills the program during the last one.
var faults = []sinktest.ServerMood{sinktest.ResetsRead, sinktest.Limits, sinktest.Errs, sinktest.Hangs}

// A program that is killed while its sinks fail leaves acknowledged changes
// undelivered. The next program delivers them: sinks of both kinds receive every
// message in order, and the values that a GET answers. A metric counts the events
// that it dropped.
func TestSinksThroughFaultsAndKills(t *testing.T) {
	t.Parallel()
	all := map[string]func() []string{"embedded": func() []string { return nil }}
	for name, start := range databases {
		all[name] = func() []string { return []string{"--mongodb-uri", start(t)} }
	}
	for name, flags := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := sinktest.Start(t, sinktest.Options{
				Prefix: "production:sample-extension:", Secret: "hook-key-of-more-than-32-bytes-0123456", Key: "sample-secret-that-everyone-knows",
				Mood: func(r sinktest.Request) sinktest.ServerMood {
					switch {
					case r.Life == "first":
						return faults[min(r.N, len(faults))-1]
					case len(r.Events) > 0 && r.Events[0].Name == "unwanted":
						return sinktest.Refuses
					case r.N == 1:
						return sinktest.Busy
					}
					return sinktest.Well
				},
			})
			dir, all := t.TempDir(), flags()
			p := startProgram(t, dir, "serve", append(all, "--sink-allow-private", "--extensions", sinkRegistry(t, to, "first"))...)
			for voter := 0; len(to.TriedRequests()) == 0; voter++ { // until the sinks are active
				voteFor(t, p, "first", voter)
			}
			said := writeMore(t, p, 0)
			awaitMood(to, sinktest.Hangs)
			if err := p.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = p.cmd.Wait() // it was killed
			p = startProgram(t, dir, "serve", append(all, "--sink-allow-private", "--extensions", sinkRegistry(t, to, "second"))...)
			said = writeMore(t, p, said)
			awaitAll(t, p, to, said)
			sayTo(t, p, "unwanted", said)
			awaitMood(to, sinktest.Refuses) // a refused request drops all events in it
			sayTo(t, p, "tick", said)
			awaitAll(t, p, to, said+1)
			if dead, want := metric(t, p, "acclaim_sink_events_dropped_total"), countRefused(to); dead != want || dead < 2 {
				t.Errorf("the metrics tell of %d dead events, want %d, at least one of each sink", dead, want)
			}
		})
	}
}

// countRefused returns the number of events in refused requests. A publication can hold
// a late event of another poll beside the unwanted one.
func countRefused(to *sinktest.Server) (events int) {
	for _, r := range to.TriedRequests() {
		if r.Mood == sinktest.Refuses {
			events += len(r.Events)
		}
	}
	return events
}

// awaitMood waits until the sinks of both kinds have met a mood.
func awaitMood(to *sinktest.Server, mood sinktest.ServerMood) {
	to.Await(func(_ map[string][]sinktest.Event, tried []sinktest.Request) bool {
		met := map[string]bool{}
		for _, r := range tried {
			met[r.Path] = met[r.Path] || r.Mood == mood
		}
		return met["/hook"] && met["/pubsub"]
	})
}

// writeMore votes, writes a state and publishes a message, and returns the number of
// the next message.
func writeMore(t *testing.T, p *process, said int) int {
	t.Helper()
	for range 5 {
		voteFor(t, p, "p", said)
		sayTo(t, p, "tick", said)
		said++
	}
	if f, why := send(p, http.MethodPatch, "/channel_state", sign(t, "broadcaster", "B"), fmt.Sprintf(`{"said":%d}`, said), nil); f != stored {
		t.Fatal(why)
	}
	return said
}

func sayTo(t *testing.T, p *process, event string, n int) {
	t.Helper()
	body := fmt.Sprintf(`{"event":%q,"data":%d}`, event, n)
	if f, why := send(p, http.MethodPost, "/broadcast", sign(t, "broadcaster", "B"), body, nil); f != stored {
		t.Fatal(why)
	}
}

// awaitAll waits until both sinks have received all messages and the last values. It
// hangs if they never do.
func awaitAll(t *testing.T, p *process, to *sinktest.Server, said int) {
	t.Helper()
	var count struct{ Count int }
	if f, why := send(p, http.MethodGet, "/vote?id=p", sign(t, "viewer", "U"), "", &count); f != stored {
		t.Fatal(why)
	}
	to.Await(func(taken map[string][]sinktest.Event, _ []sinktest.Request) bool {
		for _, path := range []string{"/hook", "/pubsub"} {
			last, next := sinktest.Last(taken[path]), 0
			for _, e := range taken[path] {
				if e.Name == "tick" && string(e.Data) == fmt.Sprint(next) {
					next++
				}
			}
			if next != said || !strings.Contains(last["vote_update:p"], fmt.Sprintf(`"count":%d,`, count.Count)) ||
				last["channel_state_update"] == "" {
				return false
			}
		}
		return true
	})
}

// Sinks do not deliver entries that an import adds to a store with existing sink
// positions. They deliver only later changes.
func TestImportIsNotDelivered(t *testing.T) {
	t.Parallel()
	source := t.TempDir()
	p := startProgram(t, source, "serve")
	for poll := range 20 {
		voteFor(t, p, fmt.Sprint("imported-", poll), 1)
	}
	for path, role := range map[string]string{"/channel_state": "broadcaster", "/extension_state": "backend"} {
		if f, why := send(p, http.MethodPatch, path, sign(t, role, "B"), `{"a":1}`, nil); f != stored {
			t.Fatal(why)
		}
	}
	p.end(t)
	file := mustExport(t, "--data-dir", source)
	for name, flags := range map[string]func() []string{
		"embedded": func() []string { return []string{"--data-dir", t.TempDir()} },
		"database": func() []string { return []string{"--mongodb-uri", mongotest.WithLongTimeouts(mongotest.Start(t))} },
	} {
		t.Run(name, func(t *testing.T) {
			to, store := sinktest.Start(t, sinktest.Options{
				Prefix: "production:sample-extension:", Secret: "hook-key-of-more-than-32-bytes-0123456", Key: "sample-secret-that-everyone-knows",
			}), flags()
			all := append(slices.Clone(store), "--sink-allow-private", "--extensions", sinkRegistry(t, to, "only"))
			told := func() map[string]string { return sinktest.Last(to.TakenEvents("/hook")) }
			// awaitDelivery votes until the sink has delivered the change.
			awaitDelivery := func(p *process, poll string) {
				for voter := 0; told()["vote_update:"+poll] == ""; voter++ {
					voteFor(t, p, poll, voter)
				}
			}
			p := startProgram(t, t.TempDir(), "serve", all...)
			awaitDelivery(p, "before")
			p.end(t)
			mustImport(t, file, store...)
			p = startProgram(t, t.TempDir(), "serve", all...)
			awaitDelivery(p, "after")
			awaitDelivery(p, "imported-7")
			for event := range told() {
				if !slices.Contains([]string{"vote_update:before", "vote_update:after", "vote_update:imported-7"}, event) {
					t.Errorf("other systems were told of %s", event)
				}
			}
		})
	}
}

func voteFor(t *testing.T, p *process, id string, voter int) {
	t.Helper()
	status, err := p.do(http.MethodPost, "/vote?id="+id, sign(t, "viewer", fmt.Sprint("U", voter)), `{"value":1}`, nil)
	if err != nil || status != http.StatusOK {
		t.Fatalf("status %d, %v", status, err)
	}
}
