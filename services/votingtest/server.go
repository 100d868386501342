// Package votingtest runs the voting service inside a test: its real routes and
// rules over its real embedded store, with a clock that the test holds and keys
// that the test changes.
//
// It is for tests of what talks to the service from outside, and only they may
// import it.
package votingtest

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/face/httpapi"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
	"github.com/acclaim-dev/acclaim/services/internal/store/pebblestore"
	"github.com/acclaim-dev/acclaim/services/internal/telemetry"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/voting"
)

const anyPort = "127.0.0.1:0"

// Server is a voting service that can be stopped and started again, with the
// same address and what it stored.
type Server struct {
	dir      string
	now      func() time.Time
	registry atomic.Pointer[tenant.Registry]
	address  string // host:port, from the first start on

	http   *http.Server
	domain *voting.Service
	store  *pebblestore.Store
}

// New returns a service that is not started, with a store in dir and a clock
// that moves on by itself. It knows no extension.
func New(dir string, now func() time.Time) (*Server, error) {
	s := &Server{dir: dir, now: now, address: anyPort}
	return s, s.SetKeys(nil)
}

// Base returns the base address of the API of a service that was started.
func (s *Server) Base() string { return "http://" + s.address + "/v1" }

// SetKeys replaces what the service knows: the base64 keys of each extension for
// production, the one that signs first, by client id.
func (s *Server) SetKeys(keys map[string][]string) error {
	type secret struct {
		Value string `json:"value"`
	}
	type extension struct {
		ClientID string   `json:"clientID"`
		Secrets  []secret `json:"secrets"`
	}
	all := []extension{}
	for id, values := range keys {
		e := extension{ClientID: id}
		for _, value := range values {
			e.Secrets = append(e.Secrets, secret{value})
		}
		all = append(all, e)
	}
	file, err := json.Marshal(map[string]any{"extensions": all})
	if err != nil {
		return err
	}
	registry, err := tenant.Parse(file)
	if err != nil {
		return err
	}
	s.registry.Store(registry)
	return nil
}

// Start serves until Stop.
func (s *Server) Start(ctx context.Context) (err error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", s.address)
	if err != nil {
		return err
	}
	if s.address == anyPort {
		s.address = listener.Addr().String()
	}
	if s.store, err = pebblestore.Open(s.dir); err != nil {
		return errors.Join(err, listener.Close())
	}
	s.domain = voting.NewService(s.store, clock{stream.SystemClock(), s.now}, stream.Options{Exclusive: true})
	s.domain.ListVotes(func(voting.Poll) {}) // nothing signs them
	logger := slog.New(slog.DiscardHandler)
	api := httpapi.New(operation.NewService(operation.Config{
		Environment: tenant.Production,
		Registry:    s.registry.Load,
		Now:         s.now,
		Logger:      logger,
		Metrics:     telemetry.NewMetrics(),
		Voting:      operation.NewVoting(s.domain),
		PollLister:  s.store.StreamsAfter,
	}), nil, nil)
	s.http = httpapi.NewServer(httpapi.NewHandler(httpapi.Mount{API: api, Prefixes: []string{"/v1"}}), logger)
	go func() { _ = s.http.Serve(listener) }() // Stop ends it
	return nil
}

// Stop closes all connections and the store.
func (s *Server) Stop(ctx context.Context) error {
	return errors.Join(s.http.Close(), s.domain.Close(ctx), s.store.Close())
}

// clock tells the test's time and waits by the machine's.
type clock struct {
	stream.Clock
	now func() time.Time
}

// Now returns the test's time.
func (c clock) Now() time.Time { return c.now() }
