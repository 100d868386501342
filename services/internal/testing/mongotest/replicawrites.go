package mongotest

import (
	"maps"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// openTransaction keeps the writes of a transaction aside. It locks their ids.
type openTransaction struct {
	number int64
	began  time.Time
	writes []replicaWrite
	ids    map[string]bool // of the writes, with their collections
}

// TransactionLifetime is the time after which a member ends a transaction by itself
// (transactionLifetimeLimitSeconds by default). Until then a client that is gone keeps its
// locks.
const TransactionLifetime = time.Minute

// expireTransactions ends the transactions that are open for too long.
func (m *replicaMember) expireTransactions() {
	maps.DeleteFunc(m.transactions, func(_ string, open *openTransaction) bool { return time.Since(open.began) > TransactionLifetime })
}

// killSessions ends the transactions of sessions (manual, killSessions).
func (c *replicaCommand) killSessions() bson.D {
	sessions, _ := c.body.Lookup(c.name).Array().Values()
	for _, session := range sessions {
		delete(c.member.transactions, string(session.Value))
	}
	return bson.D{{Key: "ok", Value: 1}}
}

// write executes a write against the local state of a primary.
func (c *replicaCommand) write() bson.D {
	m := c.member
	if !m.primary {
		return c.failure(codeNotWritablePrimary, "not primary", c.transient()...)
	}
	if c.name == "createIndexes" {
		return c.createIndexes()
	}
	if c.multi {
		if refusal := c.joinTransaction(); refusal != nil {
			return refusal
		}
	} else if record := m.local.sessions[c.session]; c.retryable && record.transaction > c.number {
		return c.failure(codeTransactionTooOld, "a later one has begun")
	}
	var result writeResult
	for i, document := range c.documents {
		refusal, ends := c.writeOne(document, int32(i), &result)
		if refusal != nil {
			return refusal
		}
		if ends {
			break
		}
	}
	if c.multi { // waits when it is committed
		return append(result.answer(), bson.E{Key: "ok", Value: 1})
	}
	return c.reply(result.answer())
}

// writeResult holds the content of the answer to a write.
type writeResult struct {
	n                  int
	failures, upserted bson.A
}

func (r *writeResult) answer() bson.D {
	answer := bson.D{{Key: "n", Value: r.n}, {Key: "nModified", Value: r.n}}
	if len(r.upserted) > 0 {
		answer = append(answer, bson.E{Key: "upserted", Value: r.upserted})
	}
	if len(r.failures) > 0 {
		answer = append(answer, bson.E{Key: "writeErrors", Value: r.failures})
	}
	return answer
}

// writeOne executes one statement, and reports whether the command ends with it: an
// ordered insert does with the first duplicate key. refusal is the answer if the command
// fails as a whole.
func (c *replicaCommand) writeOne(document bson.Raw, statement int32, result *writeResult) (refusal bson.D, ends bool) {
	if c.isExecuted(statement) {
		result.n++
		return nil, false
	}
	writes := c.plan(document, statement, result)
	if len(writes) == 0 {
		return nil, false
	}
	_, there := c.member.local.collection(c.collection).documents[writes[0].id]
	if writes[0].inserted && (there || c.isInTransaction(writes[0].id)) {
		if c.multi { // a duplicate key ends the transaction
			delete(c.member.transactions, c.session)
			return c.failure(codeDuplicateKey, "E11000 duplicate key error"), true
		}
		result.failures = append(result.failures, bson.D{
			{Key: "index", Value: statement}, {Key: "code", Value: codeDuplicateKey}, {Key: "errmsg", Value: "E11000 duplicate key error"},
			{Key: "keyPattern", Value: bson.D{{Key: "_id", Value: 1}}},
		})
		ordered, given := c.body.Lookup("ordered").BooleanOK()
		return nil, !given || ordered
	}
	if refusal := c.lock(writes); refusal != nil {
		return refusal, true
	}
	c.append(writes, statement)
	result.n += len(writes)
	return nil, false
}

// transient returns the label of errors that end a transaction.
func (c *replicaCommand) transient() []string {
	if c.multi && !c.retryable {
		return []string{labelTransient}
	}
	return nil
}

// isExecuted reports whether a statement of a retryable write was executed: then it is
// answered as done (transaction_participant.cpp, checkStatementExecuted).
func (c *replicaCommand) isExecuted(statement int32) bool {
	record := c.member.local.sessions[c.session]
	return c.retryable && record.transaction == c.number && record.executed[statement]
}

// plan returns the writes of one statement: the insertion of a document, the replacement
// of the first that matches, or deletions.
func (c *replicaCommand) plan(document bson.Raw, statement int32, result *writeResult) (writes []replicaWrite) {
	collection := c.member.local.collection(c.collection)
	switch c.name {
	case "insert":
		return []replicaWrite{{collection: c.collection, id: idOf(document), document: document, inserted: true}}
	case "update":
		with := document.Lookup("u").Document()
		if len(collection.find(document.Lookup("q").Document(), nil, 1)) == 0 {
			if upsert, _ := document.Lookup("upsert").BooleanOK(); !upsert {
				return nil
			}
			result.upserted = append(result.upserted, bson.D{{Key: "index", Value: statement}, {Key: "_id", Value: with.Lookup("_id")}})
		}
		return []replicaWrite{{collection: c.collection, id: idOf(with), document: with}}
	}
	limit, _ := document.Lookup("limit").AsInt64OK()
	for _, d := range collection.find(document.Lookup("q").Document(), nil, limit) {
		writes = append(writes, replicaWrite{collection: c.collection, id: idOf(d), deleted: true})
	}
	return writes
}

// append makes an entry of writes, or keeps them for the commit of the transaction.
func (c *replicaCommand) append(writes []replicaWrite, statement int32) {
	if c.multi {
		open := c.member.transactions[c.session]
		open.writes = append(open.writes, writes...)
		for _, w := range writes {
			open.ids[w.collection+"\x00"+w.id] = true
		}
		return
	}
	e := replicaEntry{writes: writes}
	if c.retryable {
		e.statement = &replicaStatement{c.session, c.number, statement}
	}
	c.set.appendEntry(c.member, e)
}

// createIndexes stores the names of indexes.
func (c *replicaCommand) createIndexes() bson.D {
	indexes, _ := c.body.Lookup("indexes").Array().Values()
	for _, index := range indexes {
		name := index.Document().Lookup("name")
		document := mustMarshal(bson.D{{Key: "_id", Value: name}, {Key: "name", Value: name}, {Key: "key", Value: index.Document().Lookup("key")}, {Key: "v", Value: 2}})
		c.append([]replicaWrite{{collection: c.collection + indexesOf, id: idOf(document), document: document}}, 0)
	}
	return c.reply(nil)
}

const indexesOf = "/indexes"

// joinTransaction begins a transaction or finds it (transaction_participant.cpp,
// beginOrContinue).
func (c *replicaCommand) joinTransaction() bson.D {
	open := c.member.transactions[c.session]
	if c.starts {
		c.member.transactions[c.session] = &openTransaction{number: c.number, began: time.Now(), ids: map[string]bool{}}
		return nil
	}
	if open == nil || open.number != c.number {
		return c.failure(codeNoSuchTransaction, "no such transaction", labelTransient)
	}
	return nil
}

// isInTransaction reports whether the transaction itself has inserted an id.
func (c *replicaCommand) isInTransaction(id string) bool {
	if open := c.member.transactions[c.session]; c.multi && open != nil {
		return open.has(c.collection, id)
	}
	return false
}

func (o *openTransaction) has(collection, id string) bool { return o.ids[collection+"\x00"+id] }

// lock resolves conflicts with other transactions: a transaction that meets the lock of
// another ends with WriteConflict (manual, transactions, "in-progress transactions and
// write conflicts"). A write outside of transactions would wait for the lock; here it ends
// the transaction that holds it.
func (c *replicaCommand) lock(writes []replicaWrite) bson.D {
	for session, other := range maps.Clone(c.member.transactions) {
		if session == c.session && c.multi {
			continue
		}
		for _, w := range writes {
			switch {
			case !other.has(w.collection, w.id):
			case c.multi:
				delete(c.member.transactions, c.session)
				return c.failure(codeWriteConflict, "write conflict", labelTransient)
			default:
				delete(c.member.transactions, session)
			}
		}
	}
	return nil
}

// endTransaction commits a transaction, as one entry, aborts it or kills its session. A
// repeated commit is answered by the record of the session, which is replicated with the log.
func (c *replicaCommand) endTransaction() bson.D {
	if c.name == "killSessions" {
		return c.killSessions()
	}
	m := c.member
	if !m.primary {
		return c.failure(codeNotWritablePrimary, "not primary")
	}
	open, record := m.transactions[c.session], m.local.sessions[c.session]
	switch {
	case open != nil && open.number == c.number:
		delete(m.transactions, c.session)
		if c.name == "abortTransaction" {
			return bson.D{{Key: "ok", Value: 1}}
		}
		c.set.appendEntry(m, replicaEntry{writes: open.writes, statement: &replicaStatement{c.session, c.number, sequenceOfEverything}})
	case c.name == "abortTransaction" || record.transaction != c.number || !record.committed:
		return c.failure(codeNoSuchTransaction, "no such transaction", labelTransient)
	}
	return c.reply(nil)
}
