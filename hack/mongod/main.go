// Command mongod is a MongoDB-wire server for tests: FerretDB over SQLite,
// embedded. See the README beside it for what it is a fair judge of.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/FerretDB/FerretDB/ferretdb"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address; port 0 picks one")
	data := flag.String("data", "mongod-data", "folder of the database files; made if it is missing")
	child := flag.Bool("child", false, "end when standard input does, and so with the process that holds its other end")
	certificate := flag.String("tls-cert", "", "file with the certificate for TLS; without one connections are plain")
	key := flag.String("tls-key", "", "file with its private key")
	durable := flag.Bool("sync", true, "answer when writes are on disk; without it, in the system's cache, which outlives this process but not the machine")
	flag.Parse()
	listener := ferretdb.ListenerConfig{TCP: *listen}
	if *certificate != "" {
		listener = ferretdb.ListenerConfig{TLS: *listen, TLSCertFile: *certificate, TLSKeyFile: *key}
	}
	if err := run(listener, *data, *durable, *child); err != nil {
		fmt.Fprintln(os.Stderr, "mongod:", err)
		os.Exit(1)
	}
}

func run(listener ferretdb.ListenerConfig, data string, durable, child bool) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if child {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			stop()
		}()
	}
	folder, err := filepath.Abs(data)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	pragmas := url.Values{"_pragma": {"synchronous(full)"}}
	if !durable {
		pragmas.Set("_pragma", "synchronous(off)")
	}
	db, err := ferretdb.New(&ferretdb.Config{
		Listener:  listener,
		Logger:    slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
		Handler:   "sqlite",
		SQLiteURL: (&url.URL{Scheme: "file", Path: folder + "/", RawQuery: pragmas.Encode()}).String(),
	})
	if err != nil {
		return err
	}
	var indexing sync.WaitGroup
	defer func() {
		stop()
		indexing.Wait()
	}()
	indexing.Go(func() { keepIndexed(ctx, folder) })
	done := make(chan error, 1)
	go func() { done <- db.Run(ctx) }()
	if _, err := fmt.Fprintln(os.Stdout, db.MongoDBURI()); err != nil {
		return err
	}
	return <-done
}
