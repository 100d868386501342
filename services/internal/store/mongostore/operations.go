package mongostore

import (
	"context"
	"maps"
	"sync"

	"go.mongodb.org/mongo-driver/v2/event"
)

// commandCounter counts the commands that are sent, by name.
type commandCounter struct {
	mu   sync.Mutex
	sent map[string]uint64
}

func newCommandCounter() *commandCounter { return &commandCounter{sent: map[string]uint64{}} }

func (o *commandCounter) commandMonitor() *event.CommandMonitor {
	return &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.sent[e.CommandName]++
	}}
}

func (o *commandCounter) counts() map[string]uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.sent)
}
