package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"slices"

	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/boltstore"
	"github.com/acclaim-dev/acclaim/services/internal/document"
	"github.com/acclaim-dev/acclaim/services/internal/httpapi"
	"github.com/acclaim-dev/acclaim/services/internal/live"
	"github.com/acclaim-dev/acclaim/services/internal/peer"
	"github.com/acclaim-dev/acclaim/services/internal/sink"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
	"github.com/acclaim-dev/acclaim/services/internal/telemetry"
	"github.com/acclaim-dev/acclaim/services/message"
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
	// issuesTokens says that the sandbox service is among those served.
	issuesTokens bool
	// tellsEvents says that there are events to listen to.
	tellsEvents bool
	// sinks tells other systems of events; nil in a process that tells of none.
	sinks *sink.Manager
	// drain tells those who listen for events to go elsewhere.
	drain func()
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
	return func(ctx context.Context, metrics *telemetry.Metrics, shared stream.Options) (b backends, err error) {
		uri := cmp.Or(o.mongodbURI, os.Getenv(mongodbVariable))
		switch {
		case slices.Equal(names, []string{sandboxService}):
			b = noBackends()
		case uri != "":
			b, err = openDatabase(ctx, uri, o, mounts, shared, metrics, names)
		default:
			b, err = openEmbedded(o, mounts, shared, metrics, names)
		}
		b.issuesTokens = slices.Contains(names, sandboxService)
		return b, err
	}
}

func noBackends() backends {
	nothing := func(context.Context) error { return nil }
	return backends{serve: func(*httpapi.Config) {}, ready: nothing, drain: func() {}, leave: nothing, close: nothing}
}

func openEmbedded(o options, mounts []mount, shared stream.Options, metrics *telemetry.Metrics, names []string) (backends, error) {
	store, err := boltstore.Open(o.dataDir)
	if err != nil {
		return backends{}, fmt.Errorf("open the store: %w", err)
	}
	// A lock on the file keeps other processes out.
	shared.Exclusive = true
	d := newDomains(o, store, sharing{streams: store.Streams, mounts: mounts}, func(string) stream.Options { return shared }, metrics, names)
	b := noBackends()
	b.serve, b.drain, b.tellsEvents, b.sinks = d.serve, d.drain, d.live != nil, d.sinks
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
	messages     *message.Service
	live         *live.Hub
	sinks        *sink.Manager
	// polls are those that are listened to: where they are not served their
	// commands are passed on.
	polls *voting.Service
}

// store is what a store must be to serve all domains.
type store interface {
	stream.Store
	document.Store
	Keys(ctx context.Context, prefix string) iter.Seq2[string, error]
}

// sharing says how a store tells what there is in it, and what others write.
type sharing struct {
	streams func(ctx context.Context, prefix string) iter.Seq2[string, error]
	tail    live.Tail // nil where nobody else writes
	watch   func(ctx context.Context, touch func(name string, head uint64), watching func(error)) error
	mounts  []mount
}

// newDomains returns the named services over a store. optionsOf gives the engine
// options for a kind of streams. Events belong to the state service.
func newDomains(o options, over store, s sharing, optionsOf func(kind string) stream.Options, metrics *telemetry.Metrics, names []string) *domains {
	d, clock := &domains{}, stream.SystemClock()
	touch := func(name string, head uint64) {
		if d.live != nil {
			d.live.Touch(name, head)
			d.sinks.Touch(name)
		}
	}
	hinting := func(kind string) stream.Options {
		hinted := optionsOf(kind)
		hinted.Applied = touch
		return hinted
	}
	if slices.Contains(names, votingService) {
		d.voting = voting.NewService(over, clock, hinting(voting.Kind), o.halfLife)
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
		d.documents = document.NewService(over, clock, document.Options{Changed: touch, Busy: optionsOf(voting.Kind).Busy})
		d.messages = message.NewService(over, clock, hinting(message.Kind))
		metrics.Streams("message", d.messages.Stats)
		if d.polls = d.voting; d.polls == nil {
			d.polls = voting.NewService(over, clock, hinting(voting.Kind), o.halfLife)
		}
		d.live = live.New(live.Options{
			Polls: d.polls, Documents: state.NewService(d.documents), Messages: d.messages,
			Streams: s.streams, Tail: s.tail, Watch: s.watch, Logger: optionsOf(voting.Kind).Logger,
		})
		metrics.Live(d.live.Stats)
		d.sinks = newSinks(over, s, d, optionsOf(voting.Kind).Logger)
		metrics.Sinks(d.sinks.Stats)
	}
	return d
}

// newSinks returns what tells other systems of the events of the domains.
func newSinks(over store, s sharing, d *domains, logger *slog.Logger) *sink.Manager {
	options := sink.Options{
		Store: over, Polls: d.polls, Messages: d.messages, Streams: s.streams, Keys: over.Keys,
		Tail: s.tail, Alone: s.tail == nil, Logger: logger,
	}
	if options.Alone {
		options.Tail = sink.Local{Streams: over, Documents: over}
	}
	for _, m := range s.mounts {
		options.Environments = append(options.Environments, m.environment)
	}
	return sink.New(options)
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
		c.State, c.Messages, c.Live = state.NewService(d.documents), d.messages, d.live
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
	if d.messages != nil {
		engines[message.Kind] = d.messages.Serve
	}
	return engines
}

func (d *domains) drain() {
	if d.live != nil {
		d.live.Drain()
	}
}

func (d *domains) close(ctx context.Context) error {
	var errs []error
	if d.live != nil {
		errs = append(errs, d.sinks.Close(ctx), d.live.Close(ctx))
		if d.voting == nil {
			errs = append(errs, d.polls.Close(ctx))
		}
	}
	if d.messages != nil {
		errs = append(errs, d.messages.Close(ctx))
	}
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
