package transfer

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

// ExportCSV writes a scope of one kind as a table for spreadsheets: a heading, then
// a row for each entry or document. A table cannot be imported.
func ExportCSV(ctx context.Context, store Source, scope Scope, w io.Writer) (Totals, error) {
	if len(scope.Kinds) != 1 {
		return Totals{}, fmt.Errorf("CSV holds one kind at a time, not %q", scope.Kinds)
	}
	return exportScope(ctx, store, scope, &csvTable{out: csv.NewWriter(w), columns: columnsOf(scope.Kinds[0])})
}

// columnsOf returns the members of records and entries that have a column in the
// table of a kind.
func columnsOf(kind string) []string {
	stream := []string{"environment", "extension", "channel", "id", "seq", "at", "entry"}
	switch kind {
	case Votes:
		return append(stream, "identifier", "opaque", "userIDVoting", "replace", "value", "count", "user", "add", "config")
	case Accumulations:
		return append(stream, "channel_id", "opaque_user_id", "user_id", "data")
	case Rankings:
		return append(stream, "identity", "key", "group", "answersPerViewer", "held", "into", "config")
	case Viewers:
		return append(stream, "userID")
	}
	return []string{"environment", "extension", "key", "version", "body"}
}

// csvTable implements [formatWriter] as CSV.
type csvTable struct {
	out     *csv.Writer
	columns []string
}

func (t *csvTable) writeHeader(Scope) error { return t.out.Write(t.columns) }

// writeChunk writes a row for each entry.
func (t *csvTable) writeChunk(of streamRecord, c *stream.Chunk) error {
	_, entries, err := c.Content(streamKinds()[of.Kind].codec)
	if err != nil {
		return err
	}
	place := struct {
		streamRecord
		Seq uint64 `json:"seq"`
		At  int64  `json:"at"`
	}{of, c.Seq, c.At}
	for _, entry := range entries {
		if _, err := json.Marshal(entry); err != nil {
			entry = nil // it holds something else than JSON: show its position alone
		}
		if err := t.writeRow(place, entry); err != nil {
			return err
		}
	}
	return nil
}

// writeDocument shows the body as it is stored, which need not be JSON.
func (t *csvTable) writeDocument(r documentRecord) error {
	body := string(r.Body)
	r.Body = nil
	return t.writeRow(r, map[string]string{"body": body})
}

func (t *csvTable) writeEnd(endRecord) error { return nil }

func (t *csvTable) writeFooter(footerRecord) error {
	t.out.Flush()
	return t.out.Error()
}

// writeRow writes the members of JSON objects that have a column. Strings stand in
// their cells as text, all else as JSON.
func (t *csvTable) writeRow(objects ...any) error {
	members := map[string]json.RawMessage{}
	for _, object := range objects {
		line, err := encodeLine(object)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(line, &members); err != nil {
			return err
		}
	}
	row := make([]string, len(t.columns))
	for i, name := range t.columns {
		value := bytes.TrimSpace(members[name])
		row[i] = string(value)
		if bytes.HasPrefix(value, []byte{'"'}) {
			var text string
			if err := json.Unmarshal(value, &text); err != nil {
				return err
			}
			row[i] = escapeFormula(text)
		}
	}
	return t.out.Write(row)
}

// escapeFormula puts an apostrophe before text that spreadsheets take for a
// formula. Viewers may have sent the text.
func escapeFormula(text string) string {
	if text != "" && strings.Contains("=+-@\t\r\n", text[:1]) {
		return "'" + text
	}
	return text
}
