package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// stub is the least server that the loads can be checked against. Its fields
// say what it does wrong.
type stub struct {
	loseEvery int // writes that are acknowledged and not stored: every nth
	refuse    int // status of all answers, when not 0

	mu        sync.Mutex
	writes    int
	votes     map[string]map[string]int64 // poll, credential
	logged    map[string]int64
	entries   []json.RawMessage
	documents map[string]map[string]int64
}

// startStub returns the address of a stub and a client of it.
func startStub(t *testing.T, s *stub) (string, *client) {
	t.Helper()
	s.votes, s.logged, s.documents = map[string]map[string]int64{}, map[string]int64{}, map[string]map[string]int64{}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://"), &client{base: server.URL + "/v1", admin: server.URL, credential: "bench backend"}
}

func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse != 0 {
		w.WriteHeader(s.refuse)
		return
	}
	lost := false
	if r.Method != http.MethodGet {
		s.writes++
		lost = s.loseEvery > 0 && s.writes%s.loseEvery == 0
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	_, _ = fmt.Fprint(w, s.answer(r, body, lost))
}

func (s *stub) answer(r *http.Request, body []byte, lost bool) string {
	id, caller := r.URL.Query().Get("id"), r.Header.Get("Authorization")
	switch r.Method + " " + r.URL.Path {
	case "POST /v1/vote":
		if !lost {
			s.vote(id, caller, body)
		}
		return s.statistics(id)
	case "GET /v1/vote":
		return s.statistics(id)
	case "GET /v1/vote_logs":
		return `{"result":[` + strings.TrimSuffix(strings.Repeat(`{"value":1,"timestamp":2},`, int(s.logged[id])), ",") + `]}`
	case "POST /v1/accumulate":
		if !lost {
			s.entries = append(s.entries, body)
		}
	case "GET /v1/accumulate":
		return s.page(r.URL.Query().Get("start"))
	case "PATCH /v1/channel_state":
		if !lost {
			s.patch(caller, body)
		}
	case "GET /v1/channel_state":
		out, _ := json.Marshal(s.documents[caller]) // a map of numbers
		return string(out)
	case "GET /metrics":
		return "# HELP a b\na_total 3\nb_bytes{kind=\"x\"} 1.5e+06\nb_bytes{kind=\"y\"} 2\n"
	default:
		panic(r.Method + " " + r.URL.Path)
	}
	return "{}"
}

func (s *stub) vote(poll, caller string, body []byte) {
	var vote struct{ Value int64 }
	if err := json.Unmarshal(body, &vote); err != nil {
		panic(err)
	}
	if s.votes[poll] == nil {
		s.votes[poll] = map[string]int64{}
	}
	s.votes[poll][caller] = vote.Value
	s.logged[poll]++
}

func (s *stub) statistics(poll string) string {
	var sum int64
	for _, value := range s.votes[poll] {
		sum += value
	}
	return fmt.Sprintf(`{"count":%d,"sum":%d}`, len(s.votes[poll]), sum)
}

// page returns up to 100 entries; the cursor is the number of entries before.
func (s *stub) page(start string) string {
	var from int
	if _, err := fmt.Sscan(start, &from); err != nil {
		panic(err)
	}
	var entries []string
	for _, entry := range s.entries[from:min(from+100, len(s.entries))] {
		entries = append(entries, `{"observed":1,"data":`+string(entry)+`}`)
	}
	return fmt.Sprintf(`{"data":[%s],"latest":%d}`, strings.Join(entries, ","), from+len(entries))
}

func (s *stub) patch(caller string, body []byte) {
	if s.documents[caller] == nil {
		s.documents[caller] = map[string]int64{}
	}
	document := s.documents[caller]
	if err := json.Unmarshal(body, &document); err != nil {
		panic(err)
	}
}
