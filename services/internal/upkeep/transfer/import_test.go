package transfer_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/transfer"
)

// small returns an export with a stream of two chunks, one of one, and two
// documents, by lines.
func small(t testing.TB) (from *storetest.Memory, lines []string) {
	t.Helper()
	from = storetest.NewMemory()
	d := newDomains(t, from)
	for i, id := range []string{"a", "a", "b"} {
		d.vote(pollOf(id), voterOf(i), 1, 1)
	}
	for i, name := range []string{"document/production/x/state/extension_viewer/1", "document/production/x/state/extension_viewer/2"} {
		for version := range uint64(1 + i) {
			if err := from.Put(t.Context(), document.Write{Key: name, Expect: version, ID: document.WriteID{1}, Body: []byte(`{"a":1}`)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	lines = slices.Collect(strings.Lines(string(export(t, from, everything))))
	if len(lines) != 9 {
		t.Fatalf("%d lines: %q", len(lines), lines)
	}
	return from, lines
}

func importing(t *testing.T, to transfer.Target, lines ...string) (transfer.Result, error) {
	t.Helper()
	return transfer.Import(t.Context(), strings.NewReader(strings.Join(lines, "")), to, nil)
}

// A file that was cut off anywhere is no whole export; the whole file completes
// what was stored of it.
func TestImportOfACutFile(t *testing.T) {
	from, lines := small(t)
	whole := strings.Join(lines, "")
	cuts := 0
	for n := 0; n < len(whole)-1; n += 7 {
		to := storetest.NewMemory()
		result, err := transfer.Import(t.Context(), strings.NewReader(whole[:n]), to, nil)
		if !errors.Is(err, transfer.ErrBadFile) || n > len(lines[0]) && !strings.HasSuffix(err.Error(), "it was cut off") {
			t.Fatalf("%d of %d bytes: %v, want ErrFile", n, len(whole), err)
		}
		if strings.HasSuffix(whole[:n], "\n") || result.Read.Documents == 2 {
			cuts++
		}
		if result, err = transfer.Import(t.Context(), strings.NewReader(whole), to, nil); err != nil || result.Read.Chunks != 3 {
			t.Fatalf("the whole file after %d of %d bytes: %+v, %v", n, len(whole), result, err)
		}
		wantSame(t, contentOf(t, from, ""), contentOf(t, to, ""))
	}
	if _, err := importing(t, storetest.NewMemory(), lines[:8]...); err == nil || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("without a footer: %v", err)
	}
	if cuts == 0 {
		t.Error("no cut came late")
	}
	if _, err := importing(t, storetest.NewMemory(), strings.TrimSuffix(whole, "\n")); err != nil {
		t.Errorf("without the last line feed: %v", err)
	}
}

// Whatever is changed in a file, it is refused, and no line that is not as it was
// is stored.
func TestImportOfAChangedFile(t *testing.T) {
	from, lines := small(t)
	edit := func(line int, old, new string) []string {
		edited := slices.Clone(lines)
		if edited[line] = strings.Replace(edited[line], old, new, 1); edited[line] == lines[line] {
			t.Fatalf("there is no %s in %s", old, lines[line])
		}
		return edited
	}
	without := func(line int) []string { return slices.Delete(slices.Clone(lines), line, line+1) }
	twice := func(line int) []string { return slices.Insert(slices.Clone(lines), line, lines[line]) }
	swapped := func(a, b int) []string {
		edited := slices.Clone(lines)
		edited[a], edited[b] = edited[b], edited[a]
		return edited
	}
	type file []string
	for name, c := range map[string]struct {
		file
		why string
	}{
		"nothing":            {nil, "empty"},
		"compressed":         {file{"\x1f\x8b\x08"}, "gzip"},
		"not JSON":           {edit(3, "{", "{{"), "line 4: not JSON"},
		"a table":            {file{"a,b\n1,2\n"}, "a CSV export cannot be imported"},
		"another format":     {edit(0, "acclaim-export", "something"), "does not begin with a header"},
		"later version":      {edit(0, `"version":1`, `"version":2`), "version 2"},
		"no extension":       {edit(0, `"extension":"x"`, `"extension":""`), "an export is of"},
		"no header":          {without(0), "does not begin with a header"},
		"two headers":        {twice(0), `no record "header"`},
		"unknown record":     {edit(1, `"record":"chunk"`, `"record":"lump"`), `no record "lump"`},
		"vote":               {edit(1, `"value":1`, `"value":2`), "line 2: poll/production/x/channel/1/a chunk 1 was changed"},
		"vote out of bounds": {edit(1, `"value":1`, `"value":999`), "entry 0"},
		"voter":              {edit(2, `"U1"`, `"U0"`), "was changed"},
		"time":               {edit(2, `"at":1`, `"at":2`), "was changed"},
		"time back":          {edit(2, `"at":1`, `"at":-1`), "earlier"},
		"chunk id":           {edit(1, `"chunk":"`, `"chunk":"00`), "32 digits"},
		"no chunk id":        {edit(1, `"chunk":"`, `"chunk":"","other":"`), "32 digits"},
		"sum":                {edit(1, `"sum":"`, `"sum":"00`), "was changed"},
		"entries":            {edit(1, `"entries":[`, `"entries":[{"entry":"reset"},`), "was changed"},
		"entries alone":      {edit(1, `"entries":[`, `"payload":"AAQ=","entries":[{},`), "entry 1"},
		"group":              {edit(1, `"entries"`, `"groups":[{"id":"abababababababababababababababab","stored":"00000000"}],"entries"`), "was changed"},
		"bad group":          {edit(1, `"entries"`, `"groups":[{"id":"ab"}],"entries"`), "group 0"},
		"payload":            {edit(1, `"entries"`, `"payload":"AAQ=","entries"`), "was changed"},
		"empty payload":      {edit(1, `"entries"`, `"payload":"////","entries"`), "groups are cut off"},
		"number":             {edit(1, `"seq":1`, `"seq":2`), "chunk 2 follows chunk 0"},
		"poll":               {edit(1, `"id":"a"`, `"id":"aa"`), "was changed"},
		"no poll":            {edit(1, `"id":"a"`, `"id":"global"`), "there are no votes of channel"},
		"kind":               {edit(1, `"kind":"votes"`, `"kind":"rankings"`), "not an entry of a question"},
		"no kind":            {edit(1, `"kind":"votes"`, `"kind":"documents"`), "not a kind of streams"},
		"other extension":    {edit(1, `"extension":"x"`, `"extension":"y"`), "not what the header announces"},
		"other environment":  {edit(0, `"production",`, ``), "not what the header announces"},
		"other name":         {edit(1, `"id":"a"`, `"id":"a","stream":"poll/production/y/channel/1/a"`), "not what the header announces"},
		"odd name":           {edit(1, `"id":"a"`, `"id":"a","stream":"poll/production/x/channel/1/%61"`), "not the name of a stream"},
		"first chunk lost":   {without(1), "chunk 2 follows chunk 0"},
		"last chunk lost":    {without(2), "ends at chunk 1 and should at 2"},
		"end lost":           {without(3), "begins before the end"},
		"stream lost":        {slices.Delete(slices.Clone(lines), 4, 6), "counts"},
		"document lost":      {without(6), "counts"},
		"chunks swapped":     {swapped(1, 2), "chunk 2 follows chunk 0"},
		"documents swapped":  {swapped(6, 7), "comes after"},
		"kinds swapped":      {slices.Concat(lines[:1], lines[6:8], lines[1:6], lines[8:]), "comes after"},
		"chunk twice":        {twice(1), "chunk 1 follows chunk 1"},
		"end twice":          {twice(3), "has not begun"},
		"stream twice":       {slices.Insert(slices.Clone(lines), 6, lines[4:6]...), "comes after"},
		"document twice":     {twice(7), "comes after"},
		"end of nothing":     {edit(3, `"id":"a"`, `"id":"b"`), "has not begun"},
		"end elsewhere":      {edit(3, `"chunks":2`, `"chunks":3`), "ends at chunk 2 and should at 3"},
		"head":               {edit(3, `"head":"`, `"head":"00`), "ends at chunk"},
		"document":           {edit(7, `{"a":1}`, `{"a":2}`), "line 8: document/production/x/state/extension_viewer/2 was changed"},
		"document version":   {edit(7, `"version":2`, `"version":3`), "was changed"},
		"no version":         {edit(7, `"version":2`, `"version":0`), "cannot have version 0"},
		"huge version":       {edit(7, `"version":2`, `"version":9223372036854775808`), "cannot have version"},
		"write":              {edit(7, `"write":"01`, `"write":"02`), "was changed"},
		"half a write":       {edit(7, `"write":"01`, `"write":"`), "32 digits"},
		"key":                {edit(7, `"2"]`, `"3"]`), "was changed"},
		"no key":             {edit(7, `["state","extension_viewer","2"]`, `[]`), "not the name of a document"},
		"key elsewhere":      {edit(7, `"2"]`, `"2"],"name":"document/production/y/state/extension_viewer/2"`), "the name of a document elsewhere"},
		"odd key":            {edit(7, `"2"]`, `"2"],"name":"document/production/x/state/extension_viewer/%32"`), "not the name of a document"},
		"raw document":       {edit(7, `"sum"`, `"raw":"e30=","sum"`), "was changed"},
		"footer":             {edit(8, `"chunks":3`, `"chunks":4`), "counts"},
		"digest":             {edit(8, `"digest":"`, `"digest":"00`), "digest"},
		"early footer":       {swapped(7, 8), "counts"},
		"footer in a stream": {swapped(2, 8), "has no end"},
		"after the footer":   {append(slices.Clone(lines), lines[7]), "after the footer"},
		"two exports":        {append(slices.Clone(lines), lines...), "after the footer"},
		"wrong type":         {edit(1, `"seq":1`, `"seq":"1"`), "cannot unmarshal"},
	} {
		to := storetest.NewMemory()
		_, err := importing(t, to, c.file...)
		if !errors.Is(err, transfer.ErrBadFile) || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v, want %s", name, err, c.why)
		}
		wantPartOf(t, name, contentOf(t, from, ""), contentOf(t, to, ""))
		if _, err := importing(t, to, lines...); err != nil {
			t.Errorf("%s: the file as it was: %v", name, err)
		}
		wantSame(t, contentOf(t, from, ""), contentOf(t, to, ""))
	}
}

// wantPartOf makes sure that all that is in a store is in the other.
func wantPartOf(t *testing.T, what string, whole, part content) {
	t.Helper()
	for name, chunks := range part.Streams {
		for i, chunk := range chunks {
			if all := whole.Streams[name]; i >= len(all) || chunk.Sum() != all[i].Sum() {
				t.Errorf("%s: chunk %d of %s was stored", what, chunk.Seq, name)
			}
		}
	}
	for name, d := range part.Documents {
		if want := whole.Documents[name]; want.Version != d.Version || want.ID != d.ID || !bytes.Equal(want.Body, d.Body) {
			t.Errorf("%s: %s was stored at version %d", what, name, d.Version)
		}
	}
}

// What is in the store and not the same is not touched.
func TestImportReplacesNothing(t *testing.T) {
	from, lines := small(t)
	first := listed(t, from.Chunks(t.Context(), pollOf("a").Stream(), 0))
	for name, c := range map[string]struct {
		before func(t *testing.T, to *storetest.Memory)
		why    string
	}{
		"another stream": {func(t *testing.T, to *storetest.Memory) {
			d := newDomains(t, to)
			d.vote(pollOf("b"), voterOf(7), 1, 1)
		}, "chunk 1 of poll/production/x/channel/1/b is another"},
		"a stream that went on otherwise": {func(t *testing.T, to *storetest.Memory) {
			if err := to.Append(t.Context(), first[0]); err != nil {
				t.Fatal(err)
			}
			newDomains(t, to).vote(pollOf("a"), voterOf(7), 1, 1)
		}, "chunk 2 of poll/production/x/channel/1/a is another"},
		"a stream that went on": {func(t *testing.T, to *storetest.Memory) {
			for _, chunk := range first {
				if err := to.Append(t.Context(), chunk); err != nil {
					t.Fatal(err)
				}
			}
			newDomains(t, to).vote(pollOf("a"), voterOf(7), 1, 1)
		}, "poll/production/x/channel/1/a goes on with chunk 3"},
		"another document": {func(t *testing.T, to *storetest.Memory) {
			if err := to.Put(t.Context(), document.Write{Key: "document/production/x/state/extension_viewer/2", Body: []byte(`{"a":1}`)}); err != nil {
				t.Fatal(err)
			}
		}, "document/production/x/state/extension_viewer/2 is at version 1 and another"},
	} {
		t.Run(name, func(t *testing.T) {
			to := storetest.NewMemory()
			c.before(t, to)
			before := contentOf(t, to, "")
			_, err := importing(t, to, lines...)
			if !errors.Is(err, transfer.ErrDiffers) || !strings.Contains(err.Error(), c.why) {
				t.Errorf("%v, want %s", err, c.why)
			}
			wantSame(t, before, contentOf(t, to, "")) // one batch: all or nothing
		})
	}
}

// shaky is a store that fails now and then: before it writes or after.
type shaky struct {
	*storetest.Memory
	calls atomic.Int64
}

func (s *shaky) fail(write func() error) error {
	switch s.calls.Add(1) % 5 {
	case 1:
		return fault.New(fault.Unavailable, "not stored")
	case 3:
		_ = write() // the answer is lost
		return errors.New("the answer was lost")
	}
	return write()
}

func (s *shaky) Append(ctx context.Context, chunk stream.Chunk) error {
	return s.fail(func() error { return s.Memory.Append(ctx, chunk) })
}

func (s *shaky) Restore(ctx context.Context, key string, d document.Document) error {
	return s.fail(func() error { return s.Memory.Restore(ctx, key, d) })
}

func TestImportIntoAShakyStore(t *testing.T) {
	from, lines := small(t)
	synctest.Test(t, func(t *testing.T) {
		to := &shaky{Memory: storetest.NewMemory()}
		if _, err := importing(t, to, lines...); err != nil {
			t.Fatal(err)
		}
		wantSame(t, contentOf(t, from, ""), contentOf(t, to.Memory, ""))
	})
}

// gone is a store that takes only so many writes.
type gone struct {
	*storetest.Memory
	left atomic.Int64
	err  error
}

func (g *gone) Append(ctx context.Context, chunk stream.Chunk) error {
	if g.left.Add(-1) < 0 {
		return g.err
	}
	return g.Memory.Append(ctx, chunk)
}

// An import that ends anywhere, with gaps in what it stored, is completed by
// another.
func TestImportThatIsRepeated(t *testing.T) {
	from := full(t)
	whole := export(t, from, everything)
	for _, writes := range []int64{0, 1, 40, 300, 301, 500} {
		for name, err := range map[string]error{"full": fault.New(fault.Storage, "full"), "away": fault.New(fault.Unavailable, "away")} {
			synctest.Test(t, func(t *testing.T) {
				to := &gone{Memory: storetest.NewMemory(), err: err}
				to.left.Store(writes)
				result, err := transfer.Import(t.Context(), bytes.NewReader(whole), to, nil)
				there := 0
				for _, chunks := range contentOf(t, to.Memory, "").Streams {
					there += len(chunks)
				}
				if fault.KindOf(err) == fault.Internal || int(result.Chunks) != there {
					t.Fatalf("%s after %d: %+v, %v", name, writes, result, err)
				}
				second, err := transfer.Import(t.Context(), bytes.NewReader(whole), to.Memory, nil)
				if err != nil || second.Chunks+result.Chunks != second.Read.Chunks {
					t.Fatalf("%s after %d: %+v and %+v, %v", name, writes, result, second, err)
				}
				wantSame(t, contentOf(t, from, everything.Prefixes()...), contentOf(t, to.Memory, ""))
			})
		}
	}
}

// gapped is a store that hides the chunks behind a gap and counts appends.
type gapped struct {
	*storetest.Memory
	appends atomic.Int64
}

func (g *gapped) Chunks(ctx context.Context, name string, after uint64) iter.Seq2[stream.Chunk, error] {
	return func(yield func(stream.Chunk, error) bool) {
		for chunk, err := range g.Memory.Chunks(ctx, name, after) {
			if after++; chunk.Seq != after || !yield(chunk, err) {
				return
			}
		}
	}
}

func (g *gapped) Append(ctx context.Context, chunk stream.Chunk) error {
	g.appends.Add(1)
	return g.Memory.Append(ctx, chunk)
}

// What an import left behind a gap is recognised when it is in the way.
func TestImportFillsGaps(t *testing.T) {
	from := full(t)
	to := &gapped{Memory: storetest.NewMemory()}
	for _, name := range slices.Sorted(maps.Keys(contentOf(t, from, everything.Prefixes()...).Streams)) {
		for _, chunk := range listed(t, from.Chunks(t.Context(), name, 0)) {
			if chunk.Seq%3 == 0 {
				if err := to.Memory.Append(t.Context(), chunk); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	result, err := transfer.Import(t.Context(), bytes.NewReader(export(t, from, everything)), to, nil)
	if err != nil || to.appends.Load() != int64(result.Read.Chunks) || result.Chunks >= result.Read.Chunks {
		t.Errorf("%d chunks were appended: %+v, %v", to.appends.Load(), result, err)
	}
	wantSame(t, contentOf(t, from, everything.Prefixes()...), contentOf(t, to.Memory, ""))
}

func TestImportThatCannotRead(t *testing.T) {
	_, lines := small(t)
	broken := io.MultiReader(strings.NewReader(lines[0]), readerFunc(func([]byte) (int, error) { return 0, io.ErrClosedPipe }))
	if _, err := transfer.Import(t.Context(), broken, storetest.NewMemory(), nil); !errors.Is(err, io.ErrClosedPipe) || errors.Is(err, transfer.ErrBadFile) {
		t.Errorf("%v", err)
	}
	endless := io.MultiReader(strings.NewReader(lines[0]), readerFunc(func(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte("a"), len(p))), nil }))
	if _, err := transfer.Import(t.Context(), endless, storetest.NewMemory(), nil); !errors.Is(err, transfer.ErrBadFile) || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("an endless line: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := transfer.Import(ctx, strings.NewReader(strings.Join(lines, "")), storetest.NewMemory(), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
