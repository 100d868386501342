package transfer

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"

	"github.com/acclaim-dev/acclaim/services/internal/document"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

// Source is a store that can be exported. Its listings are ascending and hold
// nothing locked between two names.
type Source interface {
	stream.Store // of which nothing is asked that writes
	Streams(ctx context.Context, prefix string) iter.Seq2[string, error]
	Keys(ctx context.Context, prefix string) iter.Seq2[string, error]
	Get(ctx context.Context, keys ...string) ([]document.Document, error)
}

// Export writes what the store holds of a scope as JSON Lines. The error is
// [stream.ErrDamaged] where that is not sound; then, as after any other, there is
// no footer.
func Export(ctx context.Context, store Source, scope Scope, w io.Writer) (Totals, error) {
	return export(ctx, store, scope, w, jsonLines{})
}

// ExportCSV writes what Export writes as a table, of a scope that is of one kind.
func ExportCSV(ctx context.Context, store Source, scope Scope, w io.Writer) (Totals, error) {
	if len(scope.Kinds) != 1 {
		return Totals{}, fmt.Errorf("CSV holds one kind at a time, not %q", scope.Kinds)
	}
	return export(ctx, store, scope, w, table{newLayout(scope.Kinds[0])})
}

func export(ctx context.Context, store Source, scope Scope, w io.Writer, as form) (Totals, error) {
	if err := scope.check(); err != nil {
		return Totals{}, err
	}
	x := &exporter{store: store, scope: scope, form: as, out: bufio.NewWriterSize(w, 64<<10), ledger: newLedger()}
	err := x.all(ctx)
	return x.totals, err
}

// form is how records are written.
type form interface {
	// encode returns a record as it is written.
	encode(record any) ([]byte, error)
	// decode returns the line of JSON that Import makes of what encode returned.
	decode(encoded []byte) (line []byte, err error)
}

// jsonLines writes records as JSON Lines.
type jsonLines struct{}

func (jsonLines) encode(record any) ([]byte, error) { return encodeLine(record) }

func (jsonLines) decode(encoded []byte) ([]byte, error) {
	return bytes.TrimSuffix(encoded, []byte("\n")), nil
}

type exporter struct {
	store Source
	scope Scope
	form  form
	out   *bufio.Writer
	ledger
}

func (x *exporter) all(ctx context.Context) error {
	if err := x.write(headerRecord{recordHeader, format, version, x.scope}); err != nil {
		return err
	}
	for _, environment := range x.scope.Environments {
		for _, kind := range x.scope.Kinds {
			if err := x.kind(ctx, kind, x.scope.prefix(environment, kind)); err != nil {
				return err
			}
		}
	}
	if err := x.write(x.footer()); err != nil {
		return err
	}
	return x.out.Flush()
}

func (x *exporter) kind(ctx context.Context, kind, prefix string) error {
	if kind == Documents {
		return forDocuments(ctx, x.store, prefix, x.document)
	}
	return forStreams(ctx, x.store, prefix, func(name string) error { return x.stream(ctx, kind, name) })
}

// forStreams calls do with the names that begin with prefix. They are gathered
// first: a database ends a listing that stands still for minutes, as it would
// while a long stream is read.
func forStreams(ctx context.Context, store Source, prefix string, do func(name string) error) error {
	var names []string
	for name, err := range store.Streams(ctx, prefix) {
		if err != nil {
			return err
		}
		names = append(names, name)
	}
	for _, name := range names {
		if err := do(name); err != nil {
			return err
		}
	}
	return nil
}

// documentsAtOnce is how many documents are read in one step.
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

// stream writes the chunks of a stream, which it checks, and their end.
func (x *exporter) stream(ctx context.Context, kind, name string) error {
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
		if err := x.chunk(r, &chunk); err != nil {
			return err
		}
	}
	if head.Seq == 0 {
		return fmt.Errorf("%w: %s has no first chunk", stream.ErrDamaged, name)
	}
	x.totals.Streams++
	r.Record = recordEnd
	return x.write(endRecord{r, head.Seq, x.totals.Entries - before, head.Sum[:]})
}

// chunk writes a chunk in the most readable way that is exact.
func (x *exporter) chunk(of streamRecord, c *stream.Chunk) error {
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
	x.ledger.chunk(sum, c.Count)
	return x.writeExact(c.Stream, func(line []byte) bool {
		var back chunkRecord[json.RawMessage]
		if json.Unmarshal(line, &back) != nil {
			return false
		}
		name, err := back.name()
		if err != nil {
			return false
		}
		read, err := chunkOf(&back, name, c.Prev)
		return err == nil && read.Sum() == sum
	}, r, exact, bare)
}

// document writes a document in the most readable way that is exact.
func (x *exporter) document(name string, d document.Document) error {
	r, err := newDocumentRecord(name, d)
	if err != nil {
		return fmt.Errorf("%w: %w", stream.ErrDamaged, err)
	}
	exact := r
	exact.Body, exact.Raw = nil, d.Body
	sum := sumOf(name, d)
	x.ledger.document(sum)
	return x.writeExact(name, func(line []byte) bool {
		var back documentRecord
		if json.Unmarshal(line, &back) != nil {
			return false
		}
		name, read, err := back.document()
		return err == nil && sumOf(name, read) == sum
	}, r, exact)
}

// writeExact writes the first of several forms of a record that can be read back.
func (x *exporter) writeExact(name string, exact func(line []byte) bool, forms ...any) error {
	for _, record := range forms {
		encoded, err := x.form.encode(record)
		if err != nil {
			continue
		}
		line, err := x.form.decode(encoded)
		if err != nil || len(line) > maxLine || !exact(line) {
			continue
		}
		_, err = x.out.Write(encoded)
		return err
	}
	return fmt.Errorf("%s cannot be written so that it could be read back", name)
}

func (x *exporter) write(record any) error {
	encoded, err := x.form.encode(record)
	if err != nil {
		return err
	}
	_, err = x.out.Write(encoded)
	return err
}
