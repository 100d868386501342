package mongostore

import (
	"context"
	"maps"
	"sync"

	"go.mongodb.org/mongo-driver/v2/event"
)

// operations counts the commands that are sent, by name.
type operations struct {
	mu   sync.Mutex
	sent map[string]uint64
}

func newOperations() *operations { return &operations{sent: map[string]uint64{}} }

func (o *operations) monitor() *event.CommandMonitor {
	return &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.sent[e.CommandName]++
	}}
}

func (o *operations) counts() map[string]uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.sent)
}
