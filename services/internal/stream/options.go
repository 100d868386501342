package stream

import (
	"log/slog"
	"math/rand/v2"
)

// Options tune an engine. The zero value is fit for production.
type Options struct {
	// Exclusive says that no other process appends to this store, so that a read
	// may be answered from memory without asking the store for news.
	Exclusive bool
	// Ties lets chunks of a stream share a millisecond, for domains to which only
	// their order matters: commits then follow one another without a pause.
	Ties bool
	// Peers are the other processes over the store; nil when there are none.
	Peers Peers
	// MemoryBudget is how many bytes of state may stay resident, 512 MiB when 0.
	// Streams in use are not dropped, however large they are.
	MemoryBudget int64
	// QueueLimit is how many commands may wait in the engine, 16,384 when 0.
	// Further ones are refused with fault.Unavailable.
	QueueLimit int64
	// BatchLimit is how many commands one chunk may hold, 1,024 when 0.
	BatchLimit int
	// PayloadLimit is the size in bytes after which no further command joins a
	// chunk, 1 MiB when 0.
	PayloadLimit int
	// SnapshotTail is how many bytes of chunks a stream must have gathered since
	// its last snapshot before another is worth it, 256 KiB when 0. While the
	// state is larger than that, the tail must first outgrow the state.
	SnapshotTail int
	// SettleAttempts is how often an append whose outcome is unknown is repeated
	// before the callers are told so, 8 when 0. The pauses between attempts grow
	// from 5 milliseconds to 1 second.
	SettleAttempts int
	// ConflictLimit is how many lost races in a row a batch survives before its
	// callers are refused with fault.Unavailable, 300 when 0.
	ConflictLimit int
	// GroupMemory is how many groups of other processes a resident stream
	// remembers, 1,024 when 0: those of a second or so of the busiest stream. Those
	// who come with older news are told to come again, or are looked up in the log.
	GroupMemory int
	// Random gives chunk ids and jitter; a securely seeded generator when nil.
	// The engine uses it from one goroutine at a time.
	Random rand.Source
	// Busy, if set, is asked before a batch needs the store. What it returns, which has
	// kind fault.Unavailable, is what the callers hear. What may have been stored is
	// looked for whatever it says.
	Busy func() error
	// Applied, if set, hears how far the log of a stream is known to have come, soon
	// after any engine's commit that this one learns of. It returns at once. It
	// hears of the same place more than once and of no place that is not durable.
	Applied func(stream string, head uint64)
	// Logger hears of what no caller is told: failed snapshots, discarded
	// snapshots. Nothing is logged when nil.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	setDefault(&o.MemoryBudget, 512<<20)
	setDefault(&o.QueueLimit, 16_384)
	setDefault(&o.BatchLimit, 1_024)
	setDefault(&o.PayloadLimit, 1<<20)
	setDefault(&o.SnapshotTail, 256<<10)
	setDefault(&o.SettleAttempts, 8)
	setDefault(&o.ConflictLimit, 300)
	setDefault(&o.GroupMemory, 1_024)
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
