package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/acclaim-dev/acclaim/services/internal/httpapi"
	"github.com/acclaim-dev/acclaim/services/internal/telemetry"
)

// admin is the listener of probes and metrics. It is there before anything else,
// so that a process that waits for its database is known to live and not to be
// ready.
type admin struct {
	server  *http.Server
	address net.Addr
	handler atomic.Pointer[http.Handler]
	failed  chan error
}

// startAdmin answers that nothing is ready.
func startAdmin(ctx context.Context, address string, metrics *telemetry.Metrics, logger *slog.Logger) (*admin, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--admin-listen: %w", err)
	}
	a := &admin{address: listener.Addr(), failed: make(chan error, 1)}
	starting := func(context.Context) error { return errors.New("starting") }
	a.answer(httpapi.NewAdmin(starting, metrics.Registry, nil))
	a.server = httpapi.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		(*a.handler.Load()).ServeHTTP(w, r)
	}), logger)
	go func() {
		if err := a.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			a.failed <- err
		}
	}()
	return a, nil
}

// answer changes what answers from now on.
func (a *admin) answer(handler http.Handler) { a.handler.Store(&handler) }

// Close ends it at once.
func (a *admin) Close() error { return a.server.Close() }
