package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/acclaim-dev/acclaim/services/internal/cluster/peer"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/limit"
	"github.com/acclaim-dev/acclaim/services/internal/store/mongostore"
	"github.com/acclaim-dev/acclaim/services/internal/telemetry"
	"github.com/acclaim-dev/acclaim/services/resultlog"
)

const (
	// pingTimeout limits how long the database may take to answer a readiness probe.
	pingTimeout = time.Second
	// maxConnectBackoff limits the pause before a process that starts tries its database
	// again.
	maxConnectBackoff = 5 * time.Second
)

// databaseBackend is a store that other processes may share, and the membership of this
// process among them.
type databaseBackend struct {
	*mongostore.Store
	node     *peer.Node
	listener net.Listener
	stop     func() error // nil until the node runs
	logger   *slog.Logger
	// unwatched logs once that the database has no change stream.
	unwatched sync.Once
	away      atomic.Bool // no attempt has reached the database yet, or the last readiness probe did not
}

// openDatabase waits until the database can be reached.
func openDatabase(ctx context.Context, config Config, watch *limit.Watch, metrics *telemetry.Metrics) (*databaseBackend, error) {
	d := &databaseBackend{logger: config.Logger}
	d.away.Store(true)
	registerReachable(metrics, d.away.Load)
	store, err := awaitDatabase(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	d.Store = store
	if d.listener, err = config.Machine.Listen(ctx, "tcp", config.PeerListen); err != nil {
		return nil, errors.Join(fmt.Errorf("--peer-listen: %w", err), store.Close(ctx))
	}
	d.node, err = peer.New(peer.Config{
		Registry:  store,
		Listener:  d.listener,
		Dial:      config.Machine.Dial,
		Advertise: completeAddress(config.PeerAdvertise, d.listener.Addr()),
		Serves:    ownablePrefixes(config.Services, config.Mounts),
		Logger:    config.Logger,
		Watch:     watch,
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("--peer-advertise: %w", err), d.close(ctx))
	}
	registerPeers(metrics, d.node.Count, d.node.Traffic, d.node.RefusedConnections)
	registerDatabase(metrics, store.Operations, store.Waiting)
	return d, nil
}

// awaitDatabase opens the database as soon as it can be reached. It returns errors
// that trying again cannot change, such as a wrong password.
func awaitDatabase(ctx context.Context, config Config) (*mongostore.Store, error) {
	return retryUnavailable(ctx, config.Logger, func() (*mongostore.Store, error) {
		return mongostore.OpenOver(ctx, config.Store.MongoDBURI, config.Machine.Dial)
	})
}

// retryUnavailable calls do until its error is not that the database cannot be reached.
func retryUnavailable[T any](ctx context.Context, logger *slog.Logger, do func() (T, error)) (T, error) {
	wait := backoff.NewExponentialBackOff()
	wait.MaxInterval = maxConnectBackoff
	try := func() (T, error) {
		done, err := do()
		if err != nil && fault.KindOf(err) != fault.Unavailable {
			return done, backoff.Permanent(err)
		}
		return done, err
	}
	return backoff.Retry(ctx, try, backoff.WithBackOff(wait), backoff.WithMaxElapsedTime(0),
		backoff.WithNotify(func(err error, next time.Duration) {
			logger.Warn("waiting for the database", "error", err, "again_in", next.String())
		}))
}

// completeAddress adds the port of the listener to an address that is only an IP: a
// pod knows its IP. The result is an address for an IP of version 6, too.
func completeAddress(address string, listener net.Addr) string {
	if net.ParseIP(address) == nil {
		return address
	}
	_, port, err := net.SplitHostPort(listener.String())
	if err != nil {
		return address // dialing it fails with a clear error
	}
	return net.JoinHostPort(address, port)
}

// ownablePrefixes returns the prefixes of the names of the streams that this process
// may own.
func ownablePrefixes(services []Service, mounts []Mount) (prefixes []string) {
	for _, service := range services {
		for _, row := range append([]Service{service}, service.parts...) {
			if row.Kind == resultlog.Kind { // which has no environment in its name
				prefixes = append(prefixes, key.ResultLog)
				continue
			}
			for _, m := range mounts {
				if row.Kind != "" {
					prefixes = append(prefixes, key.Prefix(row.Kind, string(m.Environment)))
				}
			}
		}
	}
	slices.Sort(prefixes)
	return prefixes
}

func (d *databaseBackend) adaptOptions(kind string, options stream.Options) stream.Options {
	options.Peers, options.PeersRead, options.Busy = d.node.Peers(kind), d.node.Read, d.Busy
	return options
}

func (d *databaseBackend) changes() changeSources {
	return changeSources{streams: d.FirstChunks, streamsAfter: d.StreamsAfter, tail: d.Store, watch: d.watch, written: d.node.RecordWrite}
}

// watch follows the change stream of the database, or asks the other processes what they have
// written where it has none in time.
func (d *databaseBackend) watch(ctx context.Context, notify func(name string, place uint64), watching func(error)) error {
	err := d.Watch(ctx, notify, watching)
	if ctx.Err() != nil {
		return err
	}
	d.unwatched.Do(func() {
		d.logger.Info("the database has no change stream in time; processes tell one another what they have written", "reason", err)
	})
	return d.node.Watch(ctx, notify, watching)
}

// servePeers joins the other processes, as soon as the database stores that, and answers
// them until close.
func (d *databaseBackend) servePeers(ctx context.Context, engines map[string]peer.ServeFunc) error {
	for kind, engine := range engines {
		d.node.Handle(kind, engine)
	}
	if _, err := retryUnavailable(ctx, d.logger, func() (struct{}, error) { return struct{}{}, d.node.Join(ctx) }); err != nil {
		return err
	}
	d.away.Store(false) // a database without a majority opens, and takes no member
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() {
		err := d.node.Run(running)
		if running.Err() == nil {
			d.logger.Error("this process is cut off from its peers", "error", err)
		}
		ended <- err
	}()
	d.stop = func() error {
		cancel()
		return <-ended
	}
	return nil
}

func (d *databaseBackend) processes() int { return d.node.Replicas() }

// checkHealth returns nil: restarting this process does not repair the database.
func (d *databaseBackend) checkHealth() error { return nil }

// checkReady finishes, within pingTimeout, also for a client that has hung up: what it leaves in
// away is about the database alone.
func (d *databaseBackend) checkReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingTimeout)
	defer cancel()
	err := d.Ping(ctx)
	d.away.Store(err != nil)
	return err
}

func (d *databaseBackend) leaveMembers(ctx context.Context) error { return d.node.Leave(ctx) }

func (d *databaseBackend) close(ctx context.Context) error {
	stop := d.listener.Close
	if d.stop != nil {
		stop = d.stop
	}
	return errors.Join(stop(), d.Close(ctx))
}
