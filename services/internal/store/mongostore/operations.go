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

func (c *commandCounter) commandMonitor() *event.CommandMonitor {
	return &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.sent[e.CommandName]++
	}}
}

func (c *commandCounter) counts() map[string]uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.sent)
}
