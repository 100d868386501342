package cli

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/acclaim-dev/acclaim/services/internal/feed/publish"
	"github.com/acclaim-dev/acclaim/services/internal/process/app"
)

// apiServer serves one ConfigMap, as an API server does.
type apiServer struct {
	t        *testing.T
	token    string
	absent   bool
	data     map[string]string
	version  int
	status   map[string]int // refusals by method
	between  []string       // marks that others store before a change
	requests []string
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests = append(s.requests, r.Method)
	status := s.status[r.Method]
	switch {
	case r.URL.Path != "/api/v1/namespaces/games/configmaps/quiz-result-log-mark" || s.absent:
		status = http.StatusNotFound
	case r.Header.Get("Authorization") != "Bearer "+s.token:
		status = http.StatusUnauthorized
	case status == 0 && r.Method == http.MethodPatch:
		status = s.change(r)
	}
	if status != 0 {
		http.Error(w, `{"kind":"Status"}`, status)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"metadata": map[string]any{"resourceVersion": strconv.Itoa(s.version)}, "data": s.data})
}

// change merges a patch, as the API server does.
func (s *apiServer) change(r *http.Request) int {
	if len(s.between) > 0 {
		s.set(s.between[0])
		s.between = s.between[1:]
	}
	var patch struct {
		Metadata struct{ ResourceVersion string }
		Data     map[string]string
	}
	if err := json.NewDecoder(r.Body).Decode(&patch); err != nil || r.Header.Get("Content-Type") != "application/merge-patch+json" {
		return http.StatusBadRequest
	}
	if named := patch.Metadata.ResourceVersion; named != "" && named != strconv.Itoa(s.version) {
		return http.StatusConflict
	}
	s.set(patch.Data["checkpoint"])
	return 0
}

func (s *apiServer) set(checkpoint string) {
	s.data = map[string]string{"checkpoint": checkpoint}
	s.version++
}

// start serves and returns a mark that reaches it, and the folder of the pod's account.
func (s *apiServer) start() (*configMapMark, string) {
	s.t.Helper()
	server := httptest.NewTLSServer(s)
	s.t.Cleanup(server.Close)
	folder := s.t.TempDir()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	for name, content := range map[string]string{"namespace": "games", "token": s.token + "\n", "ca.crt": string(authority)} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	place, err := url.Parse(server.URL)
	if err != nil {
		s.t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(place.Host)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Setenv("KUBERNETES_SERVICE_HOST", host)
	s.t.Setenv("KUBERNETES_SERVICE_PORT", port)
	mark, err := newConfigMapMark("quiz-result-log-mark", folder)
	if err != nil {
		s.t.Fatal(err)
	}
	return mark, folder
}

// checkpointOf returns a checkpoint whose signature is not looked at.
func checkpointOf(size int, root string) string {
	const origin = "a"
	return origin + "\n" + strconv.Itoa(size) + "\n" + root + "\n\n— " + origin + " c2ln\n"
}

// A mark in a ConfigMap is replaced with one request, and only by a process that has its present version.
func TestConfigMapMark(t *testing.T) {
	one, two, three := checkpointOf(1, "r1"), checkpointOf(2, "r2"), checkpointOf(3, "r3")
	for name, test := range map[string]struct {
		server   apiServer
		loadErr  string
		storeErr string
		left     string // after two was stored
	}{
		"no mark yet":           {apiServer{}, "", "", two},
		"older":                 {apiServer{data: map[string]string{"checkpoint": one, "other": "x"}}, "", "", two},
		"others store":          {apiServer{between: []string{three}}, "", "changed meanwhile", three},
		"no ConfigMap":          {apiServer{absent: true}, "404", "404", ""},
		"no right to read":      {apiServer{status: map[string]int{"GET": 403}, data: map[string]string{"checkpoint": one}}, "403", "", two},
		"no right to change":    {apiServer{status: map[string]int{"PATCH": 403}}, "", "403", ""},
		"the server is failing": {apiServer{status: map[string]int{"GET": 500, "PATCH": 500}}, "500", "500", ""},
		"elsewhere":             {apiServer{status: map[string]int{"GET": 307, "PATCH": 307}}, "307", "307", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := &test.server
			s.t, s.token, s.version = t, "first", 7
			mark, _ := s.start()
			loaded, err := mark.Load(t.Context())
			checkError(t, err, test.loadErr)
			if err == nil && (string(loaded.Checkpoint) != s.data["checkpoint"] || (loaded.Checkpoint == nil) != (s.data == nil)) {
				t.Errorf("loads %q", loaded)
			}
			mark.failure, s.requests = nil, nil
			if _, err := mark.Replace(t.Context(), publish.Marked{}, []byte(two)); !errors.Is(err, publish.ErrMarkChanged) || s.requests != nil {
				t.Errorf("storing without a load: %v after %q", err, s.requests)
			}
			loaded.Version = "7" // also where it was not loaded
			stored, err := mark.Replace(t.Context(), loaded, []byte(two))
			checkError(t, err, test.storeErr)
			if s.data["checkpoint"] != test.left || len(s.requests) != 1 {
				t.Errorf("leaves %q after %q", s.data["checkpoint"], s.requests)
			}
			if err != nil {
				return
			}
			if again, err := mark.Replace(t.Context(), stored, []byte(three)); err != nil || string(again.Checkpoint) != three {
				t.Errorf("the next one: %q, %v", again, err)
			}
		})
	}
}

