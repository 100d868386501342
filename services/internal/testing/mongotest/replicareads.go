package mongotest

import (
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// readDocuments executes a query, on a primary alone: the project reads from no other.
func (c *replicaCommand) readDocuments() bson.D {
	m := c.member
	if !m.primary {
		return c.failure(codeNotPrimary, "not primary and secondaryOk=false", c.transient()...)
	}
	if c.name == "listIndexes" {
		found := m.local.collections[c.collection+indexesOf].find(nil, nil, 0)
		if len(found) == 0 {
			return c.failure(codeNamespaceNotFound, "ns does not exist")
		}
		return c.batch(found)
	}
	if c.multi {
		if refusal := c.joinTransaction(); refusal != nil {
			return refusal
		}
		return c.batch(c.find(m.local))
	}
	return c.readWithConcern()
}

// readWithConcern executes a query outside of a transaction by its read concern.
func (c *replicaCommand) readWithConcern() bson.D {
	m := c.member
	concern, _ := c.body.Lookup("readConcern").DocumentOK()
	level, _ := concern.Lookup("level").StringValueOK()
	ignored := level == "linearizable" && c.set.ignoresLinearizable
	if ignored {
		level = "majority"
	}
	if c.opensStream() {
		return c.openStream(c.body.Lookup("pipeline", "0", "$changeStream").Document())
	}
	if code := c.awaitClusterTime(concern); code != 0 {
		return c.failure(code, "waiting for afterClusterTime failed")
	}
	if level == "majority" {
		// The committed data, which a new primary may have fewer of than its predecessor
		// until it has committed an entry of its own term.
		if ignored {
			return c.batch(c.find(m.committed))
		}
		return append(c.batch(c.find(m.committed)), bson.E{Key: "operationTime", Value: m.timeAt(m.commit)})
	}
	found := c.find(m.local)
	if level == "linearizable" {
		// read_concern_mongod.cpp, waitForLinearizableReadConcernImpl: after
		// the read the primary writes a no-op and waits for it.
		c.set.appendEntry(m, replicaEntry{})
		if code := c.awaitMajority(); code != 0 {
			return c.failure(code, "waiting for a linearizable read failed")
		}
	}
	return append(c.batch(found), bson.E{Key: "operationTime", Value: m.lastTime()})
}

// awaitClusterTime waits until what a session has seen is committed here.
func (c *replicaCommand) awaitClusterTime(concern bson.Raw) (code int32) {
	var wanted bson.Timestamp
	wanted.T, wanted.I, _ = concern.Lookup("afterClusterTime").TimestampOK()
	for c.member.timeAt(c.member.commit).Before(wanted) {
		switch {
		case !c.member.up:
			return codeShutdownInProgress
		case !c.set.awaitChange(c.deadline):
			return codeExceededTimeLimit
		}
	}
	return 0
}

// find returns the documents that a find, or the project's listing, is about.
func (c *replicaCommand) find(state *replicaImage) []bson.Raw {
	collection := state.collections[c.collection]
	if c.name == "aggregate" {
		return c.listValues(collection)
	}
	filter, _ := c.body.Lookup("filter").DocumentOK()
	sort, _ := c.body.Lookup("sort").DocumentOK()
	projection, _ := c.body.Lookup("projection").DocumentOK()
	limit, _ := c.body.Lookup("limit").AsInt64OK()
	found := collection.find(filter, sort, max(limit, -limit))
	if len(projection) == 0 {
		return found
	}
	projected := make([]bson.Raw, len(found))
	for i, d := range found {
		projected[i] = project(d, projection)
	}
	return projected
}

// listValues executes $match, $group by a field, $sort and $limit, and nothing else.
func (c *replicaCommand) listValues(collection *replicaCollection) (groups []bson.Raw) {
	match, _ := c.body.Lookup("pipeline", "0", "$match").DocumentOK()
	field := strings.TrimPrefix(c.body.Lookup("pipeline", "1", "$group", "_id").StringValue(), "$")
	limit, _ := c.body.Lookup("pipeline", "3", "$limit").AsInt64OK()
	var values []string
	for _, d := range collection.find(match, nil, 0) {
		values = append(values, d.Lookup(field).StringValue())
	}
	slices.Sort(values)
	for _, v := range slices.Compact(values) {
		if int64(len(groups)) < limit {
			groups = append(groups, mustMarshal(bson.D{{Key: "_id", Value: v}}))
		}
	}
	return groups
}

// batch returns documents as one answer, up to 16 MiB: a cursor that is left open has no
// more to give.
func (c *replicaCommand) batch(found []bson.Raw) bson.D {
	batch, size, id := bson.A{}, 0, int64(0)
	for _, d := range found {
		if size += len(d); size > answerBytes && len(batch) > 0 {
			id = 1
			break
		}
		batch = append(batch, d)
	}
	return bson.D{{Key: "ok", Value: 1}, {Key: "cursor", Value: bson.D{
		{Key: "id", Value: id}, {Key: "ns", Value: c.collection}, {Key: "firstBatch", Value: batch},
	}}}
}

// openStream opens a change stream: its cursor is the place in the log from which it goes
// on. The committed part of the log is the same at every member, and a stream sends
// nothing else (manual, change streams: "only notify on data changes that have persisted
// to a majority").
func (c *replicaCommand) openStream(how bson.Raw) bson.D {
	if c.set.refusesStreams {
		return c.failure(unauthorized, "not authorized to open a change stream")
	}
	next := c.member.commit
	if after, err := how.LookupErr("resumeAfter", "after"); err == nil {
		next = int(after.AsInt64())
	}
	c.set.streams = append(c.set.streams, &changeCursor{member: c.member, collections: c.watchedCollections(), next: next})
	return c.events(len(c.set.streams), "firstBatch", next, bson.A{})
}

// watchedCollections returns the collections that the pipeline of a change stream selects.
func (c *replicaCommand) watchedCollections() map[string]bool {
	names, _ := c.body.Lookup("pipeline", "1", "$match", "ns.coll", "$in").Array().Values()
	wanted := map[string]bool{}
	for _, n := range names {
		wanted[c.database+"."+n.StringValue()] = true
	}
	return wanted
}

// changeCursor is an open change stream of one member.
type changeCursor struct {
	member      *replicaMember
	collections map[string]bool
	next        int // the first entry that was not looked at
}

// nextEvents answers a getMore: it waits for events.
func (c *replicaCommand) nextEvents() bson.D {
	id := int(c.body.Lookup("getMore").AsInt64())
	if id < 1 || id > len(c.set.streams) || c.set.streams[id-1].member != c.member {
		return c.failure(cursorNotFound, "no such cursor")
	}
	cursor := c.set.streams[id-1]
	wait, _ := c.body.Lookup("maxTimeMS").AsInt64OK()
	deadline := time.Now().Add(time.Duration(wait) * time.Millisecond)
	for {
		found := bson.A{}
		for ; cursor.next < c.member.commit; cursor.next++ {
			for _, w := range c.member.log[cursor.next].writes {
				if w.inserted && cursor.collections[w.collection] {
					found = append(found, bson.D{
						{Key: "_id", Value: resumeToken(cursor.next + 1)},
						{Key: "documentKey", Value: bson.D{{Key: "_id", Value: w.document.Lookup("_id")}}},
					})
				}
			}
		}
		if len(found) > 0 || !c.set.awaitChange(deadline) || !c.member.up {
			return c.events(id, "nextBatch", cursor.next, found)
		}
	}
}

func (c *replicaCommand) events(id int, batch string, next int, events bson.A) bson.D {
	return bson.D{{Key: "ok", Value: 1}, {Key: "cursor", Value: bson.D{
		{Key: "id", Value: int64(id)}, {Key: "ns", Value: c.database + ".$cmd.aggregate"},
		{Key: batch, Value: events}, {Key: "postBatchResumeToken", Value: resumeToken(next)},
	}}}
}
