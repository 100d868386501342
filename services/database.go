package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/mongostore"
	"github.com/acclaim-dev/acclaim/services/internal/peer"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
	"github.com/acclaim-dev/acclaim/services/internal/telemetry"
	"github.com/acclaim-dev/acclaim/services/message"
	"github.com/acclaim-dev/acclaim/services/ranking"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// pingTimeout is how long the database may take to answer a readiness probe.
const pingTimeout = time.Second

// longestPause is how long a process that starts waits at most before it tries
// its database again.
const longestPause = 5 * time.Second

// openDatabase opens the backends over a database that other processes may
// share, and joins those.
func openDatabase(ctx context.Context, uri string, o options, mounts []mount, shared stream.Options, metrics *telemetry.Metrics, names []string) (backends, error) {
	store, err := awaitDatabase(ctx, uri, shared.Logger)
	if err != nil {
		return backends{}, fmt.Errorf("open the database: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.peerListen)
	if err != nil {
		return backends{}, errors.Join(fmt.Errorf("--peer-listen: %w", err), store.Close(ctx))
	}
	engines := map[string]peer.Serve{} // filled when there are some
	node, err := peer.New(peer.Config{
		Registry:  store,
		Listener:  listener,
		Advertise: advertised(o.peerAdvertise, listener.Addr()),
		Serves:    served(mounts, names),
		Engines:   engines,
		Logger:    shared.Logger,
	})
	if err != nil {
		return backends{}, errors.Join(fmt.Errorf("--peer-advertise: %w", err), listener.Close(), store.Close(ctx))
	}
	d := newDomains(o, store, sharing{streams: store.Begun, tail: store, watch: store.Watch, mounts: mounts}, func(kind string) stream.Options {
		placed := shared
		placed.Peers, placed.Busy = node.Peers(kind), store.Busy
		return placed
	}, metrics, names)
	maps.Copy(engines, d.engines())
	metrics.Peers(node.Count)
	metrics.Database(store.Operations, store.Waiting)
	if err := node.Join(ctx); err != nil {
		return backends{}, errors.Join(err, listener.Close(), d.close(ctx), store.Close(ctx))
	}
	stop := start(node, shared)

	b := noBackends()
	b.serve, b.drain, b.tellsEvents, b.sinks = d.serve, d.drain, d.live != nil, d.sinks
	b.eraser, b.keeper = newEraser(store, d, o.halfLife), newKeeper(store, d, stream.SystemClock())
	b.ready = func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, pingTimeout)
		defer cancel()
		return store.Ping(ctx)
	}
	b.leave = node.Leave
	b.close = func(ctx context.Context) error { return errors.Join(d.close(ctx), stop(), store.Close(ctx)) }
	return b, nil
}

// awaitDatabase opens the database as soon as it can be reached. An answer that
// trying again does not change, such as a wrong password, is returned.
func awaitDatabase(ctx context.Context, uri string, logger *slog.Logger) (*mongostore.Store, error) {
	pause := backoff.NewExponentialBackOff()
	pause.MaxInterval = longestPause
	open := func() (*mongostore.Store, error) {
		store, err := mongostore.Open(ctx, uri)
		if err != nil && fault.KindOf(err) != fault.Unavailable {
			return nil, backoff.Permanent(err)
		}
		return store, err
	}
	return backoff.Retry(ctx, open, backoff.WithBackOff(pause), backoff.WithMaxElapsedTime(0),
		backoff.WithNotify(func(err error, next time.Duration) {
			logger.Warn("waiting for the database", "error", err, "again_in", next.String())
		}))
}

// advertised gives an address that is an IP alone, which is all that a pod is
// told of itself, the port of the listener. Joined by hand they would not be an
// address where the IP is of version 6.
func advertised(address string, listener net.Addr) string {
	if net.ParseIP(address) == nil {
		return address
	}
	_, port, err := net.SplitHostPort(listener.String())
	if err != nil {
		return address // refused by whoever uses it
	}
	return net.JoinHostPort(address, port)
}

// start runs a node until stop is called.
func start(node *peer.Node, shared stream.Options) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		err := node.Run(ctx)
		if ctx.Err() == nil {
			shared.Logger.Error("this process is cut off from its peers", "error", err)
		}
		ended <- err
	}()
	return func() error {
		cancel()
		return <-ended
	}
}

// served returns the prefixes of the names of the streams that the named
// services answer for.
func served(mounts []mount, names []string) (prefixes []string) {
	for service, kind := range map[string]string{
		votingService:       voting.Kind,
		accumulationService: accumulation.Kind,
		rankingService:      ranking.Kind,
		stateService:        message.Kind,
	} {
		if !slices.Contains(names, service) {
			continue
		}
		for _, m := range mounts {
			prefixes = append(prefixes, kind+"/"+string(m.environment)+"/")
		}
	}
	slices.Sort(prefixes)
	return prefixes
}
