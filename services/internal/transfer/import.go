package transfer

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/acclaim-dev/acclaim/services/internal/document"
)

// Target is a store that an export can be brought into.
type Target interface {
	Source
	// Restore stores a document as it was elsewhere, its version and write id
	// included, or returns [document.ErrConflict] where one was ever written.
	Restore(ctx context.Context, key string, d document.Document) error
}

// ErrOther marks a store that holds something else under a name of the export.
var ErrOther = errors.New("the store holds something else")

// Result is what an import came to.
type Result struct {
	Scope Scope
	// Read counts what was read and found good, the streams of which the end was.
	Read Totals
	// Chunks and Documents count what was stored. The rest of what was read was
	// there already or, if the import failed, is not in the store.
	Chunks, Documents uint64
}

// Import stores what Export or ExportCSV wrote. It replaces nothing: what is in the store
// already is left alone if it is the same, else the error is ErrOther. Chunks of a
// batch are stored in no order: until an import has succeeded streams may have gaps,
// and nobody else may write anything of the export's scope.
//
// The error is ErrFile where the file is not whole or was changed. What it says
// up to there may be stored then, whatever the error, and a repetition with the
// whole file goes on from there. Memory is bounded by a batch of lines.
//
// Unless it is nil, begin is called with what the file is of before anything is
// stored. Its error ends the import.
func Import(ctx context.Context, r io.Reader, store Target, begin func(context.Context, Scope) error) (Result, error) {
	c, b := newChecker(), &batch{store: store}
	in, err := open(r)
	if err == nil {
		err = read(ctx, in, c, b, begin)
	}
	return Result{Scope: c.scope, Read: c.totals, Chunks: b.chunks.Load(), Documents: b.documents.Load()}, err
}

// records reads a file record by record.
type records interface {
	// next returns the next record as a line of JSON, which is good until the next
	// call, and io.EOF when there is none or only the beginning of one.
	next() (line []byte, err error)
	// position says where in the file that record is.
	position() string
}

// open begins to read a file of either form.
func open(r io.Reader) (records, error) {
	in := bufio.NewReaderSize(r, 256<<10)
	begin, err := in.Peek(len(byteOrderMark))
	switch {
	case len(begin) == 0 && errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%w: it is empty", ErrFile)
	case len(begin) == 0:
		return nil, err
	case bytes.HasPrefix(begin, []byte{0x1f, 0x8b}):
		return nil, fmt.Errorf("%w: it is compressed by gzip, unpack it first", ErrFile)
	case begin[0] == '{':
		return &lines{in: in}, nil
	}
	if string(begin) == byteOrderMark {
		_, _ = in.Discard(len(byteOrderMark)) // it is there
	}
	return newRows(in), nil
}

// byteOrderMark is what spreadsheets begin CSV with.
const byteOrderMark = "\ufeff"

func read(ctx context.Context, in records, c *checker, b *batch, begin func(context.Context, Scope) error) error {
	for {
		line, err := in.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		it, err := c.next(line)
		if err != nil {
			return fmt.Errorf("%w: %s: %w", ErrFile, in.position(), err)
		}
		if begin != nil {
			if err := begin(ctx, c.scope); err != nil {
				return err
			}
			begin = nil
		}
		if b.add(it, len(line)); b.full() {
			if err := b.flush(ctx); err != nil {
				return err
			}
		}
	}
	if err := b.flush(ctx); err != nil {
		return err
	}
	if err := c.finish(); err != nil {
		return fmt.Errorf("%w: %w", ErrFile, err)
	}
	return nil
}
