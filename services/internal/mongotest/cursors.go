package mongotest

import (
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Error codes of the server.
const (
	cursorNotFound = 43
	historyLost    = 286
)

func failure(code int32, text string) bson.D {
	return bson.D{{Key: "ok", Value: 0.0}, {Key: "code", Value: code}, {Key: "errmsg", Value: text}}
}

// token is where to go on after n insertions.
func token(n int) bson.D { return bson.D{{Key: "after", Value: int64(n)}} }

func (c *ChangeStreams) open(command, how bson.Raw) bson.D {
	c.mu.Lock()
	defer c.mu.Unlock()
	next, from := len(c.inserted), -1
	if after, err := how.LookupErr("resumeAfter", "after"); err == nil {
		next = int(after.Int64())
		from = next
	}
	c.openings = append(c.openings, from)
	if c.refusal != nil {
		return c.refusal
	}
	if from >= 0 && from < c.lost {
		return failure(historyLost, "the token is too old")
	}
	var names []string
	if among, ok := command.Lookup("pipeline", "1", "$match", "ns.coll", "$in").ArrayOK(); ok {
		values, _ := among.Values()
		for _, v := range values {
			names = append(names, v.StringValue())
		}
	}
	id := -int64(len(c.openings))
	c.cursors[id] = &cursor{collections: names, next: next}
	return c.page(id, "firstBatch", next, nil)
}

// more waits until there is more, or for a while.
func (c *ChangeStreams) more(id int64, wait time.Duration) bson.D {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		c.mu.Lock()
		reply, grown := c.take(id), c.grown
		c.mu.Unlock()
		if reply != nil {
			return reply
		}
		select {
		case <-grown:
			continue
		case <-timer.C:
		case <-c.ctx.Done():
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if _, open := c.cursors[id]; !open {
			return c.take(id)
		}
		return c.page(id, "nextBatch", len(c.inserted), nil)
	}
}

// take returns the events that a stream has not told of yet; nil for none. c.mu is
// held.
func (c *ChangeStreams) take(id int64) bson.D {
	s, open := c.cursors[id]
	switch {
	case !open && c.lost > 0:
		return failure(historyLost, "the stream is too old")
	case !open:
		return failure(cursorNotFound, "no such cursor")
	}
	events := bson.A{}
	for ; s.next < len(c.inserted); s.next++ {
		if i := c.inserted[s.next]; slices.Contains(s.collections, i.collection) {
			events = append(events, bson.D{
				{Key: "_id", Value: token(s.next + 1)},
				{Key: "documentKey", Value: bson.D{{Key: "_id", Value: i.id}}},
			})
		}
	}
	if len(events) == 0 {
		return nil
	}
	return c.page(id, "nextBatch", s.next, events)
}

func (c *ChangeStreams) page(id int64, name string, next int, events bson.A) bson.D {
	if events == nil {
		events = bson.A{}
	}
	return bson.D{
		{Key: "ok", Value: 1.0},
		{Key: "cursor", Value: bson.D{
			{Key: "id", Value: id}, {Key: "ns", Value: "played.$cmd.aggregate"},
			{Key: name, Value: events}, {Key: "postBatchResumeToken", Value: token(next)},
		}},
	}
}

func (c *ChangeStreams) kill(id int64) bson.D {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.cursors, id)
	c.wake()
	return bson.D{{Key: "ok", Value: 1.0}, {Key: "cursorsKilled", Value: bson.A{id}}}
}
