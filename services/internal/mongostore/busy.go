package mongostore

import (
	"context"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// patience is how long a command may have to wait for a connection, or a chunk for
// an insert. Both are given up after selectionTimeout: whoever is let in has time to
// spare.
const patience = selectionTimeout / 2

// Busy reports, as fault.Unavailable, that whoever asked the database for something
// now would wait for too long: at the pace of the last commands it takes more than a
// second until all who wait already have had a connection, or a place in an insert.
// It costs next to nothing.
func (s *Store) Busy() error {
	now := time.Now()
	_, wait := s.appends.state(now)
	if max(wait, s.queue.wait(now)) > patience {
		return fault.New(fault.Unavailable, "too much waits for the database")
	}
	return nil
}

// Waiting returns how many commands wait for a connection now, and chunks for an
// insert.
func (s *Store) Waiting() int64 {
	chunks, _ := s.appends.state(time.Now())
	return s.queue.waiting.Load() + int64(chunks)
}

// queue is what is known of those who wait for a connection. The driver keeps one
// queue for each server; here they are one, as if there were one server.
type queue struct {
	connections int64 // as many as there may be; 0: nobody ever waits

	waiting  atomic.Int64
	began    atomic.Int64 // when somebody began to wait where nobody did; Unix ns
	answered atomic.Int64 // when a command was answered last; Unix ns
	took     atomic.Int64 // how long commands take, those before the last weighing less; ns
}

// wait returns how long somebody would wait who came now.
func (q *queue) wait(now time.Time) time.Duration {
	waiting := q.waiting.Load()
	if waiting <= 0 || q.connections <= 0 {
		return 0
	}
	// Where everybody waits and nothing is answered, commands take at least that long.
	silent := now.UnixNano() - max(q.began.Load(), q.answered.Load())
	return time.Duration(max(q.took.Load(), silent) * waiting / q.connections)
}

// pool hears who begins and who ceases to wait.
func (q *queue) pool() *event.PoolMonitor {
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

// listen has a monitor of commands tell how long they take. Those that the server
// holds back, or that take their time, are left out.
func (q *queue) listen(m *event.CommandMonitor) *event.CommandMonitor {
	m.Succeeded = func(_ context.Context, e *event.CommandSucceededEvent) { q.note(e.CommandFinishedEvent) }
	m.Failed = func(_ context.Context, e *event.CommandFailedEvent) { q.note(e.CommandFinishedEvent) }
	return m
}

func (q *queue) note(e event.CommandFinishedEvent) {
	if e.CommandName != "insert" && e.CommandName != "find" {
		return
	}
	q.answered.Store(time.Now().UnixNano())
	q.took.Store((q.took.Load() + int64(e.Duration)) / 2) // of two at once one may be forgotten
}
