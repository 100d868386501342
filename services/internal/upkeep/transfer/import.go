package transfer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

// Target is a store that an export can be imported into. [stream.Store] and
// [document.Store] describe the methods without a comment.
type Target interface {
	Chunks(ctx context.Context, name string, after uint64) iter.Seq2[stream.Chunk, error]
	Append(ctx context.Context, chunk stream.Chunk) error
	Get(ctx context.Context, keys ...string) ([]document.Document, error)
	// Restore stores a document as it was elsewhere, its version and write id
	// included, or returns [document.ErrConflict] where one was ever written.
	Restore(ctx context.Context, key string, d document.Document) error
}

// ErrDiffers marks a store with other content under a name of the export.
var ErrDiffers = errors.New("the store holds something else")

// Result summarizes an import.
type Result struct {
	Scope Scope
	// Read counts the verified lines; streams count once their end is verified.
	Read Totals
	// Chunks and Documents count what was stored. The rest was present before or,
	// if the import failed, is not in the store.
	Chunks, Documents uint64
}

// Import stores what Export wrote. It replaces nothing: equal content in the store
// is left alone; for different content the error is ErrOther. Chunks of a batch are
// stored in no order: until an import has succeeded streams may have gaps, and no
// other process may write within the export's scope.
//
// The error is ErrFile where the file is not whole or was changed. After any error
// the lines before it may be stored, and an import of the whole file completes the
// rest. Memory is bounded by a batch of lines.
//
// Unless it is nil, begin is called with the scope of the file before anything is
// stored. Its error ends the import.
func Import(ctx context.Context, r io.Reader, store Target, begin func(context.Context, Scope) error) (Result, error) {
	c, b := newLineChecker(), &importBatch{store: store}
	in, err := openLines(r)
	if err == nil {
		err = importLines(ctx, in, c, b, begin)
	}
	return Result{Scope: c.scope, Read: c.totals, Chunks: b.chunks.Load(), Documents: b.documents.Load()}, err
}

// openLines begins to read a file.
func openLines(r io.Reader) (*lineReader, error) {
	in := bufio.NewReaderSize(r, 256<<10)
	begin, err := in.Peek(2)
	switch {
	case len(begin) == 0 && errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%w: it is empty", ErrBadFile)
	case len(begin) == 0:
		return nil, err
	case begin[0] == 0x1f:
		return nil, fmt.Errorf("%w: it is compressed by gzip, unpack it first", ErrBadFile)
	case begin[0] != '{':
		return nil, fmt.Errorf("%w: it is not JSON Lines; a CSV export cannot be imported", ErrBadFile)
	}
	return &lineReader{in: in}, nil
}

func importLines(ctx context.Context, in *lineReader, c *lineChecker, b *importBatch, begin func(context.Context, Scope) error) error {
	for {
		line, err := in.nextLine()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		it, err := c.checkLine(line)
		if err != nil {
			return fmt.Errorf("%w: %s: %w", ErrBadFile, in.position(), err)
		}
		if begin != nil {
			if err := begin(ctx, c.scope); err != nil {
				return err
			}
			begin = nil
		}
		if b.addLine(it, len(line)); b.isFull() {
			if err := b.flush(ctx); err != nil {
				return err
			}
		}
	}
	if err := b.flush(ctx); err != nil {
		return err
	}
	if err := c.checkComplete(); err != nil {
		return fmt.Errorf("%w: %w", ErrBadFile, err)
	}
	return nil
}
