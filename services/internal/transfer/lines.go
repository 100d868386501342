package transfer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// lines reads JSON Lines.
type lines struct {
	in     *bufio.Reader
	long   []byte // a line that does not fit the reader's buffer
	number int    // of the last line, from 1
}

// position implements [records].
func (l *lines) position() string { return fmt.Sprint("line ", l.number) }

// next implements [records].
func (l *lines) next() ([]byte, error) {
	l.number++
	line, err := l.read()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
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
