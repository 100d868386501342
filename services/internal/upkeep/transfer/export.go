package transfer

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"iter"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

// Source is a store that can be exported. Its listings are ascending and hold
// nothing locked between two names. [stream.Store] and [document.Store] describe its reads.
type Source interface {
	Streams(ctx context.Context, prefix string) iter.Seq2[string, error]
	Chunks(ctx context.Context, name string, after uint64) iter.Seq2[stream.Chunk, error]
	Keys(ctx context.Context, prefix string) iter.Seq2[string, error]
	Get(ctx context.Context, keys ...string) ([]document.Document, error)
}

// Write writes what the store holds of a scope, in a format of [Scope.Complete].
func Write(ctx context.Context, store Source, scope Scope, format string, w io.Writer) (Totals, error) {
	if format == CSV {
		return ExportCSV(ctx, store, scope, w)
	}
	return Export(ctx, store, scope, w)
}

// Export writes what the store holds of a scope as JSON Lines. The error is
// [stream.ErrDamaged] where that is not sound; then, as after any other, there is
// no footer.
func Export(ctx context.Context, store Source, scope Scope, w io.Writer) (Totals, error) {
	return exportScope(ctx, store, scope, &lineWriter{bufio.NewWriterSize(w, 64<<10)})
}

func exportScope(ctx context.Context, store Source, scope Scope, form formatWriter) (Totals, error) {
	if err := scope.checkScope(); err != nil {
		return Totals{}, err
	}
	x := &exporter{store: store, scope: scope, form: form, contentLedger: newContentLedger()}
	err := x.writeAll(ctx)
	return x.totals, err
}

// formatWriter writes the parts of an export, in the order of the methods but for
// chunks and ends, which alternate by stream. The footer comes last and flushes.
type formatWriter interface {
	writeHeader(scope Scope) error
	writeChunk(of streamRecord, c *stream.Chunk) error
	writeEnd(r endRecord) error
	writeDocument(r documentRecord) error
	writeFooter(r footerRecord) error
}

type exporter struct {
	store Source
	scope Scope
	form  formatWriter
	contentLedger
}

func (x *exporter) writeAll(ctx context.Context) error {
	if err := x.form.writeHeader(x.scope); err != nil {
		return err
	}
	for _, environment := range x.scope.Environments {
		for _, kind := range x.scope.Kinds {
			if err := x.writeKind(ctx, kind, x.scope.namePrefix(environment, kind)); err != nil {
				return err
			}
		}
	}
	return x.form.writeFooter(x.newFooter())
}

func (x *exporter) writeKind(ctx context.Context, kind, prefix string) error {
	if kind == Documents {
		return forDocuments(ctx, x.store, prefix, x.writeDocument)
	}
	return forStreams(ctx, x.store, prefix, func(name string) error { return x.writeStream(ctx, kind, name) })
}

// forStreams calls do with the names that begin with prefix.
func forStreams(ctx context.Context, store Source, prefix string, do func(name string) error) error {
	for name, err := range store.Streams(ctx, prefix) {
		if err != nil {
			return err
		}
		if err := do(name); err != nil {
			return err
		}
	}
	return nil
}

// documentsAtOnce is the number of documents read in one step.
const documentsAtOnce = 100

// forDocuments calls do with the documents whose keys begin with prefix.
func forDocuments(ctx context.Context, store Source, prefix string, do func(name string, d document.Document) error) error {
	var keys []string
	flush := func() error {
		found, err := store.Get(ctx, keys...)
		if err != nil {
			return err
		}
		for i, d := range found {
			if err := do(keys[i], d); err != nil {
				return err
			}
		}
		keys = keys[:0]
		return nil
	}
	for name, err := range store.Keys(ctx, prefix) {
		if err != nil {
			return err
		}
		if keys = append(keys, name); len(keys) == documentsAtOnce {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// writeStream checks and writes the chunks of a stream, and their end.
func (x *exporter) writeStream(ctx context.Context, kind, name string) error {
	r, err := newStreamRecord(kind, name)
	if err != nil {
		return fmt.Errorf("%w: %w", stream.ErrDamaged, err)
	}
	var head stream.Head
	before := x.totals.Entries
	for chunk, err := range x.store.Chunks(ctx, name, 0) {
		if err != nil {
			return err
		}
		if head, err = head.Next(&chunk, streamKinds()[kind].ties); err != nil {
			return err
		}
		r.Record = recordChunk
		x.contentLedger.addChunk(chunk.Sum(), chunk.Count)
		if err := x.form.writeChunk(r, &chunk); err != nil {
			return err
		}
	}
	if head.Seq == 0 {
		return fmt.Errorf("%w: %s has no first chunk", stream.ErrDamaged, name)
	}
	x.totals.Streams++
	r.Record = recordEnd
	return x.form.writeEnd(endRecord{r, head.Seq, x.totals.Entries - before, head.Sum[:]})
}

func (x *exporter) writeDocument(name string, d document.Document) error {
	r, err := newDocumentRecord(name, d)
	if err != nil {
		return fmt.Errorf("%w: %w", stream.ErrDamaged, err)
	}
	x.contentLedger.addDocument(sumOf(name, d))
	return x.form.writeDocument(r)
}
