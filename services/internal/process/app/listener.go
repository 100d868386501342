package app

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/acclaim-dev/acclaim/services/internal/face/httpapi"
)

// httpListener answers from the start: a process that waits for its database is alive and
// not ready. Its handler changes when there is something to serve.
type httpListener struct {
	*http.Server
	address net.Addr
	handler atomic.Pointer[http.Handler]
}

// listen starts a listener, with TLS where there is a certificate. An error that ends it,
// other than being closed, goes to failed, which must have room for it.
func listen(ctx context.Context, machine Machine, address string, limit connectionLimit, certificate certificateSource, first http.Handler, logger *slog.Logger, failed chan<- error) (*httpListener, error) {
	socket, err := machine.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	socket = limitListener(socket, limit)
	l := &httpListener{address: socket.Addr()}
	l.setHandler(first)
	l.Server = httpapi.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		(*l.handler.Load()).ServeHTTP(w, r)
	}), logger)
	serve := func() error { return l.Serve(socket) }
	if certificate != nil {
		l.TLSConfig = certificate.config()
		serve = func() error { return l.ServeTLS(socket, "", "") } // with the configured certificate
	}
	go func() {
		if err := serve(); !errors.Is(err, http.ErrServerClosed) {
			failed <- err
		}
	}()
	return l, nil
}

func (l *httpListener) setHandler(handler http.Handler) { l.handler.Store(&handler) }
