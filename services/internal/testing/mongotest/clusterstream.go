package mongotest

import (
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// clusterCursor is an open change stream of a router: the committed events of all shards in
// the order of their times. The router gives an event when every shard and the config servers
// have gone past its time (manual, change streams, "cold" shards of a sharded collection). A
// shard does so by a write or, while it has none, by the no-op that it writes each
// periodicNoopIntervalSecs; the config servers by the no-op of each second (SERVER-44356).
// One connection at a time asks a cursor.
type clusterCursor struct {
	collections map[string]bool
	next        []int // by shard, the first entry that was not looked at
	held        []clusterEvent
	given       int
}

// clusterEvent is the insertion of a document.
type clusterEvent struct {
	at time.Time
	id bson.RawValue
}

const (
	idleNoOp, configNoOp = 10 * time.Second, time.Second
	// mergeInterval is the time between two looks at the shards.
	mergeInterval = 5 * time.Millisecond
	// firstClusterCursor is beyond the id of a query's cursor.
	firstClusterCursor = 1000
)

// followCluster answers the commands of change streams; nil: this is none.
func (c *replicaCommand) followCluster() bson.D {
	if c.name == "getMore" {
		return c.nextClusterEvents()
	}
	if how, ok := c.body.Lookup("pipeline", "0", "$changeStream").DocumentOK(); ok && c.name == "aggregate" {
		return c.openClusterStream(how)
	}
	return nil
}

// openClusterStream opens a stream of what is committed from now on.
func (c *replicaCommand) openClusterStream(how bson.Raw) bson.D {
	if _, err := how.LookupErr("resumeAfter"); err == nil {
		return c.failure(historyLost, "the model's router resumes no stream")
	}
	r, cursor := c.client.router, &clusterCursor{collections: c.watchedCollections()}
	for _, shard := range r.shards {
		next := 0
		if m := shard.primaryFor(false); m != nil {
			shard.mu.Lock()
			next = m.commit
			shard.mu.Unlock()
		}
		cursor.next = append(cursor.next, next)
	}
	c.set.mu.Lock()
	defer c.set.mu.Unlock()
	r.streams = append(r.streams, cursor)
	return c.events(firstClusterCursor+len(r.streams)-1, "firstBatch", 0, bson.A{})
}

// nextClusterEvents answers a getMore: it waits for events that may be given.
func (c *replicaCommand) nextClusterEvents() bson.D {
	r, id := c.client.router, int(c.body.Lookup("getMore").AsInt64())
	c.set.mu.Lock()
	streams := r.streams
	c.set.mu.Unlock()
	if id < firstClusterCursor || id >= firstClusterCursor+len(streams) {
		return c.failure(cursorNotFound, "no such cursor")
	}
	cursor := streams[id-firstClusterCursor]
	wait, _ := c.body.Lookup("maxTimeMS").AsInt64OK()
	for deadline := time.Now().Add(time.Duration(wait) * time.Millisecond); ; {
		found := cursor.takeEvents(r.shards)
		if len(found) > 0 || !time.Now().Before(deadline) || c.set.ctx.Err() != nil {
			return c.events(id, "nextBatch", cursor.given, found)
		}
		select {
		case <-time.After(mergeInterval):
		case <-c.set.ctx.Done():
		}
	}
}

// takeEvents looks at the shards and returns the events that all have gone past.
func (c *clusterCursor) takeEvents(shards []*ReplicaSet) bson.A {
	past := time.Now().Truncate(configNoOp)
	for i, shard := range shards {
		if at := c.lookAt(shard, i); at.Before(past) {
			past = at
		}
	}
	slices.SortStableFunc(c.held, func(a, b clusterEvent) int { return a.at.Compare(b.at) })
	found := bson.A{}
	for ; len(c.held) > 0 && !c.held[0].at.After(past); c.held = c.held[1:] {
		c.given++
		found = append(found, bson.D{
			{Key: "_id", Value: resumeToken(c.given)},
			{Key: "documentKey", Value: bson.D{{Key: "_id", Value: c.held[0].id}}},
		})
	}
	return found
}

// lookAt notes the events of a shard, and returns the time that it has gone past.
func (c *clusterCursor) lookAt(shard *ReplicaSet, index int) (past time.Time) {
	m := shard.primaryFor(false)
	if m == nil {
		return past
	}
	shard.mu.Lock()
	defer shard.mu.Unlock()
	for ; c.next[index] < m.commit; c.next[index]++ {
		e := &m.log[c.next[index]]
		for _, w := range e.writes {
			if w.inserted && c.collections[w.collection] {
				c.held = append(c.held, clusterEvent{e.made, w.document.Lookup("_id")})
			}
		}
	}
	if m.commit == 0 {
		return past
	}
	last := m.log[m.commit-1].made
	return last.Add(time.Since(last).Truncate(idleNoOp))
}
