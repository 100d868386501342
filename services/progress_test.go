package main

import (
	"sync"
	"testing"
)

// progress counts the requests of clients, for a test that disturbs them after a number of
// requests and not after a time. Its zero value has no clients.
type progress struct {
	mu            sync.Mutex
	changed       sync.Cond
	clients, done int
}

func (p *progress) lock() {
	p.mu.Lock()
	p.changed.L = &p.mu
}

// join adds clients. Each calls add for a request that it has completed, and leave at its end.
func (p *progress) join(clients int) { p.change(clients, 0) }
func (p *progress) leave()           { p.change(-1, 0) }
func (p *progress) add()             { p.change(0, 1) }

func (p *progress) change(clients, done int) {
	p.lock()
	defer p.mu.Unlock()
	p.clients += clients
	p.done += done
	p.changed.Broadcast()
}

// await waits until the clients have completed that many more requests. It ends early when
// the test has failed or no client is left.
func (p *progress) await(t *testing.T, more int) {
	t.Helper()
	p.lock()
	defer p.mu.Unlock()
	for target := p.done + more; p.done < target && !t.Failed(); p.changed.Wait() {
		if p.clients == 0 {
			t.Errorf("all clients have ended, %d requests early", target-p.done)
			return
		}
	}
}
