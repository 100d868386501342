package mongotest

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// replicaEntry is an entry of the oplog.
type replicaEntry struct {
	id     uint64 // unique among all members
	term   int64  // of the primary that made it
	made   time.Time
	writes []replicaWrite
	// statement is the retryable write or the transaction that made it. So the record of
	// executed statements is replicated with the log (session_catalog_mongod.cpp: oplog
	// entries carry lsid, txnNumber and stmtId).
	statement *replicaStatement
}

// replicaWrite stores a document, or deletes one.
type replicaWrite struct {
	collection string // with its database
	id         string // of the document, see idOf
	document   bson.Raw
	deleted    bool
	inserted   bool // not replaced
}

type replicaStatement struct {
	session     string
	transaction int64
	number      int32 // -1: all of a transaction
}

// sessionRecord is the newest retryable write, or transaction, of a session.
type sessionRecord struct {
	transaction int64
	executed    map[int32]bool
	committed   bool
}

// replicaImage is the fold of a log.
type replicaImage struct {
	collections map[string]*replicaCollection
	sessions    map[string]sessionRecord
}

// replicaCollection holds documents by _id, and again by the fields that shard the
// collections of the project: a query for one of their values reads few documents.
type replicaCollection struct {
	documents map[string]bson.Raw
	groups    map[string]map[string]bson.Raw // by field and value, then by _id
}

// groupFields returns the fields with groups.
func groupFields() []string { return []string{"stream", "key"} }

func newReplicaImage() *replicaImage {
	return &replicaImage{collections: map[string]*replicaCollection{}, sessions: map[string]sessionRecord{}}
}

func (i *replicaImage) clone() *replicaImage {
	c := newReplicaImage()
	for name, from := range i.collections {
		to := c.collection(name)
		for id, document := range from.documents {
			to.set(id, document)
		}
	}
	for id, record := range i.sessions {
		record.executed = maps.Clone(record.executed)
		c.sessions[id] = record
	}
	return c
}

func (i *replicaImage) collection(name string) *replicaCollection {
	c := i.collections[name]
	if c == nil {
		c = &replicaCollection{documents: map[string]bson.Raw{}, groups: map[string]map[string]bson.Raw{}}
		i.collections[name] = c
	}
	return c
}

func (i *replicaImage) apply(e *replicaEntry) {
	for _, w := range e.writes {
		i.collection(w.collection).set(w.id, nil)
		if !w.deleted {
			i.collection(w.collection).set(w.id, w.document)
		}
	}
	if s := e.statement; s != nil {
		record := i.sessions[s.session]
		if record.transaction != s.transaction || record.executed == nil {
			record = sessionRecord{transaction: s.transaction, executed: map[int32]bool{}}
		}
		record.executed[s.number] = true
		record.committed = s.number < 0
		i.sessions[s.session] = record
	}
}

// set stores a document, or deletes one if it is nil.
func (c *replicaCollection) set(id string, document bson.Raw) {
	old := c.documents[id]
	for _, field := range groupFields() {
		if name, ok := groupOf(old, field); ok {
			delete(c.groups[name], id)
		}
		if name, ok := groupOf(document, field); ok {
			if c.groups[name] == nil {
				c.groups[name] = map[string]bson.Raw{}
			}
			c.groups[name][id] = document
		}
	}
	if document == nil {
		delete(c.documents, id)
		return
	}
	c.documents[id] = document
}

func groupOf(document bson.Raw, field string) (name string, ok bool) {
	if document == nil {
		return "", false
	}
	value, ok := document.Lookup(field).StringValueOK()
	return field + "\x00" + value, ok
}

// idOf returns a key for the _id of a document.
func idOf(document bson.Raw) string { return keyOf(document.Lookup("_id")) }

func keyOf(v bson.RawValue) string { return string(append([]byte{byte(v.Type)}, v.Value...)) }

// candidates returns documents among which are all that match a filter.
func (c *replicaCollection) candidates(filter bson.Raw) map[string]bson.Raw {
	if id, err := filter.LookupErr("_id"); err == nil {
		found := map[string]bson.Raw{}
		for _, value := range equalTo(id) {
			if document, ok := c.documents[keyOf(value)]; ok {
				found[keyOf(value)] = document
			}
		}
		if len(equalTo(id)) > 0 {
			return found
		}
	}
	for _, field := range groupFields() {
		if value, err := filter.LookupErr(field); err == nil && len(equalTo(value)) > 0 {
			found := map[string]bson.Raw{}
			for _, value := range equalTo(value) {
				maps.Copy(found, c.groups[field+"\x00"+value.StringValue()])
			}
			return found
		}
	}
	return c.documents
}

