package transfer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

// ErrBadFile marks a file that is not a whole and unchanged export.
var ErrBadFile = errors.New("this is not a whole and unchanged export")

// lineChecker reads an export line by line and rejects every line that fails
// verification.
type lineChecker struct {
	scope Scope
	contentLedger
	begun, ended bool

	// open is the stream whose chunks are being read, if its kind is not empty.
	open    streamRecord
	name    string // of the stream or document that was last
	rank    int
	head    stream.Head
	entries uint64
}

func newLineChecker() *lineChecker { return &lineChecker{contentLedger: newContentLedger()} }

// lineContent is the content of a line to store: at most one member is set.
type lineContent struct {
	chunk    *stream.Chunk
	end      *streamEnd
	document *namedDocument
}

// streamEnd is the last sequence number of a stream.
type streamEnd struct {
	name string
	last uint64
}

type namedDocument struct {
	name string
	document.Document
}

// checkLine checks a line.
func (c *lineChecker) checkLine(line []byte) (lineContent, error) {
	record, err := recordTypeOf(line)
	switch {
	case err != nil:
		return lineContent{}, fmt.Errorf("not JSON: %w", err)
	case c.ended:
		return lineContent{}, errors.New("it comes after the footer")
	case !c.begun:
		return lineContent{}, c.checkHeader(line, record)
	}
	switch record {
	case recordChunk:
		return c.checkChunk(line)
	case recordEnd:
		return c.checkEnd(line)
	case recordDocument:
		return c.checkDocument(line)
	case recordFooter:
		return lineContent{}, c.checkFooter(line)
	}
	return lineContent{}, fmt.Errorf("there is no record %q", record)
}

// checkComplete checks that the footer was read.
func (c *lineChecker) checkComplete() error {
	if !c.ended {
		return errors.New("it has no footer: it was cut off")
	}
	return nil
}

func (c *lineChecker) checkHeader(line []byte, record string) error {
	var h headerRecord
	if err := json.Unmarshal(line, &h); err != nil || record != recordHeader || h.Format != format {
		return errors.New("it does not begin with a header of " + format)
	}
	if h.Version != version {
		return fmt.Errorf("it is of version %d and this program reads %d", h.Version, version)
	}
	c.scope, c.begun = h.Scope, true
	return h.checkScope()
}

// checkOrder checks that a stream or document belongs to the export and comes in
// order, and so only once.
func (c *lineChecker) checkOrder(environment, extension, kind, name string) error {
	rank, ok := c.scope.exportRank(environment, extension, kind)
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

func (c *lineChecker) checkChunk(line []byte) (lineContent, error) {
	var r chunkRecord[json.RawMessage]
	if err := json.Unmarshal(line, &r); err != nil {
		return lineContent{}, err
	}
	name, err := r.streamName()
	if err != nil {
		return lineContent{}, err
	}
	if c.open.Kind != r.Kind || c.name != name {
		if err := c.checkOrder(r.Environment, r.Extension, r.Kind, name); err != nil {
			return lineContent{}, err
		}
		c.open, c.head, c.entries = r.streamRecord, stream.Head{}, 0
	}
	chunk, err := chunkOf(&r, name, c.head.Sum)
	if err != nil {
		return lineContent{}, err
	}
	head, err := c.head.Next(&chunk, streamKinds()[r.Kind].ties)
	if err != nil {
		return lineContent{}, err
	}
	sum := chunk.Sum()
	if !slices.Equal(sum[:], r.Sum) {
		return lineContent{}, fmt.Errorf("%s chunk %d was changed: its digest is %x and should be %x", name, chunk.Seq, sum, []byte(r.Sum))
	}
	c.head = head
	c.entries += uint64(chunk.Count)
	c.addChunk(sum, chunk.Count)
	return lineContent{chunk: &chunk}, nil
}

func (c *lineChecker) checkEnd(line []byte) (lineContent, error) {
	var r endRecord
	if err := json.Unmarshal(line, &r); err != nil {
		return lineContent{}, err
	}
	name, err := r.streamName()
	switch {
	case err != nil:
		return lineContent{}, err
	case c.open.Kind != r.Kind || c.name != name:
		return lineContent{}, fmt.Errorf("%s ends and has not begun", name)
	case r.Chunks != c.head.Seq || r.Entries != c.entries || !slices.Equal(c.head.Sum[:], r.Head):
		return lineContent{}, fmt.Errorf("%s ends at chunk %d and should at %d", name, c.head.Seq, r.Chunks)
	}
	c.open.Kind = ""
	c.totals.Streams++
	return lineContent{end: &streamEnd{name, r.Chunks}}, nil
}

func (c *lineChecker) checkDocument(line []byte) (lineContent, error) {
	var r documentRecord
	if err := json.Unmarshal(line, &r); err != nil {
		return lineContent{}, err
	}
	name, d, err := r.toDocument()
	if err != nil {
		return lineContent{}, err
	}
	if err := c.checkOrder(r.Environment, r.Extension, Documents, name); err != nil {
		return lineContent{}, err
	}
	sum := sumOf(name, d)
	if !slices.Equal(sum[:], r.Sum) {
		return lineContent{}, fmt.Errorf("%s was changed: its digest is %x and should be %x", name, sum, []byte(r.Sum))
	}
	c.addDocument(sum)
	return lineContent{document: &namedDocument{name, d}}, nil
}

func (c *lineChecker) checkFooter(line []byte) error {
	var r footerRecord
	if err := json.Unmarshal(line, &r); err != nil {
		return err
	}
	want := c.newFooter()
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
