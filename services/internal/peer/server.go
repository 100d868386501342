package peer

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// ServeFunc runs a request that a peer sent to an engine. An error means that the
// request is malformed.
type ServeFunc func(ctx context.Context, request []byte) (answer []byte, err error)

func (n *Node) newServer() *http.Server {
	return &http.Server{
		Handler:           http.HandlerFunc(n.handleRequest),
		TLSConfig:         n.identity.tlsConfig(n.acceptsDigest),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          n.errorLog(),
		TLSNextProto:      noHTTP2(),
	}
}

// handleRequest answers a probe at / and requests to an engine at its kind.
func (n *Node) handleRequest(w http.ResponseWriter, r *http.Request) {
	if n.left.Load() {
		http.Error(w, "leaving", http.StatusGone)
		return
	}
	if asked := cmp.Or(r.Header.Get(wireHeader), "1"); asked != n.wire {
		http.Error(w, fmt.Sprintf("requests between processes have version %s here, not %s", n.wire, asked), http.StatusUpgradeRequired)
		return
	}
	kind := strings.TrimPrefix(r.URL.Path, "/")
	if kind == "" {
		_, _ = w.Write([]byte{finished})
		return
	}
	serve, ok := n.engines[kind]
	if !ok {
		http.NotFound(w, r)
		return
	}
	request, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	if err != nil {
		http.Error(w, "the request did not arrive whole", http.StatusBadRequest)
		return
	}
	n.writeAnswer(w, r, serve, request)
}

// writeAnswer runs a request and sends a byte every tick until the answer is ready.
func (n *Node) writeAnswer(w http.ResponseWriter, r *http.Request, serve ServeFunc, request []byte) {
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
				n.config.Logger.Error("a peer sent a malformed request", "error", res.err)
				http.Error(w, "malformed request", http.StatusBadRequest)
			}
			return
		}
	}
}
