package mongotest

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// router makes the commands of a client those of a mongos before several sets, each one
// shard. A collection that the project shards is spread by the hash of its shard key, and
// every other one is on the first set. It has what decides whether a program is right
// there: a command with the shard key goes to one shard, a query without it to all, and
// a router may know an older primary than another router does.
//
// It moves no chunks. A transaction over several shards commits at one after the other, so
// a test that ends a primary meanwhile proves nothing (a real one commits in two phases).
type router struct {
	shards []*ReplicaSet
	plan   string // how it explains queries

	// All below is guarded by the first shard's mutex.
	failsBroadcasts bool
	isStale         bool
	participants    map[string][]*ReplicaSet // of transactions, by session and number
	streams         []*clusterCursor
}

// codeNoPrimary is FailedToSatisfyReadPreference: a shard is away.
const codeNoPrimary = 133

// NewRouter returns a client that reaches the set, and others, through a mongos. The router
// refuses a command by _id without the shard key, which a mongos would send to every
// shard. It explains every query by the stage plan: SINGLE_SHARD, or SHARD_MERGE where
// several shards have records that match.
func (s *ReplicaSet) NewRouter(plan string, others ...*ReplicaSet) *ReplicaClient {
	return s.addClient(&router{shards: append([]*ReplicaSet{s}, others...), plan: plan, participants: map[string][]*ReplicaSet{}})
}

// FailBroadcasts makes all commands fail that go to several shards, as they do while any
// shard is away (manual, sharded cluster query router: a broadcast needs them all), or
// ends that.
func (c *ReplicaClient) FailBroadcasts(on bool) {
	c.set.change(0, func(*replicaMember) { c.router.failsBroadcasts = on })
}

// KeepView makes the router go on to send commands to the primaries of the earliest terms
// that still take themselves for one, as a router does that does not know of an election
// yet, or ends that.
func (c *ReplicaClient) KeepView(on bool) {
	c.set.change(0, func(*replicaMember) { c.router.isStale = on })
}

// ShardOf returns the index of the set that has the records of a stream or a document.
func (c *ReplicaClient) ShardOf(name string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // it never fails
	return int(h.Sum32()) % len(c.router.shards)
}

// shardKeyOf returns the field by which a collection is sharded.
func (c *replicaCommand) shardKeyOf() (field string, sharded bool) {
	field, sharded = map[string]string{
		"chunks": "stream", "snapshots": "stream", "snapshot_parts": "stream", "documents": "key",
	}[strings.TrimPrefix(c.collection, c.database+".")]
	return field, sharded
}

// executeRouted executes a command that came through a router.
func (c *replicaCommand) executeRouted() bson.D {
	r := c.client.router
	if answer := c.followCluster(); answer != nil {
		return answer
	}
	shards, refusal := c.targetShards()
	if refusal != nil {
		return refusal
	}
	c.set.mu.Lock()
	stale, fails := r.isStale, r.failsBroadcasts
	c.set.mu.Unlock()
	if fails && len(shards) > 1 {
		return c.failure(codeNoPrimary, "a shard is away")
	}
	var answers []bson.D
	for _, shard := range shards {
		part := *c
		part.set, part.routed = shard, true
		if part.member = shard.primaryFor(stale); part.member == nil {
			return c.failure(codeNoPrimary, "no primary is known")
		}
		part.starts = c.joins(shard)
		answer := part.execute()
		if ok, _ := valueOf(answer, "ok").(int); ok != 1 {
			return answer
		}
		answers = append(answers, answer)
	}
	if len(answers) == 1 {
		return answers[0]
	}
	return c.mergeAnswers(answers)
}

// joins notes that a transaction has a statement for a shard, and reports whether it is
// the first: the router begins the transaction there.
func (c *replicaCommand) joins(shard *ReplicaSet) bool {
	if !c.multi || c.endsTransaction() {
		return false
	}
	c.set.mu.Lock()
	defer c.set.mu.Unlock()
	all, id := c.client.router.participants, c.transaction()
	if c.starts {
		all[id] = nil // a retry begins again
	}
	if slices.Contains(all[id], shard) {
		return false
	}
	all[id] = append(all[id], shard)
	return true
}

