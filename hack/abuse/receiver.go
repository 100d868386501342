package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// sinkReceiver is another system, to which sinks of the victims' extension deliver. It
// accepts every delivery and remembers the broadcasts in it.
type sinkReceiver struct {
	server  *http.Server
	address string

	mu   sync.Mutex
	said map[string]map[int64]bool // numbers of broadcasts by path
	poll map[string]time.Time      // the last vote in the main poll, by path
}

const (
	webhookPath = "/webhook"
	pubsubPath  = "/pubsub"
)

func startReceiver(ctx context.Context) (*sinkReceiver, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &sinkReceiver{address: "http://" + listener.Addr().String(),
		said: map[string]map[int64]bool{webhookPath: {}, pubsubPath: {}}, poll: map[string]time.Time{}}
	r.server = &http.Server{Handler: http.HandlerFunc(r.receive), ReadHeaderTimeout: grace}
	go func() { _ = r.server.Serve(listener) }() // until it is closed
	return r, nil
}

func (r *sinkReceiver) receive(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return // cut off: it comes again
	}
	// The platform's pub/sub has the envelopes in a string.
	var platform struct{ Message string }
	if err := json.Unmarshal(body, &platform); err == nil && platform.Message != "" {
		body = []byte(platform.Message)
	}
	envelopes := []json.RawMessage{body}
	if bytes.HasPrefix(body, []byte("[")) {
		_ = json.Unmarshal(body, &envelopes) // what cannot be read is missing below
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, envelope := range envelopes {
		r.note(request.URL.Path, envelope)
	}
	w.WriteHeader(http.StatusNoContent)
}

// note remembers a broadcast or a state of the main poll.
func (r *sinkReceiver) note(path string, envelope []byte) {
	if m, ok := parseSaid(envelope); ok && r.said[path] != nil {
		r.said[path][m.N] = true
	}
	if !bytes.Contains(envelope, []byte(`:vote_update:`+mainPoll+`"`)) {
		return
	}
	var e struct {
		Data struct {
			Stats struct {
				Decay struct {
					Nudged int64 `json:"last_nudged"` // milliseconds
				}
			}
		}
	}
	if json.Unmarshal(envelope, &e) == nil {
		r.poll[path] = time.UnixMilli(e.Data.Stats.Decay.Nudged)
	}
}

// staleness returns how much older than a time the last delivered state of the main
// poll is, by the slower way.
func (r *sinkReceiver) staleness(at time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return max(0, at.Sub(r.poll[webhookPath]), at.Sub(r.poll[pubsubPath]))
}

// countMissing returns how many of the first n broadcasts have not arrived, by path.
func (r *sinkReceiver) countMissing(n int64) map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	missing := map[string]int{}
	for path, said := range r.said {
		for number := range n {
			if !said[number+1] {
				missing[path]++
			}
		}
	}
	return missing
}

// startHanging listens, accepts connections and never answers. It returns the
// address and ends with ctx.
func startHanging(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			context.AfterFunc(ctx, func() { _ = conn.Close() })
		}
	}()
	return "http://" + listener.Addr().String(), nil
}
