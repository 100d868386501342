package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/mongotest"
)

// hook is another system: it takes no event before it is opened.
type hook struct {
	*httptest.Server
	tried chan struct{}       // something came while it was closed
	heard chan map[string]int // votes by poll, of each event that was taken
	open  chan struct{}       // closed when it is
}

func startHook(t *testing.T) *hook {
	h := &hook{tried: make(chan struct{}, 1), heard: make(chan map[string]int, 1000), open: make(chan struct{})}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-h.open:
		default:
			select {
			case h.tried <- struct{}{}:
			default:
			}
			http.Error(w, "not yet", http.StatusServiceUnavailable)
			return
		}
		var e struct {
			Event string
			Data  struct {
				ID    string
				Stats struct{ Count int }
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&e); err != nil || r.Header.Get("Acclaim-Signature") == "" {
			t.Errorf("%v, %v", err, r.Header)
		}
		h.heard <- map[string]int{e.Data.ID: e.Data.Stats.Count}
	}))
	t.Cleanup(h.Close)
	return h
}

// sinkRegistry returns the sample registry with a webhook in it.
func sinkRegistry(t *testing.T, url string) string {
	t.Helper()
	sample, err := os.ReadFile(registryFile())
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(sample), "\n  sandbox:", fmt.Sprintf("\n  sinks: [{name: hook, webhook: {url: %q, secrets: [{value: aG9vaw==}]}}]\n  sandbox:", url), 1)
	path := filepath.Join(t.TempDir(), "extensions.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// What was acknowledged before a process was killed, and not delivered yet, is
// delivered by the one after it.
func TestSinkAfterKill(t *testing.T) {
	for name, flags := range map[string]func() []string{
		"embedded": func() []string { return nil },
		"database": func() []string { return []string{"--mongodb-uri", mongotest.Patient(mongotest.Start(t))} },
	} {
		t.Run(name, func(t *testing.T) {
			h, dir := startHook(t), t.TempDir()
			all := append(flags(), "--extensions", sinkRegistry(t, h.URL))
			p := startProgram(t, dir, "serve", all...)
			for voter := 0; len(h.tried) == 0; voter++ { // until the sink is in force
				voteFor(t, p, "first", voter)
			}
			for voter := range 5 {
				voteFor(t, p, "p", voter)
			}
			if err := p.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = p.cmd.Wait() // says that it was killed
			close(h.open)
			startProgram(t, dir, "serve", all...)
			for heard := range h.heard { // hangs if it is not delivered
				if count, ok := heard["p"]; ok {
					if count != 5 {
						t.Errorf("%d votes, want 5", count)
					}
					return
				}
			}
		})
	}
}

// What is imported into a store whose sinks have been at work is not told to other
// systems as if it were new, only what changes later.
func TestImportIsNotDelivered(t *testing.T) {
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
		"database": func() []string { return []string{"--mongodb-uri", mongotest.Patient(mongotest.Start(t))} },
	} {
		t.Run(name, func(t *testing.T) {
			h, store := startHook(t), flags()
			close(h.open)
			all := append(slices.Clone(store), "--extensions", sinkRegistry(t, h.URL))
			// hears votes until the sink tells of them, and returns what else it tells of.
			hears := func(p *process, poll string) (others []string) {
				for voter := 0; ; voter++ {
					voteFor(t, p, poll, voter)
					select {
					case heard := <-h.heard:
						if _, ok := heard[poll]; ok {
							return others
						}
						others = append(others, fmt.Sprint(heard))
					case <-time.After(100 * time.Millisecond): // it may not be in force yet
					}
				}
			}
			p := startProgram(t, t.TempDir(), "serve", all...)
			hears(p, "before")
			p.end(t)
			mustImport(t, file, store...)
			p = startProgram(t, t.TempDir(), "serve", all...)
			others := append(hears(p, "after"), hears(p, "imported-7")...)
			for _, heard := range others {
				if !strings.Contains(heard, "before") && !strings.Contains(heard, "after") {
					t.Errorf("other systems were told of %s", heard)
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
