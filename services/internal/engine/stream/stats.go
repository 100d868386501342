package stream

import (
	"sync/atomic"
	"time"
)

// Stats are totals since the engine was made, but for the first three.
type Stats struct {
	Streams         int    // resident streams
	ResidentBytes   int64  // their states, as Rules.Size has it
	Queued          int64  // commands in waiting
	Commits         uint64 // chunks that this process has stored
	Entries         uint64 // in these chunks
	Conflicts       uint64 // appends that lost the race for their sequence number
	UnknownOutcomes uint64 // appends whose outcome stayed unknown
	Evictions       uint64
	Forwarded       uint64 // calls sent to the owner of their stream
	Settled         uint64 // forwarded groups whose outcome was looked for in the log
	Snapshots       uint64
	Loads           uint64
	LoadRead        time.Duration // of the loads, time spent in the store
	LoadRebuild     time.Duration // of the loads, time spent folding
	Keys            KeyStats
}

type engineCounters struct {
	commits, entries, conflicts, unsettled, evictions, snapshots, loads, forwarded, recovered, keysFull, keysOverShare atomic.Uint64
	loadRead, loadRebuild                                                                                              atomic.Int64
}

// Stats returns the engine's figures.
func (e *Engine[S, C, E, R]) Stats() Stats {
	e.mu.Lock()
	streams, bytes := e.resident.Len(), e.bytes
	e.mu.Unlock()
	return Stats{
		Streams:         streams,
		ResidentBytes:   bytes,
		Queued:          e.waiting.Load(),
		Commits:         e.stats.commits.Load(),
		Entries:         e.stats.entries.Load(),
		Conflicts:       e.stats.conflicts.Load(),
		UnknownOutcomes: e.stats.unsettled.Load(),
		Evictions:       e.stats.evictions.Load(),
		Forwarded:       e.stats.forwarded.Load(),
		Settled:         e.stats.recovered.Load(),
		Snapshots:       e.stats.snapshots.Load(),
		Loads:           e.stats.loads.Load(),
		LoadRead:        time.Duration(e.stats.loadRead.Load()),
		LoadRebuild:     time.Duration(e.stats.loadRebuild.Load()),
		Keys: KeyStats{
			Used: e.keysUsed.Load(), Limit: int64(e.keyLimit),
			Full: e.stats.keysFull.Load(), OverShare: e.stats.keysOverShare.Load(),
		},
	}
}
