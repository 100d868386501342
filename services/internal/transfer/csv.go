package transfer

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// column is one of a table. Its cells are the text that a member of that name is or,
// if json, its JSON. A cell without anything stands for a member that is not there.
type column struct {
	name string
	json bool
}

// Columns with a meaning of their own.
const (
	columnRecord = "record"
	columnEntry  = "entry" // begins what an entry says
	columnSum    = "sum"   // ends a chunk
	columnRest   = "json"  // an object of the members that have no column
)

// unreadable is the cell of an entry of which only the payload tells anything.
const unreadable = "null"

// layout is the columns of the table of a kind.
type layout struct {
	kind string
	// thing is on every row: what the row belongs to. Of a chunk entries are told on a
	// row each, the rest is on its last row.
	thing, entry, rest []column
}

func newLayout(kind string) layout {
	l := layout{
		kind:  kind,
		thing: texts(columnRecord, "environment", "extension", "channel", "id"),
		entry: texts(columnEntry),
		rest:  []column{{name: "chunk"}, {"groups", true}, {name: "original"}, {name: "payload"}, {name: "stream"}, {name: columnSum}, {columnRest, true}},
	}
	l.thing = append(l.thing, column{"seq", true}, column{"at", true})
	switch kind {
	case Votes:
		l.entry = append(l.entry, texts("identifier", "opaque")...)
		l.entry = append(l.entry, column{"userIDVoting", true}, column{"replace", true}, column{"value", true}, column{"count", true},
			column{name: "user"}, column{"add", true}, column{"config", true})
	case Accumulations:
		l.entry = append(append(l.entry, texts("channel_id", "opaque_user_id", "user_id")...), column{"data", true})
	case Rankings:
		l.entry = append(l.entry, texts("identity", "key")...)
	default:
		l.thing = append(texts(columnRecord, "environment", "extension"), column{"key", true})
		l.entry = nil
		l.rest = []column{{"version", true}, {name: "write"}, {"body", true}, {name: "raw"}, {name: "name"}, {name: columnSum}, {columnRest, true}}
	}
	return l
}

func texts(names ...string) (columns []column) {
	for _, name := range names {
		columns = append(columns, column{name: name})
	}
	return columns
}

func (l layout) columns() []column { return slices.Concat(l.thing, l.entry, l.rest) }

func (l layout) heading() (names []string) {
	for _, c := range l.columns() {
		names = append(names, c.name)
	}
	return names
}

// table writes the records of one kind as CSV.
type table struct{ layout }

// encode implements [form].
func (t table) encode(record any) ([]byte, error) {
	line, err := encodeLine(record)
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(line, &members); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	if _, ok := record.(headerRecord); ok {
		if err := w.Write(t.heading()); err != nil {
			return nil, err
		}
	}
	rows, err := t.rows(members)
	if err != nil {
		return nil, err
	}
	err = w.WriteAll(rows)
	return out.Bytes(), err
}

// rows returns those of a record.
func (t table) rows(members map[string]json.RawMessage) (rows [][]string, err error) {
	entries := []json.RawMessage{nil}
	if string(members[columnRecord]) == `"`+recordChunk+`"` {
		if err := json.Unmarshal(members["entries"], &entries); err != nil {
			return nil, err
		}
		delete(members, "entries")
	}
	delete(members, "kind") // it is that of the table
	for _, entry := range entries {
		row, err := t.row(members, entry)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		rows = append(rows, make([]string, len(t.columns())))
	}
	last := rows[len(rows)-1]
	if err := fill(last[:len(t.thing)], t.thing, members); err != nil {
		return nil, err
	}
	for _, c := range t.thing {
		delete(members, c.name)
	}
	return rows, t.fillRest(last[len(t.thing)+len(t.entry):], members)
}

// row returns that of an entry, nil when there is none, of a record.
func (t table) row(members map[string]json.RawMessage, entry json.RawMessage) ([]string, error) {
	row := make([]string, len(t.columns()))
	if err := fill(row, t.thing, members); err != nil || entry == nil {
		return row, err
	}
	var said map[string]json.RawMessage
	if err := json.Unmarshal(entry, &said); err != nil {
		return nil, err
	}
	at := row[len(t.thing):]
	if said == nil {
		at[0] = unreadable
	}
	return row, fill(at, t.entry, said)
}

// fillRest writes what is told once of a record, and takes it from the members.
func (t table) fillRest(row []string, members map[string]json.RawMessage) error {
	if err := fill(row, t.rest, members); err != nil {
		return err
	}
	for _, c := range t.rest {
		delete(members, c.name)
	}
	if len(members) == 0 {
		return nil
	}
	rest, err := json.Marshal(members)
	row[len(row)-1] = string(rest)
	return err
}

// fill writes the members that have one of the columns.
func fill(row []string, columns []column, members map[string]json.RawMessage) error {
	for i, c := range columns {
		value, ok := members[c.name]
		if row[i] = string(value); c.json || !ok {
			continue
		}
		var text string
		if err := json.Unmarshal(value, &text); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		row[i] = guard(text)
	}
	return nil
}

// decode implements [form].
func (t table) decode(encoded []byte) ([]byte, error) {
	r := newRows(bytes.NewReader(encoded))
	r.layout, r.columns = t.layout, map[string]int{}
	for i, name := range t.heading() {
		r.columns[name] = i
	}
	return r.next()
}

// guarded are what a cell begins with that spreadsheets take for a formula.
const guarded = "=+-@\t\r\n"

// guard returns a cell that is taken for text and read back as it is. Viewers may have
// sent the text. An apostrophe comes before what looks like a formula, with or without
// apostrophes before it already. What holds a carriage return, of which readers of CSV
// lose some, becomes an apostrophe and a JSON string.
func guard(text string) string {
	switch {
	case strings.Contains(text, "\r") || strings.HasPrefix(text, `'"`):
		quoted, _ := json.Marshal(text) // of a string it does not fail
		return "'" + string(quoted)
	case isFormula(text):
		return "'" + text
	}
	return text
}

// unguard returns the text that guard was given.
func unguard(cell string) (text string, err error) {
	rest, found := strings.CutPrefix(cell, "'")
	switch {
	case found && strings.HasPrefix(rest, `"`):
		err = json.Unmarshal([]byte(rest), &text)
		return text, err
	case found && isFormula(rest):
		return rest, nil
	}
	return cell, nil
}

func isFormula(text string) bool {
	text = strings.TrimLeft(text, "'")
	return text != "" && strings.Contains(guarded, text[:1])
}

// appendMember appends what a cell says to the inside of a JSON object.
func appendMember(buf []byte, c column, cell string) ([]byte, error) {
	if cell == "" {
		return buf, nil
	}
	value := []byte(cell)
	if !c.json {
		text, err := unguard(cell)
		if err != nil {
			return nil, err
		}
		value, _ = json.Marshal(text) // of a string it does not fail
	}
	if !json.Valid(value) {
		return nil, fmt.Errorf("%.64q is not JSON", cell)
	}
	if c.name == columnRest {
		value = bytes.TrimSpace(value)
		if value[0] != '{' {
			return nil, fmt.Errorf("%.64q is not an object", cell)
		}
		if value = bytes.TrimSpace(value[1 : len(value)-1]); len(value) == 0 {
			return buf, nil
		}
		return append(appendComma(buf), value...), nil
	}
	return append(append(appendComma(buf), `"`+c.name+`":`...), value...), nil
}

// appendComma appends a comma where something is before the next member or element.
func appendComma(buf []byte) []byte {
	if n := len(buf); n > 0 && buf[n-1] != '{' {
		return append(buf, ',')
	}
	return buf
}
