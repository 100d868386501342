package transfer_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/storetest"
	"github.com/acclaim-dev/acclaim/services/internal/transfer"
	"github.com/acclaim-dev/acclaim/services/ranking"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// tables returns an export as CSV, a file for each kind.
func tables(t testing.TB, store transfer.Source) (files []string) {
	t.Helper()
	for _, kind := range transfer.Kinds() {
		scope := everything
		scope.Kinds = []string{kind}
		var out strings.Builder
		if _, err := transfer.ExportCSV(t.Context(), store, scope, &out); err != nil {
			t.Fatal(err)
		}
		files = append(files, out.String())
	}
	return files
}

func TestCSVRoundTripIsExact(t *testing.T) {
	from, to := full(t), storetest.NewMemory()
	appendAwkward(t, from)
	files := tables(t, from)
	var chunks, documents uint64
	for range 2 { // the second time it is all there
		chunks, documents = 0, 0
		for _, file := range files {
			result, err := importing(t, to, file)
			if err != nil {
				t.Fatal(err)
			}
			chunks, documents = chunks+result.Chunks, documents+result.Documents
		}
		wantSame(t, contentOf(t, from, everything.Prefixes()...), contentOf(t, to, ""))
	}
	if chunks+documents != 0 {
		t.Errorf("%d chunks and %d documents were stored twice", chunks, documents)
	}
	if !bytes.Equal(export(t, from, everything), export(t, to, everything)) {
		t.Error("the export as JSON Lines differs")
	}
	if !slices.Equal(files, tables(t, to)) {
		t.Error("the second export differs from the first")
	}
}

// appendAwkward stores what CSV has its difficulties with.
func appendAwkward(t testing.TB, m *storetest.Memory) {
	t.Helper()
	d, ctx := newDomains(t, m), t.Context()
	for i, id := range []string{"a\r\nb", "\r", "\n", "'", "''=1", `'"`, `"`, ",", `\.`, " ", "+1", "\ufeff", "null", "-"} {
		d.vote(pollOf(id), voting.Voter{OpaqueID: id, UserID: id}, 1, 1)
		d.must(d.accumulation.Append(ctx, accumulation.Buffer{Environment: "production", Extension: "x", Name: id},
			accumulation.Submission{ChannelID: id, UserID: id, Data: fmt.Appendf(nil, "%q", id)}))
		_, err := d.ranking.Submit(ctx, ranking.Question{Environment: "sandbox", Extension: "x", Channel: id, ID: fmt.Sprint(i)}, id, id)
		d.must(err)
	}
}

// What people look for is in columns of its own, and no cell is a formula.
func TestCSVIsReadable(t *testing.T) {
	for i, want := range [][]string{
		{
			"record,environment,extension,channel,id,seq,at,entry,identifier,opaque,userIDVoting,replace,value,count,user,add,config,chunk,groups,original,payload,stream,sum,json\n",
			"\nheader,,x,,,,,,,,,,,,,,,,,,,,,\"{\"\"environments\"\":[\"\"production\"\",\"\"sandbox\"\"],\"\"format\"\":\"\"acclaim-export\"\",\"\"kinds\"\":[\"\"votes\"\"],\"\"version\"\":1}\"\n",
			"\nchunk,production,x,1,ü/ %,2,", ",vote,1,\"U\"\"汉\"\"\",false,false,-128,9,,,,", ",modifier,,,,,,,1,-5,,", ",reset,,,,,,,,,,",
			"\nend,sandbox,x,,global,,,,", "\nfooter,,,,,,,,",
		},
		{"id,seq,at,entry,channel_id,opaque_user_id,user_id,data,chunk,", ",submission,0,U1,,{},", ",submission,1,U1,,null,"},
		{"seq,at,entry,identity,key,chunk,", ",answer,2,'=SUM(A1),"},
		{"record,environment,extension,key,version,write,body,raw,name,sum,json\n", "\ndocument,production,x,\"[\"\"state\"\",\"\"viewer\"\",\"\"0\"\",\"\"not text\"\"]\",1,,{},,,"},
	} {
		file := tables(t, full(t))[i]
		for _, want := range want {
			if !strings.Contains(file, want) {
				t.Errorf("no %q in\n%.900s", want, file)
			}
		}
		if strings.Contains(file, "another extension") {
			t.Error("another extension is in it")
		}
		for n, row := range mustRows(t, file) {
			for _, cell := range row {
				if cell != "" && strings.Contains("=+@\t\r\n", cell[:1]) {
					t.Errorf("row %d has a cell %q", n, cell)
				}
			}
		}
	}
}

