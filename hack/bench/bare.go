package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// bareCommand is the argument with which this program serves the bare handler
// instead of measuring. It is not an option: only startBare passes it.
const bareCommand = "bare"

// bareAnswer has the size of the statistics that a vote is answered with.
var bareAnswer = []byte(`{"padding":"` + strings.Repeat("x", 420) + `"}`) //nolint:gochecknoglobals // never written

// startBare starts this program as a server that does nothing but HTTP: the least
// processor time that a request over net/http can take on this machine.
func startBare(ctx context.Context) (*program, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return startCommand(ctx, nil, self, bareCommand)
}

// serveBare reads each body, answers with as many bytes as the program would and
// serves until ctx is done.
func serveBare(ctx context.Context, stdout io.Writer) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(stdout, "ready base=http://%[1]s/v1 admin=http://%[1]s\n", listener.Addr())
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(bareAnswer)
	})}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