// equalTo returns the values that a condition of a filter allows, none if it is not an
// equality.
func equalTo(condition bson.RawValue) []bson.RawValue {
	operators, ok := condition.DocumentOK()
	if !ok {
		return []bson.RawValue{condition}
	}
	if among, err := operators.LookupErr("$in"); err == nil {
		values, _ := among.Array().Values()
		return values
	}
	return nil
}

// find returns the documents that match a filter, in the order of a sort.
func (c *replicaCollection) find(filter, sort bson.Raw, limit int64) (found []bson.Raw) {
	if c == nil {
		return nil
	}
	conditions := readConditions(filter)
	for _, document := range c.candidates(filter) {
		if !slices.ContainsFunc(conditions, func(c filterCondition) bool { return !c.holds(document) }) {
			found = append(found, document)
		}
	}
	sortDocuments(found, sort)
	if limit > 0 && int64(len(found)) > limit {
		found = found[:limit]
	}
	return found
}

// sortDocuments puts documents into the order of a sort, and of their ids within it.
func sortDocuments(documents []bson.Raw, sort bson.Raw) {
	order, _ := sort.Elements()
	slices.SortFunc(documents, func(a, b bson.Raw) int {
		for _, by := range order {
			direction, _ := by.Value().AsInt64OK()
			if c := compareValues(a.Lookup(by.Key()), b.Lookup(by.Key())); c != 0 {
				return c * int(direction)
			}
		}
		return cmp.Compare(idOf(a), idOf(b))
	})
}

// filterCondition is a condition of a filter on one field: a range, or some values.
type filterCondition struct {
	field    string
	operator string // "" for values
	operand  bson.RawValue
	values   map[string]bool
}

func readConditions(filter bson.Raw) (conditions []filterCondition) {
	elements, _ := filter.Elements()
	for _, e := range elements {
		if among := equalTo(e.Value()); len(among) > 0 {
			values := map[string]bool{}
			for _, v := range among {
				values[valueKey(v)] = true
			}
			conditions = append(conditions, filterCondition{field: e.Key(), values: values})
			continue
		}
		operators, _ := e.Value().Document().Elements()
		for _, o := range operators {
			conditions = append(conditions, filterCondition{field: e.Key(), operator: o.Key(), operand: o.Value()})
		}
	}
	return conditions
}

// valueKey is keyOf, and the same for equal numbers of any type.
func valueKey(v bson.RawValue) string {
	if v.IsNumber() {
		return strconv.FormatInt(v.AsInt64(), 10)
	}
	return keyOf(v)
}

func (c *filterCondition) holds(document bson.Raw) bool {
	value := document.Lookup(c.field)
	if c.values != nil {
		return c.values[valueKey(value)]
	}
	if value.Type != c.operand.Type && !(value.IsNumber() && c.operand.IsNumber()) {
		return false
	}
	order := compareValues(value, c.operand)
	switch c.operator {
	case "$gt":
		return order > 0
	case "$gte":
		return order >= 0
	case "$lt":
		return order < 0
	case "$lte":
		return order <= 0
	}
	panic("the model knows no operator " + c.operator)
}

// compareValues orders values: numbers by value, others of one type by their bytes.
func compareValues(a, b bson.RawValue) int {
	if a.IsNumber() && b.IsNumber() {
		return cmp.Compare(a.AsInt64(), b.AsInt64())
	}
	if x, ok := a.StringValueOK(); ok {
		if y, ok := b.StringValueOK(); ok {
			return cmp.Compare(x, y)
		}
	}
	return cmp.Or(cmp.Compare(a.Type, b.Type), bytes.Compare(a.Value, b.Value))
}

// project returns a document with the fields of a projection, which includes fields.
func project(document, projection bson.Raw) bson.Raw {
	fields, _ := projection.Elements()
	if len(fields) == 0 {
		return document
	}
	kept := bson.D{}
	elements, _ := document.Elements()
	for _, e := range elements {
		wanted, err := projection.LookupErr(e.Key())
		if included, _ := wanted.AsInt64OK(); err == nil && included != 0 || err != nil && e.Key() == "_id" {
			kept = append(kept, bson.E{Key: e.Key(), Value: e.Value()})
		}
	}
	return mustMarshal(kept)
}

func mustMarshal(d any) bson.Raw {
	encoded, err := bson.Marshal(d)
	if err != nil {
		panic(err) // of values that always encode
	}
	return encoded
}
