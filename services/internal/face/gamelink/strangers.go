package gamelink

import (
	"net/netip"
	"sync"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
)

// unauthenticatedGames names the limit of connections that are not authenticated.
const unauthenticatedGames = "unauthenticated_games"

// strangerTable holds the connections that are not authenticated. They cost no credential, so
// their number has a limit for each address and one in all. Where the places are full, a new
// connection takes that of another one, so that a game finds room without a refusal.
type strangerTable struct {
	limit int // in all

	mu        sync.Mutex
	count     int
	byAddress map[netip.Prefix]map[*connection]time.Time // when each last sent a message
}

func newStrangerTable(limit int) *strangerTable {
	return &strangerTable{limit: max(limit, 1), byAddress: map[netip.Prefix]map[*connection]time.Time{}}
}

// hasRoom reports whether an address has fewer connections than it may have.
func (t *strangerTable) hasRoom(client netip.Prefix) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.byAddress[client]) < contract.MaxUnauthenticated
}

// isFull reports that another connection would take the place of one.
func (t *strangerTable) isFull() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.count >= t.limit
}

// add adds a connection, and returns the one that has to go for it, nil where there is room.
func (t *strangerTable) add(c *connection, now time.Time) (displaced *connection) {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.byAddress[c.client]
	if of == nil {
		of = map[*connection]time.Time{}
		t.byAddress[c.client] = of
	}
	of[c] = now
	if t.count++; t.count > t.limit {
		displaced = t.longestIdle()
		t.drop(displaced)
	}
	return displaced
}

// longestIdle returns the connection that has been silent for longest, of the address with most
// connections.
func (t *strangerTable) longestIdle() (idle *connection) {
	var most map[*connection]time.Time
	for _, of := range t.byAddress {
		if len(of) > len(most) {
			most = of
		}
	}
	var since time.Time
	for c, at := range most {
		if idle == nil || at.Before(since) {
			idle, since = c, at
		}
	}
	return idle
}

// touch notes that a connection has sent a message.
func (t *strangerTable) touch(c *connection, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.byAddress[c.client][c]; ok {
		t.byAddress[c.client][c] = now
	}
}

// remove frees the place of a connection. It may be called again.
func (t *strangerTable) remove(c *connection) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop(c)
}

func (t *strangerTable) drop(c *connection) {
	of := t.byAddress[c.client]
	if _, ok := of[c]; !ok {
		return
	}
	t.count--
	if delete(of, c); len(of) == 0 {
		delete(t.byAddress, c.client)
	}
}

// size returns the number of connections.
func (t *strangerTable) size() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return int64(t.count)
}
