package transfer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

// lineReader reads JSON Lines.
type lineReader struct {
	in     *bufio.Reader
	long   []byte // a line that does not fit the reader's buffer
	number int    // of the last line, from 1
}

// position names the last line.
func (l *lineReader) position() string { return fmt.Sprint("line ", l.number) }

// nextLine returns the next line without its end, good until the next call, and
// io.EOF where there is none or only the beginning of one.
func (l *lineReader) nextLine() ([]byte, error) {
	l.number++
	line, err := l.readLine()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if err != nil && json.Valid(line) {
		return line, nil // it was whole
	}
	return line, err
}

// readLine returns the bytes up to the next line feed, with io.EOF at the end of
// the file.
func (l *lineReader) readLine() ([]byte, error) {
	l.long = l.long[:0]
	for {
		part, err := l.in.ReadSlice('\n')
		if err == nil && len(l.long) == 0 {
			return bytes.TrimRight(part, "\r\n"), nil
		}
		l.long = append(l.long, part...)
		if len(l.long) > maxLine {
			return nil, fmt.Errorf("%w: line %d is longer than %d bytes", ErrBadFile, l.number, maxLine)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimRight(l.long, "\r\n"), err
		}
	}
}

// lineWriter implements [formatWriter] as JSON Lines.
type lineWriter struct{ out *bufio.Writer }

func (l *lineWriter) writeHeader(scope Scope) error {
	return l.writeRecord(headerRecord{recordHeader, format, version, scope})
}

// writeChunk writes a chunk in the most readable form that is exact.
func (l *lineWriter) writeChunk(of streamRecord, c *stream.Chunk) error {
	sum := c.Sum()
	groups, entries, err := c.Content(streamKinds()[of.Kind].codec)
	if err != nil {
		return err
	}
	if entries == nil {
		entries = []any{}
	}
	r := chunkRecord[any]{streamRecord: of, Seq: c.Seq, At: c.At, ID: c.ID[:], Groups: groups, Entries: entries, Sum: sum[:]}
	if c.Original != (stream.Digest{}) {
		r.Original = c.Original[:]
	}
	exact := r
	exact.Payload = c.Payload
	bare := exact
	bare.Entries, bare.Groups = make([]any, c.Count), nil
	return l.writeExact(c.Stream, func(line []byte) bool {
		var back chunkRecord[json.RawMessage]
		if json.Unmarshal(line, &back) != nil {
			return false
		}
		name, err := back.streamName()
		if err != nil {
			return false
		}
		read, err := chunkOf(&back, name, c.Prev)
		return err == nil && read.Sum() == sum
	}, r, exact, bare)
}

func (l *lineWriter) writeEnd(r endRecord) error { return l.writeRecord(r) }

// writeDocument writes a document in the most readable form that is exact.
func (l *lineWriter) writeDocument(r documentRecord) error {
	exact := r
	exact.Body, exact.Raw = nil, r.Body
	return l.writeExact(fmt.Sprintf("document %q", r.Key), func(line []byte) bool {
		var back documentRecord
		if json.Unmarshal(line, &back) != nil {
			return false
		}
		name, read, err := back.toDocument()
		sum := sumOf(name, read)
		return err == nil && bytes.Equal(sum[:], r.Sum)
	}, r, exact)
}

func (l *lineWriter) writeFooter(r footerRecord) error {
	if err := l.writeRecord(r); err != nil {
		return err
	}
	return l.out.Flush()
}

// writeExact writes the first of several forms of a record that can be read back.
func (l *lineWriter) writeExact(name string, exact func(line []byte) bool, forms ...any) error {
	for _, record := range forms {
		line, err := encodeLine(record)
		if err != nil || len(line) > maxLine || !exact(bytes.TrimSuffix(line, []byte("\n"))) {
			continue
		}
		_, err = l.out.Write(line)
		return err
	}
	return fmt.Errorf("%s cannot be written so that it could be read back", name)
}

func (l *lineWriter) writeRecord(record any) error {
	line, err := encodeLine(record)
	if err != nil {
		return err
	}
	_, err = l.out.Write(line)
	return err
}