// Of processes that replace the mark in a file at the same time, one does; the others get an error.
func TestFileMark(t *testing.T) {
	name := filepath.Join(t.TempDir(), "mark")
	var replaced []string
	for round := range 5 {
		old, err := fileMark(name).Load(t.Context())
		if err != nil || len(replaced) != round || round > 0 && string(old.Checkpoint) != replaced[round-1] {
			t.Fatalf("round %d loads %q, %v, after %q", round, old.Checkpoint, err, replaced)
		}
		var all sync.WaitGroup
		var mu sync.Mutex
		for i := range 8 {
			all.Go(func() {
				text := checkpointOf(round, strconv.Itoa(i))
				_, err := fileMark(name).Replace(t.Context(), old, []byte(text))
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					replaced = append(replaced, text)
				} else if !errors.Is(err, publish.ErrMarkChanged) {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	_, err := fileMark(name).Replace(t.Context(), publish.Marked{}, []byte(checkpointOf(9, "r")))
	checkError(t, err, "changed meanwhile") // without a load
}

func checkError(t *testing.T, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// Kubernetes replaces the token of a pod that runs.
func TestConfigMapMarkReadsTheTokenAgain(t *testing.T) {
	s := &apiServer{t: t, token: "first"}
	mark, folder := s.start()
	if _, err := mark.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.token = "second"
	_, err := mark.Load(t.Context())
	checkError(t, err, "401")
	if err := os.WriteFile(filepath.Join(folder, "token"), []byte("second"), 0o600); err != nil {
		t.Fatal(err)
	}
	requests := len(s.requests)
	_, err = mark.Load(t.Context())
	if checkError(t, err, "401"); len(s.requests) != requests {
		t.Error("asks again at once after a failure")
	}
	mark.failedAt = mark.failedAt.Add(-markPause)
	_, err = mark.Load(t.Context())
	checkError(t, err, "")
}

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A silent API server holds a signer for two seconds, and those behind it not at all. A caller that
// goes is no failure of the API server.
func TestConfigMapMarkOfASilentServer(t *testing.T) {
	s := &apiServer{t: t, token: "first"}
	mark, _ := s.start()
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		mark.client = &http.Client{Transport: transportFunc(func(r *http.Request) (*http.Response, error) {
			requests++
			<-r.Context().Done()
			return nil, r.Context().Err()
		})}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := mark.Load(gone); !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that has gone gets %v", err)
		}
		for range 5 {
			if _, err := mark.Replace(t.Context(), publish.Marked{Version: "7"}, []byte(checkpointOf(1, "r"))); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("storing returns %v", err)
			}
		}
		if requests != 2 {
			t.Errorf("%d requests", requests)
		}
	})
}

// Outside of a pod, a ConfigMap is refused when the program starts.
func TestConfigMapMarkOutsideOfAPod(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	_, err := (&resultLogFlags{mark: "configmap:quiz"}).complete(app.ResultSigning{})
	checkError(t, err, "--result-log-mark: a ConfigMap needs a pod")
}
