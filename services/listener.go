package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/acclaim-dev/acclaim/services/internal/httpapi"
)

// listener answers from the start, so that a process that waits for its database is
// known to live and not to be ready. What it answers changes once there is something
// to serve.
type listener struct {
	*http.Server
	address net.Addr
	handler atomic.Pointer[http.Handler]
}

// listen starts a listener. What ends it but being closed goes to failed, which must
// have room for it.
func listen(ctx context.Context, address string, first http.Handler, logger *slog.Logger, failed chan<- error) (*listener, error) {
	var config net.ListenConfig
	socket, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	l := &listener{address: socket.Addr()}
	l.answer(first)
	l.Server = httpapi.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		(*l.handler.Load()).ServeHTTP(w, r)
	}), logger)
	go func() {
		if err := l.Serve(socket); !errors.Is(err, http.ErrServerClosed) {
			failed <- err
		}
	}()
	return l, nil
}

// answer changes what answers from now on.
func (l *listener) answer(handler http.Handler) { l.handler.Store(&handler) }