func mustRows(t *testing.T, file string) [][]string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(file)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func written(t *testing.T, rows [][]string) string {
	t.Helper()
	var out strings.Builder
	w := csv.NewWriter(&out)
	w.UseCRLF = true
	if err := w.WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// Columns in another order, more of them, other ends of lines and a byte order mark
// say the same.
func TestCSVOfAnotherLayout(t *testing.T) {
	from, to := full(t), storetest.NewMemory()
	for _, file := range tables(t, from) {
		rows := mustRows(t, file)
		for i, row := range rows {
			slices.Reverse(row)
			rows[i] = append([]string{"more"}, row...)
		}
		if _, err := importing(t, to, "\ufeff"+written(t, rows)); err != nil {
			t.Fatal(err)
		}
	}
	wantSame(t, contentOf(t, from, everything.Prefixes()...), contentOf(t, to, ""))
}

// chunkOfThree returns an export of a poll of one chunk with three votes.
func chunkOfThree(t testing.TB) (from *storetest.Memory, file string) {
	t.Helper()
	from = storetest.NewMemory()
	entries := []byte{0}
	for i := range 3 {
		var err error
		entries, err = voting.Readable{}.AppendReadable(entries, fmt.Appendf(nil, `{"entry":"vote","opaque":"U%d","value":%d,"count":1}`, i, i))
		if err != nil {
			t.Fatal(err)
		}
	}
	appendChunk(t, from, pollOf("three").Stream(), 3, entries)
	return from, tables(t, from)[0]
}

// A table that was cut off anywhere is no whole export; the whole one completes what
// was stored of it.
func TestImportOfACutTable(t *testing.T) {
	from, _ := small(t)
	appendAwkward(t, from)
	for _, whole := range tables(t, from) {
		for n := 0; n < len(whole)-1; n += 97 {
			to := storetest.NewMemory()
			_, err := importing(t, to, whole[:n])
			if !errors.Is(err, transfer.ErrFile) || n > strings.Index(whole, "\n") && !strings.HasSuffix(err.Error(), "it was cut off") {
				t.Fatalf("%d of %d bytes: %v, want ErrFile", n, len(whole), err)
			}
			if _, err = importing(t, to, whole); err != nil {
				t.Fatalf("the whole table after %d of %d bytes: %v", n, len(whole), err)
			}
		}
		if _, err := importing(t, storetest.NewMemory(), strings.TrimSuffix(whole, "\n")); err != nil {
			t.Errorf("without the last line feed: %v", err)
		}
	}
}

// Whatever cell is changed, and whatever row is missing, twice or elsewhere, is
// refused, and nothing that is not as it was is stored.
func TestImportOfAChangedTable(t *testing.T) {
	from, _ := small(t)
	three, table := chunkOfThree(t)
	for i, file := range append(tables(t, from), table) {
		if strings.Count(file, "\n") == 3 {
			continue // nothing is said but what was asked for
		}
		from := map[bool]*storetest.Memory{true: three, false: from}[i == 4]
		rows := mustRows(t, file)
		refused := func(what string, rows [][]string) {
			t.Helper()
			to := storetest.NewMemory()
			if _, err := importing(t, to, written(t, rows)); !errors.Is(err, transfer.ErrFile) || len(rows) > 2 && !strings.Contains(err.Error(), "line") && !strings.Contains(err.Error(), "cut off") {
				t.Errorf("table %d, %s: %v, want ErrFile", i, what, err)
			}
			wantPartOf(t, what, contentOf(t, from, ""), contentOf(t, to, ""))
		}
		for n := 1; n < len(rows); n++ {
			refused(fmt.Sprint("without row ", n), slices.Delete(slices.Clone(rows), n, n+1))
			refused(fmt.Sprint("twice row ", n), slices.Insert(slices.Clone(rows), n, rows[n]))
			for column := range rows[n] {
				for _, cell := range []string{"", "1", "2", "{}", "x", "null", `'"`} {
					changed := slices.Clone(rows)
					changed[n] = slices.Clone(rows[n])
					if changed[n][column] = cell; sameCell(rows[n][column], cell) {
						continue
					}
					refused(fmt.Sprintf("row %d with %q for %q as %s", n, cell, rows[n][column], rows[0][column]), changed)
				}
			}
		}
	}
}

// sameCell reports whether a cell would say what it says already, or nothing that
// anybody asks for: members of other records are ignored.
func sameCell(is, cell string) bool {
	return is == cell || is == "" || (is == "false" || is == "0") && (cell == "" || cell == "null")
}

func TestImportSaysWhereInATable(t *testing.T) {
	_, file := chunkOfThree(t)
	for name, c := range map[string]struct{ old, new, want string }{
		"value":       {",U1,false,false,1,", ",U1,false,false,7,", "lines 3 to 5: poll/production/x/channel/1/three chunk 1 was changed"},
		"not JSON":    {",U1,false,", ",U1,no,", `line 4: userIDVoting: "no" is not JSON`},
		"wrong type":  {",U1,false,", ",U1,7,", "lines 3 to 5: entry 1: json: cannot unmarshal number"},
		"other poll":  {"1,three,1,0,vote,,U1", "1,tree,1,0,vote,,U1", "line 4: it belongs to something else than the row before"},
		"cells":       {",U1,", ",U1,,", "line 4: wrong number of fields"},
		"quote":       {",U1,", `,U1",`, "parse error on line 4, column "},
		"early":       {",U1,false,false,1,1,,,,,", ",U1,false,false,1,1,,,,1,", "line 4: chunk is told before the end of the chunk"},
		"no header":   {"\nheader,", "\nchunk,", "line 2: it does not begin with a header"},
		"many kinds":  {`[""votes""]`, `[""votes"",""rankings""]`, "line 2: it does not begin with a header of acclaim-export that names one kind"},
		"format":      {"acclaim-export", "something", "line 2: it does not begin with a header"},
		"a view":      {"record,", "recorded,", "with a column record"},
		"end missing": {"\nend,", "\nchunk,", "line 6: "},
	} {
		changed := strings.Replace(file, c.old, c.new, 1)
		if changed == file {
			t.Fatalf("%s: there is no %q in\n%s", name, c.old, file)
		}
		if _, err := importing(t, storetest.NewMemory(), changed); !errors.Is(err, transfer.ErrFile) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// What never ends is not read into memory.
func TestImportOfAnEndlessTable(t *testing.T) {
	_, file := chunkOfThree(t)
	header := file[:strings.Index(file, "chunk,production")]
	row := file[len(header):]
	row = strings.Replace(row[:strings.Index(row, "\n")+1], ",U0,", ","+strings.Repeat("U", 1<<20)+",", 1)
	long := strings.Repeat("a", 1<<20)
	for name, c := range map[string]struct{ begin, repeated string }{
		"cell": {header + `chunk,"`, long}, "chunk": {header, row},
	} {
		again := strings.NewReader("")
		endless := readerFunc(func(p []byte) (int, error) {
			if again.Len() == 0 {
				again.Reset(c.repeated)
			}
			return again.Read(p)
		})
		_, err := transfer.Import(t.Context(), io.MultiReader(strings.NewReader(c.begin), endless), storetest.NewMemory(), nil)
		if !errors.Is(err, transfer.ErrFile) || !strings.Contains(err.Error(), "longer than") {
			t.Errorf("an endless %s: %v", name, err)
		}
	}
}

// An import of a table that ends anywhere is completed by another.
func TestImportOfATableThatIsRepeated(t *testing.T) {
	from := full(t)
	file := tables(t, from)[0]
	for _, writes := range []int64{0, 1, 300, 500} {
		synctest.Test(t, func(t *testing.T) {
			to := &gone{Memory: storetest.NewMemory(), err: fault.New(fault.Storage, "full")}
			to.left.Store(writes)
			first, err := importing(t, to, file)
			if fault.KindOf(err) != fault.Storage || first.Chunks > uint64(writes) {
				t.Fatalf("after %d: %+v, %v", writes, first, err)
			}
			second, err := importing(t, to.Memory, file)
			if err != nil || second.Chunks+first.Chunks != second.Read.Chunks {
				t.Fatalf("after %d: %+v and %+v, %v", writes, first, second, err)
			}
		})
	}
}

// FuzzCSV: whatever viewers send, it comes back from a table as it is in JSON Lines.
func FuzzCSV(f *testing.F) {
	for _, s := range []string{"", "a\r\nb", "'=1", `'"`, "\xff", "汉\u2028<", `{"a":[1.50,"\r"]}`} {
		f.Add(s, "1", []byte(s), int64(3))
	}
	f.Fuzz(func(t *testing.T, text, id string, data []byte, n int64) {
		from, to := storetest.NewMemory(), storetest.NewMemory()
		for _, seed := range []struct{ kind, entry string }{
			{"poll/production/x/channel/1/p", fmt.Sprintf(`{"entry":"vote","opaque":%s,"identifier":%s,"value":%d,"count":1}`, mustJSON(text), mustJSON(id), n%129)},
			{"rank/production/x/channel/1/q", fmt.Sprintf(`{"entry":"answer","identity":%s,"key":%s}`, mustJSON("i"+id), mustJSON(text))},
		} {
			codec := map[bool]func([]byte, []byte) ([]byte, error){true: voting.Readable{}.AppendReadable, false: ranking.Readable{}.AppendReadable}[seed.kind[0] == 'p']
			entry, err := codec([]byte{0}, []byte(seed.entry))
			if err != nil {
				t.Fatal(err)
			}
			appendChunk(t, from, seed.kind, 1, entry)
			appendChunk(t, from, seed.kind+"2", 1, append(entry, data...))
		}
		d := newDomains(t, from)
		for _, name := range []string{id, text} {
			if b := (accumulation.Buffer{Environment: "production", Extension: "x", Name: name}); name != "" {
				d.must(d.accumulation.Append(t.Context(), b, accumulation.Submission{ChannelID: text, OpaqueID: id, Data: data}))
			}
		}
		for _, file := range tables(t, from) {
			if _, err := importing(t, to, file); err != nil {
				t.Fatalf("%v\n%s", err, file)
			}
		}
		if want, got := export(t, from, everything), export(t, to, everything); !bytes.Equal(want, got) {
			t.Errorf("it was\n%s\nand is\n%s", want, got)
		}
	})
}
