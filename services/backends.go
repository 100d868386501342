package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/boltstore"
	"github.com/acclaim-dev/acclaim/services/internal/document"
	"github.com/acclaim-dev/acclaim/services/internal/httpapi"
	"github.com/acclaim-dev/acclaim/services/internal/peer"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
	"github.com/acclaim-dev/acclaim/services/internal/telemetry"
	"github.com/acclaim-dev/acclaim/services/ranking"
	"github.com/acclaim-dev/acclaim/services/state"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// backends are the domains of a process over their store.
type backends struct {
	// serve sets the services of an API.
	serve func(*httpapi.Config)
	// ready says why the process cannot serve, nil when it can.
	ready func(context.Context) error
	// eraser erases viewers; nil where nothing is stored.
	eraser *eraser
	// keeper takes out what is too old; nil where nothing is stored.
	keeper *keeper
	// leave tells the other processes, if there are any, to count on this one no
	// more. What they sent before is still answered.
	leave func(context.Context) error
	// close drains the domains and closes the store.
	close func(context.Context) error
}

// opener opens the backends of a process.
type opener func(context.Context, *telemetry.Metrics, stream.Options) (backends, error)

// openBackends returns an opener of the named services for what is mounted: over
// a database if there is one, else over the embedded store. The sandbox service
// keeps nothing, so alone it opens neither.
func openBackends(o options, mounts []mount, names ...string) opener {
	return func(ctx context.Context, metrics *telemetry.Metrics, shared stream.Options) (backends, error) {
		uri := cmp.Or(o.mongodbURI, os.Getenv(mongodbVariable))
		switch {
		case slices.Equal(names, []string{sandboxService}):
			return noBackends(), nil
		case uri != "":
			return openDatabase(ctx, uri, o, mounts, shared, metrics, names)
		}
		return openEmbedded(o, shared, metrics, names)
	}
}

func noBackends() backends {
	nothing := func(context.Context) error { return nil }
	return backends{serve: func(*httpapi.Config) {}, ready: nothing, leave: nothing, close: nothing}
}

func openEmbedded(o options, shared stream.Options, metrics *telemetry.Metrics, names []string) (backends, error) {
	store, err := boltstore.Open(o.dataDir)
	if err != nil {
		return backends{}, fmt.Errorf("open the store: %w", err)
	}
	// A lock on the file keeps other processes out.
	shared.Exclusive = true
	d := newDomains(o, store, func(string) stream.Options { return shared }, metrics, names)
	b := noBackends()
	b.serve = d.serve
	b.eraser, b.keeper = newEraser(store, d, o.halfLife), newKeeper(store, d, stream.SystemClock())
	b.ready = func(context.Context) error { return store.Err() }
	b.close = func(ctx context.Context) error { return errors.Join(d.close(ctx), store.Close()) }
	return b, nil
}

// domains are the services that share a store. Those that are not served are
// nil.
type domains struct {
	voting       *voting.Service
	accumulation *accumulation.Service
	ranking      *ranking.Service
	documents    *document.Service
}

// store is what a store must be to serve all domains.
type store interface {
	stream.Store
	document.Store
}

// newDomains returns the named services over a store. optionsOf gives the engine
// options for a kind of streams.
func newDomains(o options, over store, optionsOf func(kind string) stream.Options, metrics *telemetry.Metrics, names []string) *domains {
	d, clock := &domains{}, stream.SystemClock()
	if slices.Contains(names, votingService) {
		d.voting = voting.NewService(over, clock, optionsOf(voting.Kind), o.halfLife)
		metrics.Streams(votingService, d.voting.Stats)
	}
	if slices.Contains(names, accumulationService) {
		d.accumulation = accumulation.NewService(over, clock, optionsOf(accumulation.Kind))
		metrics.Streams(accumulationService, d.accumulation.Stats)
	}
	if slices.Contains(names, rankingService) {
		d.ranking = ranking.NewService(over, clock, optionsOf(ranking.Kind))
		metrics.Streams(rankingService, d.ranking.Stats)
	}
	if slices.Contains(names, stateService) {
		d.documents = document.NewService(over, clock, document.Options{})
	}
	return d
}

func (d *domains) serve(c *httpapi.Config) {
	if d.voting != nil {
		c.Voting = d.voting
	}
	if d.accumulation != nil {
		c.Accumulation = d.accumulation
	}
	if d.ranking != nil {
		c.Ranking = d.ranking
	}
	if d.documents != nil {
		c.State = state.NewService(d.documents)
	}
}

// engines returns what answers other processes, by kind of streams.
func (d *domains) engines() map[string]peer.Serve {
	engines := map[string]peer.Serve{}
	if d.voting != nil {
		engines[voting.Kind] = d.voting.Serve
	}
	if d.accumulation != nil {
		engines[accumulation.Kind] = d.accumulation.Serve
	}
	if d.ranking != nil {
		engines[ranking.Kind] = d.ranking.Serve
	}
	return engines
}

func (d *domains) close(ctx context.Context) error {
	var errs []error
	if d.voting != nil {
		errs = append(errs, d.voting.Close(ctx))
	}
	if d.accumulation != nil {
		errs = append(errs, d.accumulation.Close(ctx))
	}
	if d.ranking != nil {
		errs = append(errs, d.ranking.Close(ctx))
	}
	if d.documents != nil {
		errs = append(errs, d.documents.Close(ctx))
	}
	return errors.Join(errs...)
}
