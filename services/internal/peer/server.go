package peer

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"
)

// Serve deals with a request that a peer sent to an engine. An error means that
// the request makes no sense.
type Serve func(ctx context.Context, request []byte) (answer []byte, err error)

func (n *Node) server() *http.Server {
	return &http.Server{
		Handler:           http.HandlerFunc(n.handle),
		TLSConfig:         n.identity.config(n.accepts),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          n.errorLog(),
		TLSNextProto:      noHTTP2(),
	}
}

// handle answers a probe at / and requests to an engine below its name.
func (n *Node) handle(w http.ResponseWriter, r *http.Request) {
	if n.left.Load() {
		http.Error(w, "leaving", http.StatusGone)
		return
	}
	kind := strings.TrimPrefix(r.URL.Path, "/")
	if kind == "" {
		_, _ = w.Write([]byte{finished})
		return
	}
	serve, ok := n.config.Engines[kind]
	if !ok {
		http.NotFound(w, r)
		return
	}
	request, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	if err != nil {
		http.Error(w, "the request did not arrive whole", http.StatusBadRequest)
		return
	}
	n.answer(w, r, serve, request)
}

// answer runs a request and, while that takes its time, shows signs of life.
func (n *Node) answer(w http.ResponseWriter, r *http.Request, serve Serve, request []byte) {
	type result struct {
		answer []byte
		err    error
	}
	done := make(chan result, 1)
	go func() {
		answer, err := serve(r.Context(), request)
		done <- result{answer, err}
	}()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	started := false
	for {
		select {
		case <-ticker.C:
			started = true
			_, _ = w.Write([]byte{working})
			_ = http.NewResponseController(w).Flush()
		case res := <-done:
			switch {
			case res.err == nil:
				_, _ = w.Write(append([]byte{finished}, res.answer...))
			case started:
				panic(http.ErrAbortHandler) // it is too late for a status
			default:
				n.config.Logger.Error("a peer sent what makes no sense", "error", res.err)
				http.Error(w, "malformed request", http.StatusBadRequest)
			}
			return
		}
	}
}
