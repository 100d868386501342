package transfer

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// rows reads CSV and makes of it the lines that JSON Lines has.
type rows struct {
	source      *bounded
	in          *csv.Reader
	columns     map[string]int // of the file, by name
	layout      layout         // of no kind before the header was read
	first, last int            // lines of the file with what was read last
}

func newRows(r io.Reader) *rows {
	source := &bounded{in: r}
	return &rows{source: source, in: csv.NewReader(source)}
}

// position implements [records].
func (r *rows) position() string {
	if r.last > r.first {
		return fmt.Sprintf("lines %d to %d", r.first, r.last)
	}
	return fmt.Sprintf("line %d", r.first)
}

// next implements [records].
func (r *rows) next() ([]byte, error) {
	r.source.left = 2 * maxLine // a quote takes two bytes
	r.first = 0
	line, err := r.record()
	if _, malformed := errors.AsType[*csv.ParseError](err); malformed {
		if r.cut() {
			return nil, io.EOF
		}
		return nil, fmt.Errorf("%w: %w", ErrFile, err) // which says where
	}
	return line, err
}

// cut reports whether the file ended within what was read last.
func (r *rows) cut() bool {
	return r.in.InputOffset() == r.source.read && r.source.last != '\n'
}

// record reads the rows of a record.
func (r *rows) record() ([]byte, error) {
	if r.columns == nil {
		if err := r.heading(); err != nil {
			return nil, err
		}
	}
	var c chunkRows
	for {
		row, err := r.read()
		if err != nil {
			return nil, err
		}
		line, err := r.take(&c, row)
		if err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrFile, r.last, err)
		}
		if line != nil {
			return line, nil
		}
	}
}

// heading reads the names of the columns.
func (r *rows) heading() error {
	names, err := r.read()
	if err != nil {
		return err
	}
	columns := map[string]int{}
	for i, name := range names {
		columns[name] = i
	}
	for _, name := range []string{columnRecord, columnRest} {
		if _, ok := columns[name]; !ok {
			return fmt.Errorf("%w: it is neither JSON Lines nor CSV with a column %s", ErrFile, name)
		}
	}
	r.columns, r.first = columns, 0
	return nil
}

// read reads a row.
func (r *rows) read() ([]string, error) {
	row, err := r.in.Read()
	if err != nil {
		return nil, err
	}
	if r.cut() && !json.Valid([]byte(r.cell(row, columnRest))) { // as a footer has it, the last
		return nil, io.EOF
	}
	r.last, _ = r.in.FieldPos(0)
	if r.first == 0 {
		r.first = r.last
	}
	return row, nil
}

// chunkRows are what the rows of a chunk have said so far.
type chunkRows struct {
	thing   []string
	entries []byte
}

// take takes a row, and returns a line with the last of a record.
func (r *rows) take(c *chunkRows, row []string) ([]byte, error) {
	record := r.cell(row, columnRecord)
	if r.layout.kind == "" {
		if err := r.know(record, r.cell(row, columnRest)); err != nil {
			return nil, err
		}
	}
	thing := r.cells(row, r.layout.thing)
	if c.thing != nil && !slices.Equal(thing, c.thing) {
		return nil, errors.New("it belongs to something else than the row before, where a chunk had not ended")
	}
	if record != recordChunk || r.layout.entry == nil {
		return r.line(row, record, nil)
	}
	c.thing = thing
	if err := r.takeEntry(c, row); err != nil {
		return nil, err
	}
	if r.cell(row, columnSum) != "" {
		return r.line(row, record, append(append([]byte{'['}, c.entries...), ']'))
	}
	for _, column := range r.layout.rest {
		if r.cell(row, column.name) != "" {
			return nil, fmt.Errorf("%s is told before the end of the chunk", column.name)
		}
	}
	if len(c.entries) > maxLine {
		return nil, fmt.Errorf("the chunk is longer than %d bytes", maxLine)
	}
	return nil, nil
}

// know makes the table that of the kind that the header says.
func (r *rows) know(record, rest string) error {
	var header struct{ Kinds []string }
	err := json.Unmarshal([]byte(rest), &header)
	if record != recordHeader || err != nil || len(header.Kinds) != 1 || !slices.Contains(Kinds(), header.Kinds[0]) {
		return errors.New("it does not begin with a header of " + format + " that names one kind")
	}
	r.layout = newLayout(header.Kinds[0])
	return nil
}

// cell returns what a row has in a column, nothing where there is no such column.
func (r *rows) cell(row []string, column string) string {
	if i, ok := r.columns[column]; ok {
		return row[i]
	}
	return ""
}

func (r *rows) cells(row []string, columns []column) (cells []string) {
	for _, c := range columns {
		cells = append(cells, r.cell(row, c.name))
	}
	return cells
}

// takeEntry takes what a row says of an entry, if it does.
func (r *rows) takeEntry(c *chunkRows, row []string) error {
	if r.cell(row, columnEntry) == unreadable {
		c.entries = append(appendComma(c.entries), unreadable...)
		return nil
	}
	entry, err := r.members([]byte{'{'}, row, r.layout.entry)
	if err != nil || len(entry) == 1 {
		return err
	}
	c.entries = append(append(appendComma(c.entries), entry...), '}')
	return nil
}

// line returns the line that rows stand for, of which this is the last.
func (r *rows) line(row []string, record string, entries []byte) ([]byte, error) {
	line, err := r.members([]byte{'{'}, row, r.layout.thing)
	if err != nil {
		return nil, err
	}
	if record == recordChunk || record == recordEnd {
		line = append(line, `,"kind":"`+r.layout.kind+`"`...)
	}
	if entries != nil {
		line = append(append(line, `,"entries":`...), entries...)
	}
	line, err = r.members(line, row, r.layout.rest)
	return append(line, '}'), err
}

// members appends what a row says in some columns to an object that is open.
func (r *rows) members(buf []byte, row []string, columns []column) (_ []byte, err error) {
	for _, c := range columns {
		if buf, err = appendMember(buf, c, r.cell(row, c.name)); err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return buf, nil
}

// bounded reads no more than it is left to.
type bounded struct {
	in   io.Reader
	left int
	read int64
	last byte // that was read
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("%w: something in it is longer than %d bytes", ErrFile, maxLine)
	}
	n, err := b.in.Read(p)
	b.left, b.read = b.left-n, b.read+int64(n)
	if n > 0 {
		b.last = p[n-1]
	}
	return n, err
}
