package mongostore

import (
	"context"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// busyThreshold is the expected wait, for a connection or for an insert, above
// which the store reports that it is busy. It leaves accepted commands a margin
// before selectionTimeout, which ends both waits.
const busyThreshold = selectionTimeout / 2

// Busy reports, as fault.Unavailable, that a new command would wait too long: at
// the pace of the last commands, the commands that already wait need more than a
// second to get a connection, or a place in an insert. It is cheap.
func (s *Store) Busy() error {
	now := time.Now()
	_, wait := s.appends.expectedWait(now)
	if max(wait, s.queue.expectedWait(now)) > busyThreshold {
		return fault.New(fault.Unavailable, "too much waits for the database")
	}
	return nil
}

// Waiting returns the number of commands that wait for a connection and of chunks
// that wait for an insert.
func (s *Store) Waiting() int64 {
	chunks, _ := s.appends.expectedWait(time.Now())
	return s.queue.waiting.Load() + int64(chunks)
}

// connectionQueue counts the commands that wait for a connection. The driver has a
// queue for each server; here they count as one.
type connectionQueue struct {
	connections int64 // maximum number; 0: no limit, no command ever waits

	waiting  atomic.Int64
	began    atomic.Int64 // when the queue was last empty before a command waited; Unix ns
	answered atomic.Int64 // last answer to a command; Unix ns
	took     atomic.Int64 // moving average of the duration of commands; ns
}

// expectedWait returns the expected wait of a new command.
func (q *connectionQueue) expectedWait(now time.Time) time.Duration {
	waiting := q.waiting.Load()
	if waiting <= 0 || q.connections <= 0 {
		return 0
	}
	// While commands wait and none is answered, each takes at least that long.
	silent := now.UnixNano() - max(q.began.Load(), q.answered.Load())
	return time.Duration(max(q.took.Load(), silent) * waiting / q.connections)
}

// poolMonitor returns a monitor that counts waiting commands.
func (q *connectionQueue) poolMonitor() *event.PoolMonitor {
	return &event.PoolMonitor{Event: func(e *event.PoolEvent) {
		switch e.Type {
		case event.ConnectionCheckOutStarted:
			if q.waiting.Add(1) == 1 {
				q.began.Store(time.Now().UnixNano())
			}
		case event.ConnectionCheckedOut, event.ConnectionCheckOutFailed:
			q.waiting.Add(-1)
		}
	}}
}

// recordDurations makes a monitor of commands record their durations. Commands that
// the server delays on purpose, or that are slow by nature, are left out.
func (q *connectionQueue) recordDurations(m *event.CommandMonitor) *event.CommandMonitor {
	m.Succeeded = func(_ context.Context, e *event.CommandSucceededEvent) { q.recordDuration(e.CommandFinishedEvent) }
	m.Failed = func(_ context.Context, e *event.CommandFailedEvent) { q.recordDuration(e.CommandFinishedEvent) }
	return m
}

func (q *connectionQueue) recordDuration(e event.CommandFinishedEvent) {
	if e.CommandName != "insert" && e.CommandName != "find" {
		return
	}
	q.answered.Store(time.Now().UnixNano())
	q.took.Store((q.took.Load() + int64(e.Duration)) / 2) // of two at once one may be forgotten
}
