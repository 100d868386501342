package transfer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// lines reads a file line by line. What it returns is good until the next call.
type lines struct {
	in     *bufio.Reader
	long   []byte // a line that does not fit the reader's buffer
	number int    // of the last line, from 1
}

func newLines(r io.Reader) *lines { return &lines{in: bufio.NewReaderSize(r, 256<<10)} }

// next returns the next line without its end, and io.EOF when there is none or
// only the beginning of one.
func (l *lines) next() ([]byte, error) {
	l.number++
	line, err := l.read()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if l.number == 1 {
		return line, sniff(line)
	}
	if err != nil && json.Valid(line) {
		return line, nil // it was whole
	}
	return line, err
}

// read returns what there is up to the next line feed, with io.EOF where that is
// the end of the file.
func (l *lines) read() ([]byte, error) {
	l.long = l.long[:0]
	for {
		part, err := l.in.ReadSlice('\n')
		if err == nil && len(l.long) == 0 {
			return bytes.TrimRight(part, "\r\n"), nil
		}
		l.long = append(l.long, part...)
		if len(l.long) > maxLine {
			return nil, fmt.Errorf("%w: line %d is longer than %d bytes", ErrFile, l.number, maxLine)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimRight(l.long, "\r\n"), err
		}
	}
}

// sniff says what a file is instead of an export.
func sniff(line []byte) error {
	switch {
	case len(line) == 0:
		return fmt.Errorf("%w: it is empty", ErrFile)
	case bytes.HasPrefix(line, []byte{0x1f, 0x8b}):
		return fmt.Errorf("%w: it is compressed by gzip, unpack it first", ErrFile)
	case line[0] != '{':
		return fmt.Errorf("%w: it is not JSON Lines; CSV is for spreadsheets and is not read back", ErrFile)
	}
	return nil
}
