package transfer

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/document"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
	"github.com/acclaim-dev/acclaim/services/ranking"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// ExportCSV writes what the store holds of a scope, which is of one kind, as rows
// below a heading: votes as GET /vote_logs has them, accumulated entries as GET
// /accumulate has them, answers by rank, documents whole. It does not check hash
// chains.
//
// Spreadsheets take a cell that begins with one of = + - @, a tab or a line end for
// a formula. Such text, which viewers may have sent, gets an apostrophe before it;
// numbers stay as they are.
func ExportCSV(ctx context.Context, store Source, scope Scope, w io.Writer) error {
	if err := scope.check(); err != nil {
		return err
	}
	if len(scope.Kinds) != 1 {
		return fmt.Errorf("CSV holds one kind at a time, not %q", scope.Kinds)
	}
	t := newTable(store, w)
	heading, rows := t.layout(scope.Kinds[0])
	err := t.out.Write(heading)
	for _, prefix := range scope.Prefixes() {
		if err == nil {
			err = rows(ctx, prefix)
		}
	}
	t.out.Flush()
	return errors.Join(err, t.out.Error(), t.close(ctx))
}

// table writes rows of what the services answer.
type table struct {
	out   *csv.Writer
	store Source

	polls     *voting.Service
	buffers   *accumulation.Service
	questions *ranking.Service
}

func newTable(store Source, w io.Writer) *table {
	from, clock, options := readOnly{store}, stream.SystemClock(), stream.Options{}
	return &table{
		out:       csv.NewWriter(w),
		store:     store,
		polls:     voting.NewService(from, clock, options, voting.HalfLife),
		buffers:   accumulation.NewService(from, clock, options),
		questions: ranking.NewService(from, clock, options),
	}
}

func (t *table) close(ctx context.Context) error {
	return errors.Join(t.polls.Close(ctx), t.buffers.Close(ctx), t.questions.Close(ctx))
}

// layout returns the heading for a kind and what writes the rows of all that
// begins with a prefix.
func (t *table) layout(kind string) (heading []string, rows func(ctx context.Context, prefix string) error) {
	of := func(columns ...string) []string { return append([]string{"environment", "extension"}, columns...) }
	each := func(do func(ctx context.Context, name string) error) func(context.Context, string) error {
		return func(ctx context.Context, prefix string) error {
			return forStreams(ctx, t.store, prefix, func(name string) error { return do(ctx, name) })
		}
	}
	switch kind {
	case Votes:
		return of("channel", "id", "identifier", "opaque", "value", "timestamp"), each(t.votes)
	case Accumulations:
		return of("id", "observed", "channel_id", "opaque_user_id", "user_id", "data"), each(t.accumulations)
	case Rankings:
		return of("channel", "id", "rank", "key", "score"), each(t.ranking)
	}
	return of("key", "version", "body"), func(ctx context.Context, prefix string) error {
		return forDocuments(ctx, t.store, prefix, t.document)
	}
}

// row writes numbers as they are and text so that it stays text.
func (t *table) row(cells ...any) error {
	row := make([]string, len(cells))
	for i, cell := range cells {
		text, ok := cell.(string)
		if row[i] = fmt.Sprint(cell); ok && text != "" && strings.Contains("=+-@\t\r\n", text[:1]) {
			row[i] = "'" + text
		}
	}
	return t.out.Write(row)
}

func (t *table) votes(ctx context.Context, name string) error {
	p, err := voting.ParseStream(name)
	if err != nil {
		return err
	}
	for vote, err := range t.polls.Log(ctx, p, voting.Cursor{}) {
		if err != nil {
			return err
		}
		if err := t.row(p.Environment, p.Extension, p.Channel, p.ID, vote.Identifier, vote.Opaque, vote.Value, vote.Timestamp); err != nil {
			return err
		}
	}
	return nil
}

func (t *table) accumulations(ctx context.Context, name string) error {
	b, err := accumulation.ParseStream(name)
	if err != nil {
		return err
	}
	for more, start := true, int64(0); more; {
		more = false
		for e, err := range t.buffers.Entries(ctx, b, start, nil) {
			if err != nil {
				return err
			}
			more, start = true, e.Observed
			if err := t.row(b.Environment, b.Extension, b.Name, e.Observed, e.ChannelID, e.OpaqueID, e.UserID, string(e.Data)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *table) ranking(ctx context.Context, name string) error {
	q, err := ranking.ParseStream(name)
	if err != nil {
		return err
	}
	scores, err := t.questions.All(ctx, q)
	if err != nil {
		return err
	}
	for i, answer := range scores {
		if err := t.row(q.Environment, q.Extension, q.Channel, q.ID, i+1, answer.Key, answer.Score); err != nil {
			return err
		}
	}
	return nil
}

func (t *table) document(name string, d document.Document) error {
	parts := strings.SplitN(name, "/", 4)
	r, err := newDocumentRecord(name, d)
	if err != nil {
		return err
	}
	return t.row(r.Environment, r.Extension, parts[3], d.Version, string(d.Body))
}

// readOnly lets the services read a source, and keeps their snapshots to itself.
type readOnly struct{ Source }

func (readOnly) Append(context.Context, stream.Chunk) error {
	return errors.New("an export writes nothing")
}

func (readOnly) SaveSnapshot(context.Context, string, stream.Snapshot) error { return nil }
