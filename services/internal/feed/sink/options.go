package sink

import (
	"context"
	"iter"
	"log/slog"
	"net/http"
	"time"

	"github.com/acclaim-dev/acclaim/api/tracing"
	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// Options configure a manager.
type Options struct {
	// Store keeps positions and leases.
	Store document.Store
	// Reader reads the sources, Notifier hints at commits of this process.
	Reader   *event.Reader
	Notifier *event.Notifier
	// Streams yields the names of the streams that begin with prefix, Keys those of
	// documents: at least those that were there before the call.
	Streams, Keys func(ctx context.Context, prefix string) iter.Seq2[string, error]
	// Tail finds what has been written to the store.
	Tail event.Tail
	// Watch, if set, calls notify with what any process writes until ctx is done. It passes nil
	// to watching when notify receives every write from then on, and an error when it may not.
	// It returns an error before ctx is done where a store can never do so.
	Watch func(ctx context.Context, notify func(name string, head uint64), watching func(error)) error
	// Alone reports that no other process writes to the store or delivers from it.
	Alone bool
	// Environments are those whose sinks are served.
	Environments []tenant.Environment
	// AllowPrivate lets sinks have addresses that are not public, and plain http.
	AllowPrivate bool
	// Transport carries requests; nil stands for the network, as AllowPrivate restricts it.
	Transport http.RoundTripper
	// Tracing records the deliveries; nil: off.
	Tracing *tracing.Tracing
	// Logger is nil where nothing is logged.
	Logger *slog.Logger
}

// tuning holds the intervals, bounds and means of a manager. Only tests change them.
type tuning struct {
	// every is the least time between two deliveries of one queue when all is well.
	every time.Duration
	// sweepEvery is the interval at which the store is swept for changes without hints, fedEvery
	// the interval while each change is hinted at.
	sweepEvery, fedEvery time.Duration
	// leaseFor limits for how long a process that died keeps others from a queue. It
	// is longer than timeout.
	leaseFor time.Duration
	// timeout limits a request to the other system.
	timeout time.Duration
	// retryAfter is the first pause after a failure; it doubles up to maxBackoff.
	retryAfter time.Duration
	// dropAfter is the time after which an event that fails is dropped.
	dropAfter time.Duration
	// atOnce limits the requests of one sink that are in flight.
	atOnce int
	// clock need not agree with those of other processes.
	clock stream.Clock
	// transport carries requests.
	transport http.RoundTripper
}

func defaultTuning(allowPrivate bool) tuning {
	return tuning{
		every:      time.Second,
		sweepEvery: 2 * time.Second,
		fedEvery:   5 * time.Minute,
		leaseFor:   20 * time.Second,
		timeout:    10 * time.Second,
		retryAfter: time.Second,
		dropAfter:  24 * time.Hour,
		atOnce:     8,
		clock:      stream.SystemClock(),
		transport:  NewTransport(allowPrivate),
	}
}
