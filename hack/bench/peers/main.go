// Command peers serves the votes of hack/bench from another store, for a comparison: the
// routes, the credentials and the JSON are those of the program, and behind them stands
// PostgreSQL, Redis or PocketBase. Each is set up so that a vote is on disk before its answer,
// counts once for each voter, and is otherwise as fast as we could make it.
//
// It serves what hack/bench measures and nothing else, and imports nothing of the program.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// run serves the peer that the arguments name, until ctx is done.
func run(ctx context.Context, args []string, stdout io.Writer) (err error) {
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	dir := flags.String("data-dir", "", "empty `directory` for the peer's files")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *dir == "" || flags.NArg() != 1 {
		return errors.New("usage: peers -data-dir DIRECTORY postgresql|redis|pocketbase")
	}
	data, err := filepath.Abs(*dir)
	if err != nil {
		return err
	}
	peer, err := openPeer(ctx, flags.Arg(0), data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, peer.close()) }()
	return serve(ctx, peer.handler, stdout)
}

// peer is a store that is ready, and the handler before it.
type peer struct {
	handler http.Handler
	close   func() error // ends what was started
}

func openPeer(ctx context.Context, name, dir string) (*peer, error) {
	switch name {
	case "postgresql":
		return openPostgreSQL(ctx, dir)
	case "redis":
		return openRedis(ctx, dir)
	case "pocketbase":
		return openPocketBase(dir)
	}
	return nil, fmt.Errorf("no peer %q; there are postgresql, redis and pocketbase", name)
}

// serve prints the ready line of hack/harness and serves on a free port of the loopback
// interface.
func serve(ctx context.Context, handler http.Handler, stdout io.Writer) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(stdout, "ready base=http://%s/v1\n", listener.Addr()) // the reader may have gone
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
