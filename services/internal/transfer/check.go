package transfer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/acclaim-dev/acclaim/services/internal/document"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

// ErrFile marks what is not a whole and unchanged export.
var ErrFile = errors.New("this is not a whole and unchanged export")

// checker reads an export line by line and lets nothing pass that it does not
// vouch for.
type checker struct {
	scope Scope
	ledger
	begun, ended bool

	// open is the stream whose chunks are being read, if its kind is not empty.
	open    streamRecord
	name    string // of the stream or document that was last
	rank    int
	head    stream.Head
	entries uint64
}

func newChecker() *checker { return &checker{ledger: newLedger()} }

// item is what a line has to be stored: one of its members is set, or none.
type item struct {
	chunk    *stream.Chunk
	end      *streamEnd
	document *named
}

// streamEnd says that a stream has no chunk after a number.
type streamEnd struct {
	name string
	last uint64
}

type named struct {
	name string
	document.Document
}

// next checks a line.
func (c *checker) next(line []byte) (item, error) {
	record, err := recordOf(line)
	switch {
	case err != nil:
		return item{}, fmt.Errorf("not JSON: %w", err)
	case c.ended:
		return item{}, errors.New("it comes after the footer")
	case !c.begun:
		return item{}, c.header(line, record)
	}
	switch record {
	case recordChunk:
		return c.nextChunk(line)
	case recordEnd:
		return c.nextEnd(line)
	case recordDocument:
		return c.nextDocument(line)
	case recordFooter:
		return item{}, c.nextFooter(line)
	}
	return item{}, fmt.Errorf("there is no record %q", record)
}

// finish checks that nothing is missing.
func (c *checker) finish() error {
	if !c.ended {
		return errors.New("it has no footer: it was cut off")
	}
	return nil
}

func (c *checker) header(line []byte, record string) error {
	var h headerRecord
	if err := json.Unmarshal(line, &h); err != nil || record != recordHeader || h.Format != format {
		return errors.New("it does not begin with a header of " + format)
	}
	if h.Version != version {
		return fmt.Errorf("it is of version %d and this program reads %d", h.Version, version)
	}
	c.scope, c.begun = h.Scope, true
	return h.check()
}

// enter makes sure that something belongs to the export and comes in order,
// which also means once.
func (c *checker) enter(environment, extension, kind, name string) error {
	rank, ok := c.scope.rank(environment, extension, kind)
	switch {
	case c.open.Kind != "":
		return fmt.Errorf("%s begins before the end of %s", name, c.name)
	case !ok:
		return fmt.Errorf("%s is not what the header announces", name)
	case rank < c.rank || rank == c.rank && name <= c.name:
		return fmt.Errorf("%s comes after %s", name, c.name)
	}
	c.rank, c.name = rank, name
	return nil
}

func (c *checker) nextChunk(line []byte) (item, error) {
	var r chunkRecord[json.RawMessage]
	if err := json.Unmarshal(line, &r); err != nil {
		return item{}, err
	}
	name, err := r.name()
	if err != nil {
		return item{}, err
	}
	if c.open.Kind != r.Kind || c.name != name {
		if err := c.enter(r.Environment, r.Extension, r.Kind, name); err != nil {
			return item{}, err
		}
		c.open, c.head, c.entries = r.streamRecord, stream.Head{}, 0
	}
	chunk, err := chunkOf(&r, name, c.head.Sum)
	if err != nil {
		return item{}, err
	}
	head, err := c.head.Next(&chunk, streamKinds()[r.Kind].ties)
	if err != nil {
		return item{}, err
	}
	sum := chunk.Sum()
	if !slices.Equal(sum[:], r.Sum) {
		return item{}, fmt.Errorf("%s chunk %d was changed: its digest is %x and should be %x", name, chunk.Seq, sum, []byte(r.Sum))
	}
	c.head = head
	c.entries += uint64(chunk.Count)
	c.chunk(sum, chunk.Count)
	return item{chunk: &chunk}, nil
}

func (c *checker) nextEnd(line []byte) (item, error) {
	var r endRecord
	if err := json.Unmarshal(line, &r); err != nil {
		return item{}, err
	}
	name, err := r.name()
	switch {
	case err != nil:
		return item{}, err
	case c.open.Kind != r.Kind || c.name != name:
		return item{}, fmt.Errorf("%s ends and has not begun", name)
	case r.Chunks != c.head.Seq || r.Entries != c.entries || !slices.Equal(c.head.Sum[:], r.Head):
		return item{}, fmt.Errorf("%s ends at chunk %d and should at %d", name, c.head.Seq, r.Chunks)
	}
	c.open.Kind = ""
	c.totals.Streams++
	return item{end: &streamEnd{name, r.Chunks}}, nil
}

func (c *checker) nextDocument(line []byte) (item, error) {
	var r documentRecord
	if err := json.Unmarshal(line, &r); err != nil {
		return item{}, err
	}
	name, d, err := r.document()
	if err != nil {
		return item{}, err
	}
	if err := c.enter(r.Environment, r.Extension, Documents, name); err != nil {
		return item{}, err
	}
	sum := sumOf(name, d)
	if !slices.Equal(sum[:], r.Sum) {
		return item{}, fmt.Errorf("%s was changed: its digest is %x and should be %x", name, sum, []byte(r.Sum))
	}
	c.document(sum)
	return item{document: &named{name, d}}, nil
}

func (c *checker) nextFooter(line []byte) error {
	var r footerRecord
	if err := json.Unmarshal(line, &r); err != nil {
		return err
	}
	want := c.footer()
	switch {
	case c.open.Kind != "":
		return fmt.Errorf("%s has no end", c.name)
	case r.Totals != want.Totals:
		return fmt.Errorf("it counts %+v and there were %+v", r.Totals, want.Totals)
	case !slices.Equal(r.Digest, want.Digest):
		return errors.New("its digest is not that of what came before")
	}
	c.ended = true
	return nil
}
