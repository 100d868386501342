package mongotest

import (
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// replicaCommand is a command under way at a member.
type replicaCommand struct {
	set       *ReplicaSet
	member    *replicaMember
	client    *ReplicaClient
	legacy    bool // came as OP_QUERY
	exhaust   bool
	body      bson.Raw
	documents []bson.Raw // of its sequence

	name       string
	database   string
	collection string // with the database
	session    string
	number     int64 // txnNumber
	retryable  bool  // a retryable write
	multi      bool  // a statement of a transaction
	starts     bool  // the first statement of a transaction at its set
	routed     bool  // came through a router, which has chosen set and member
	deadline   time.Time
}

// Error codes of the server (error_codes.yml).
const (
	codeNamespaceNotFound  = 26
	codeExceededTimeLimit  = 50
	codeCommandNotFound    = 59
	codeShutdownInProgress = 91
	codeWriteConflict      = 112
	codePrimarySteppedDown = 189
	codeTransactionTooOld  = 225
	codeNoSuchTransaction  = 251
	codeNotWritablePrimary = 10107
	codeDuplicateKey       = 11000
	codeNotPrimary         = 13435
	codeBroadcast          = 99_999 // no code of a server: the model's router refuses
	labelRetryable         = "RetryableWriteError"
	labelTransient         = "TransientTransactionError"
	labelResumable         = "ResumableChangeStreamError"
	sequenceOfEverything   = -1
	answerBytes            = 16 << 20
	defaultCommandTime     = time.Hour
	sequenceInserts        = "documents"
	sequenceUpdates        = "updates"
	sequenceDeletes        = "deletes"
)

// read reads what most commands have.
func (c *replicaCommand) read() {
	elements, _ := c.body.Elements()
	if len(elements) == 0 {
		return
	}
	c.name = elements[0].Key()
	c.database, _ = c.body.Lookup("$db").StringValueOK()
	name, _ := elements[0].Value().StringValueOK()
	if c.name == "getMore" {
		name, _ = c.body.Lookup("collection").StringValueOK()
	}
	c.collection = c.database + "." + name
	if id, err := c.body.LookupErr("lsid"); err == nil {
		c.session = string(id.Value)
	}
	var numbered bool
	c.number, numbered = c.body.Lookup("txnNumber").Int64OK()
	_, err := c.body.LookupErr("autocommit")
	c.multi = err == nil
	c.starts, _ = c.body.Lookup("startTransaction").BooleanOK()
	c.retryable = numbered && (!c.multi || c.name == "commitTransaction" || c.name == "abortTransaction")
	c.deadline = time.Now().Add(defaultCommandTime)
	if limit, ok := c.body.Lookup("maxTimeMS").AsInt64OK(); ok {
		c.deadline = time.Now().Add(time.Duration(limit)*time.Millisecond + c.set.late())
	}
	for _, sequence := range []string{sequenceInserts, sequenceUpdates, sequenceDeletes} {
		if inBody, ok := c.body.Lookup(sequence).ArrayOK(); ok && c.documents == nil {
			values, _ := inBody.Values()
			for _, v := range values {
				c.documents = append(c.documents, v.Document())
			}
		}
	}
}

// execute executes a command and returns its answer.
func (c *replicaCommand) execute() bson.D {
	if c.client.router != nil && !c.routed {
		return c.executeRouted()
	}
	s := c.set
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Commands[c.name]++
	s.wake()
	c.member.expireTransactions()
	switch c.name {
	case "ping", "endSessions", "killCursors", "buildInfo":
		return bson.D{{Key: "ok", Value: 1}}
	case "insert", "update", "delete", "createIndexes":
		return c.write()
	case "find", "aggregate", "listIndexes":
		return c.readDocuments()
	case "getMore":
		return c.nextEvents()
	case "commitTransaction", "abortTransaction", "killSessions":
		return c.endTransaction()
	case "explain":
		if c.routed {
			return bson.D{{Key: "queryPlanner", Value: bson.D{{Key: "winningPlan", Value: bson.D{{Key: "stage", Value: c.client.router.plan}}}}}, {Key: "ok", Value: 1}}
		}
	}
	return c.failure(codeCommandNotFound, "the model does not know "+c.name)
}

// failure returns the answer that a command failed.
func (c *replicaCommand) failure(code int32, text string, labels ...string) bson.D {
	answer := bson.D{{Key: "ok", Value: 0}, {Key: "code", Value: code}, {Key: "errmsg", Value: text}}
	return c.withLabels(answer, code, labels...)
}

// withLabels adds what a driver needs to know about an error: that it may repeat a
// retryable write, after a change of state but not after a time-out
// (error_labels.cpp, isRetryableWriteError), or resume a change stream
// (isResumableChangeStreamError there), and the topologyVersion of the member.
func (c *replicaCommand) withLabels(answer bson.D, code int32, labels ...string) bson.D {
	stateChange := slices.Contains([]int32{codeNotWritablePrimary, codeShutdownInProgress, codePrimarySteppedDown, codeNotPrimary}, code)
	if c.retryable && stateChange && !slices.Contains(labels, labelTransient) {
		labels = append(labels, labelRetryable)
	}
	if c.opensStream() && stateChange {
		labels = append(labels, labelResumable)
	}
	if len(labels) > 0 {
		answer = append(answer, bson.E{Key: "errorLabels", Value: labels})
	}
	if stateChange && c.client.router == nil {
		answer = append(answer, bson.E{Key: "topologyVersion", Value: c.member.topologyVersion()})
	}
	return answer
}

// opensStream reports whether a command opens a change stream.
func (c *replicaCommand) opensStream() bool {
	_, err := c.body.LookupErr("pipeline", "0", "$changeStream")
	return err == nil
}

// awaitMajority waits until all of the primary's log up to now is committed, and returns
// the error code if the wait ends otherwise. Every write waits, those that wrote nothing
// and those that failed included (write_ops_exec.cpp, LastOpFixer: "we still need to for
// no-ops and all failing ops").
func (c *replicaCommand) awaitMajority() (code int32) {
	m, length, term := c.member, len(c.member.log), c.member.term
	for {
		switch {
		case !m.up:
			return codeShutdownInProgress
		case m.term != term || !m.primary:
			return codePrimarySteppedDown
		case m.commit >= length:
			return 0
		case !c.set.awaitChange(c.deadline):
			return codeExceededTimeLimit
		}
	}
}

// reply returns the answer of a write after its write concern: what it says stays when
// the wait fails (manual, insert, output: writeConcernError beside n and writeErrors).
func (c *replicaCommand) reply(answer bson.D) bson.D {
	code := c.awaitMajority()
	answer = append(answer, bson.E{Key: "ok", Value: 1}, bson.E{Key: "operationTime", Value: c.member.lastTime()})
	if code == 0 {
		return answer
	}
	c.set.stats.ConcernErrors[code]++
	c.set.wake()
	for _, e := range answer {
		if e.Key == "writeErrors" {
			c.set.stats.DuplicatesUnconfirmed++
		}
	}
	answer = append(answer, bson.E{Key: "writeConcernError", Value: bson.D{
		{Key: "code", Value: code}, {Key: "errmsg", Value: "waiting for replication failed"},
	}})
	return c.withLabels(answer, code)
}