func (c *replicaCommand) transaction() string { return fmt.Sprintf("%s %d", c.session, c.number) }

func (c *replicaCommand) endsTransaction() bool {
	return c.name == "commitTransaction" || c.name == "abortTransaction"
}

// joinedShards returns the shards that a transaction has statements for.
func (c *replicaCommand) joinedShards() []*ReplicaSet {
	c.set.mu.Lock()
	defer c.set.mu.Unlock()
	r := c.client.router
	if joined := r.participants[c.transaction()]; len(joined) > 0 {
		return joined
	}
	return r.shards[:1]
}

// primaryFor returns the primary as a router knows it: that of the latest term or, if the
// router's view is stale, of the earliest; nil for none.
func (s *ReplicaSet) primaryFor(stale bool) (found *replicaMember) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.members {
		if m.up && m.primary && (found == nil || stale == (m.term < found.term)) {
			found = m
		}
	}
	return found
}

// targetShards returns the shards that a command goes to (manual, sharded cluster query
// routing), or why the model refuses it.
func (c *replicaCommand) targetShards() (shards []*ReplicaSet, refusal bson.D) {
	all := c.client.router.shards
	field, sharded := c.shardKeyOf()
	switch {
	case c.endsTransaction():
		return c.joinedShards(), nil
	case slices.Contains([]string{"createIndexes", "killSessions"}, c.name):
		return all, nil
	case !sharded || c.name == "listIndexes":
		return all[:1], nil
	}
	names, needed := c.shardKeys(field)
	for _, name := range names {
		if shard := all[c.client.ShardOf(name)]; !slices.Contains(shards, shard) {
			shards = append(shards, shard)
		}
	}
	switch {
	case len(shards) == 0 && !needed:
		return all, nil
	case len(shards) == 0 || len(shards) > 1 && c.name != "find": // the model divides no write
		return nil, c.failure(codeBroadcast, "several shards would get: "+c.body.String())
	}
	return shards, nil
}

// shardKeys returns the values of the shard key that a command names, and whether it
// needs one: ranges of names are for every shard, writes and lookups by _id are not.
func (c *replicaCommand) shardKeys(field string) (names []string, needed bool) {
	var filters []bson.Raw
	switch c.name {
	case "insert":
		filters, needed = c.documents, true
	case "update", "delete":
		for _, d := range c.documents {
			filters = append(filters, d.Lookup("q").Document())
		}
		needed = true
	case "find":
		filter, _ := c.body.Lookup("filter").DocumentOK()
		_, err := filter.LookupErr("_id")
		filters, needed = []bson.Raw{filter}, err == nil
	}
	for _, filter := range filters {
		value, err := filter.LookupErr(field)
		if err != nil || len(equalTo(value)) == 0 {
			return nil, needed
		}
		for _, v := range equalTo(value) {
			names = append(names, v.StringValue())
		}
	}
	return names, needed
}

// mergeAnswers returns the answer to a query of several shards. That to anything else is
// the same from each.
func (c *replicaCommand) mergeAnswers(answers []bson.D) bson.D {
	if c.name != "find" && c.name != "aggregate" {
		return answers[0]
	}
	var found []bson.Raw
	for _, answer := range answers {
		for _, d := range valueOf(valueOf(answer, "cursor").(bson.D), "firstBatch").(bson.A) {
			found = append(found, d.(bson.Raw))
		}
	}
	sort, _ := c.body.Lookup("sort").DocumentOK()
	limit, _ := c.body.Lookup("limit").AsInt64OK()
	if c.name == "aggregate" {
		sort, _ = c.body.Lookup("pipeline", "2", "$sort").DocumentOK()
		limit, _ = c.body.Lookup("pipeline", "3", "$limit").AsInt64OK()
	}
	sortDocuments(found, sort)
	if limit = max(limit, -limit); limit > 0 && int64(len(found)) > limit {
		found = found[:limit]
	}
	return c.batch(found)
}

func valueOf(d bson.D, name string) any {
	for _, e := range d {
		if e.Key == name {
			return e.Value
		}
	}
	return nil
}
