package mongotest

import (
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Error codes of the server.
const (
	cursorNotFound = 43
	unauthorized   = 13
	historyLost    = 286
)

func errorReply(code int32, text string) bson.D {
	return bson.D{{Key: "ok", Value: 0.0}, {Key: "code", Value: code}, {Key: "errmsg", Value: text}}
}

// resumeToken is the position after n insertions.
func resumeToken(n int) bson.D { return bson.D{{Key: "after", Value: int64(n)}} }

func (c *ChangeStreams) openStream(command, how bson.Raw) bson.D {
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
		return errorReply(historyLost, "the token is too old")
	}
	var names []string
	if among, ok := command.Lookup("pipeline", "1", "$match", "ns.coll", "$in").ArrayOK(); ok {
		values, _ := among.Values()
		for _, v := range values {
			names = append(names, v.StringValue())
		}
	}
	id := -int64(len(c.openings))
	c.cursors[id] = &openCursor{collections: names, next: next}
	return c.eventsReply(id, "firstBatch", next, nil)
}

// nextEvents waits for events, at most for the given time.
func (c *ChangeStreams) nextEvents(id int64, wait time.Duration) bson.D {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		c.mu.Lock()
		reply, grown := c.pendingEvents(id), c.grown
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
			return c.pendingEvents(id)
		}
		return c.eventsReply(id, "nextBatch", len(c.inserted), nil)
	}
}

// pendingEvents returns the events that a stream has not sent yet; nil for none.
// c.mu is held.
func (c *ChangeStreams) pendingEvents(id int64) bson.D {
	s, open := c.cursors[id]
	switch {
	case !open && c.lost > 0:
		return errorReply(historyLost, "the stream is too old")
	case !open:
		return errorReply(cursorNotFound, "no such cursor")
	}
	events := bson.A{}
	for ; s.next < len(c.inserted); s.next++ {
		if i := c.inserted[s.next]; slices.Contains(s.collections, i.collection) {
			events = append(events, bson.D{
				{Key: "_id", Value: resumeToken(s.next + 1)},
				{Key: "documentKey", Value: bson.D{{Key: "_id", Value: i.id}}},
			})
		}
	}
	if len(events) == 0 {
		return nil
	}
	return c.eventsReply(id, "nextBatch", s.next, events)
}

func (c *ChangeStreams) eventsReply(id int64, name string, next int, events bson.A) bson.D {
	if events == nil {
		events = bson.A{}
	}
	return bson.D{
		{Key: "ok", Value: 1.0},
		{Key: "cursor", Value: bson.D{
			{Key: "id", Value: id}, {Key: "ns", Value: "played.$cmd.aggregate"},
			{Key: name, Value: events}, {Key: "postBatchResumeToken", Value: resumeToken(next)},
		}},
	}
}

func (c *ChangeStreams) killCursor(id int64) bson.D {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.cursors, id)
	c.wakeStreams()
	return bson.D{{Key: "ok", Value: 1.0}, {Key: "cursorsKilled", Value: bson.A{id}}}
}
