package live

import (
	"context"
	"iter"
	"log/slog"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
)

// Options configure a broker.
type Options struct {
	// Reader reads the sources, Notifier hints at commits of this process.
	Reader   *event.Reader
	Notifier *event.Notifier
	// Streams yields the names of the streams that begin with prefix: at least
	// those that had a chunk before the call.
	Streams func(ctx context.Context, prefix string) iter.Seq2[string, error]
	// Tail finds what other processes write; nil when there are none.
	Tail event.Tail
	// Watch, if set, calls notify with what any process writes, sooner than Tail would
	// find it, until ctx is done. It passes nil to watching when notify receives every
	// write from then on, and an error when it may not. It returns an error before ctx
	// is done where a store can never do so. It runs while there are subscribers.
	Watch func(ctx context.Context, notify func(name string, head uint64), watching func(error)) error
	// Quotas limit subscribers and their sources.
	Quotas Quotas
	// Logger is nil where nothing is logged.
	Logger *slog.Logger
}

// tuning holds the intervals and bounds of a broker. Only tests change them.
type tuning struct {
	// pollEvery is the least time between two updates of one poll.
	pollEvery time.Duration
	// documentEvery is the same for a document; a later version replaces one that was
	// not sent yet.
	documentEvery time.Duration
	// messageEvery limits for how long messages of one feed are gathered.
	messageEvery time.Duration
	// tailEvery is the interval at which the tail is polled. For polls that are new or have not
	// changed for quietAfter, that is every discoverEvery-th time. While the store is
	// watched it is polled every watchedEvery-th time, and every watchedDiscoverEvery-th time for
	// what is new or quiet.
	tailEvery time.Duration
	// linger is the time for which a source without subscribers stays, so that clients which
	// reconnect can resume.
	linger time.Duration
	// buffer is the number of events that a subscriber may be behind.
	buffer int
	// maxPolls limits the polls of one channel or extension that are followed together: the
	// configured ones, and of the others the most recent.
	maxPolls int
	// madeUpEvery is the least time between two events of polls of one channel or extension
	// that staff has not configured, when many change at once.
	madeUpEvery time.Duration
}

func defaultTuning() tuning {
	return tuning{
		pollEvery:     time.Second,
		documentEvery: 50 * time.Millisecond,
		messageEvery:  10 * time.Millisecond,
		tailEvery:     250 * time.Millisecond,
		linger:        30 * time.Second,
		buffer:        contract.MaxEventsBehind,
		maxPolls:      contract.MaxFollowedPolls,
		madeUpEvery:   10 * time.Millisecond,
	}
}
