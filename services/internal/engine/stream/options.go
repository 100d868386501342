package stream

import (
	"log/slog"
	"math/rand/v2"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// Options configure an engine. The zero value is fit for production.
type Options struct {
	// Exclusive promises that no other process appends to this store, so that the
	// engine answers reads from memory without a request to the store.
	Exclusive bool
	// AllowEqualTimestamps lets chunks of a stream share a millisecond, for domains to which only
	// their order matters: commits then follow one another without a pause.
	AllowEqualTimestamps bool
	// Peers are the other processes over the store; nil when there are none.
	Peers Peers
	// PeersRead reports whether every live process over the store reads the commands of a
	// level; always when nil.
	PeersRead func(level Level) bool
	// SnapshotTail is the number of bytes of chunks after a stream's last snapshot
	// from which the next one is written, 256 KiB when 0. While the state is larger
	// than that, the tail must first outgrow the state.
	SnapshotTail int
	// MemoryBudget limits the bytes of state that stay resident, 512 MiB when 0.
	// Streams in use are not evicted, however large they are.
	MemoryBudget int64
	// KeyBudget is the room for keys of requests in bytes, KeySize for each, a half of the
	// MemoryBudget when 0. Where it is full, commands with keys are refused; see once.KeptAtLeast.
	KeyBudget int64
	// Busy, if set, is called before a batch needs the store. Its error, which has
	// kind fault.Unavailable, is returned to the callers. An append whose outcome is
	// unknown is settled whatever Busy returns.
	Busy func() error
	// Applied, if set, is called soon after each commit of any engine that this one
	// learns of, with the sequence number that the stream has reached. It returns at
	// once. It may be called more than once with the same position, and only with
	// durable ones.
	Applied func(stream string, head uint64)
	// Tracer makes the spans of calls whose context has a sampled span; none are made when
	// nil.
	Tracer trace.Tracer
	// Logger logs what is not returned to a caller: failed and discarded snapshots.
	// Nothing is logged when nil.
	Logger *slog.Logger

	tuning internalLimits
}

// internalLimits holds limits that only tests set.
type internalLimits struct {
	// MemoryBudget goes before that of the options.
	MemoryBudget int64
	// QueueLimit limits the commands that wait in the engine. Further ones are refused
	// with fault.Unavailable.
	QueueLimit int64
	// BatchLimit limits the commands in one chunk.
	BatchLimit int
	// PayloadLimit is the size in bytes after which no further command joins a chunk.
	PayloadLimit int
	// SettleTimeout limits how long the engine repeats an append whose outcome is unknown,
	// before the callers get fault.Uncertain. The last attempt may end later. The pauses
	// between attempts grow from 5 milliseconds to 1 second.
	SettleTimeout time.Duration
	// GroupMemory limits the groups in the de-duplication window of a resident stream.
	// The default covers about a second of the busiest stream. Older groups are sent
	// again by their senders, or looked up in the log.
	GroupMemory int
	// KeyLimit goes before KeyBudget of the options, in keys.
	KeyLimit int
	// Random gives chunk ids and jitter; a securely seeded generator when nil. The
	// engine uses it from one goroutine at a time.
	Random rand.Source
}

func (l internalLimits) withDefaults() internalLimits {
	setDefault(&l.QueueLimit, 16_384)
	setDefault(&l.BatchLimit, 1_024)
	setDefault(&l.PayloadLimit, 1<<20)
	setDefault(&l.SettleTimeout, 15*time.Second)
	setDefault(&l.GroupMemory, 1_024)
	return l
}

// AllRead reports whether every live process over the store reads the commands of a level.
func (o Options) AllRead(level Level) bool { return o.PeersRead == nil || o.PeersRead(level) }

func (o Options) withDefaults() Options {
	setDefault(&o.SnapshotTail, 256<<10)
	setDefault(&o.MemoryBudget, 512<<20)
	setDefault(&o.tuning.MemoryBudget, o.MemoryBudget)
	setDefault(&o.KeyBudget, o.MemoryBudget/2)
	setDefault(&o.tuning.KeyLimit, int(o.KeyBudget/KeySize))
	if o.Busy == nil {
		o.Busy = func() error { return nil }
	}
	if o.Applied == nil {
		o.Applied = func(string, uint64) {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
