package faultproxy

import (
	"context"
	"net"
	"sync"
	"time"
)

// Link is a TCP proxy in front of one server that knows nothing of what it forwards: the
// network between two processes that speak TLS.
type Link struct {
	relay

	mu      sync.Mutex
	faults  LinkFaults
	changed chan struct{} // closed when the faults change
}

// LinkFaults are the faults of a link from now on; the zero value has none.
type LinkFaults struct {
	// HoldRequests and HoldAnswers hold what clients send and what the server answers. When
	// that ends, the held bytes are delivered, late.
	HoldRequests, HoldAnswers bool
	// Delay is added to each segment that arrives, one after the other.
	Delay time.Duration
}

// StartLink listens on a port of this machine and forwards to a server, host:port, which need
// not be there yet.
func StartLink(ctx context.Context, server string) (*Link, error) {
	l := &Link{changed: make(chan struct{})}
	return l, l.start(ctx, server, l.forwardBoth)
}

// SetFaults sets the faults of all connections, those to come included.
func (l *Link) SetFaults(faults LinkFaults) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = faults
	close(l.changed)
	l.changed = make(chan struct{})
}

// forwardBoth forwards both directions of a connection.
func (l *Link) forwardBoth(client, server net.Conn) {
	var both sync.WaitGroup
	both.Go(func() { l.forwardOne(client, server, func(f LinkFaults) bool { return f.HoldRequests }) })
	both.Go(func() { l.forwardOne(server, client, func(f LinkFaults) bool { return f.HoldAnswers }) })
	both.Wait()
}

// forwardOne forwards one direction, and ends both with it.
func (l *Link) forwardOne(from, to net.Conn, held func(LinkFaults) bool) {
	defer func() {
		_, _ = from.Close(), to.Close()
	}()
	segment := make([]byte, 64<<10)
	for {
		n, err := from.Read(segment)
		if n > 0 {
			if l.awaitPassage(held) != nil {
				return
			}
			if _, err := to.Write(segment[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// awaitPassage waits for the delay of a segment and while its direction is held.
func (l *Link) awaitPassage(held func(LinkFaults) bool) error {
	l.mu.Lock()
	faults, changed := l.faults, l.changed
	l.mu.Unlock()
	if faults.Delay > 0 {
		timer := time.NewTimer(faults.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-changed:
		case <-l.ctx.Done():
			return l.ctx.Err()
		}
	}
	for held(faults) {
		select {
		case <-changed:
		case <-l.ctx.Done():
			return l.ctx.Err()
		}
		l.mu.Lock()
		faults, changed = l.faults, l.changed
		l.mu.Unlock()
	}
	return nil
}
