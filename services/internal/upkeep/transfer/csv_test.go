package transfer_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/transfer"
	"github.com/acclaim-dev/acclaim/services/ranking"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// tables returns an export as CSV, a table for each kind.
func tables(t testing.TB, store transfer.Source) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, kind := range transfer.Kinds() {
		scope := everything
		scope.Kinds = []string{kind}
		var out strings.Builder
		totals, err := transfer.ExportCSV(t.Context(), store, scope, &out)
		if err != nil {
			t.Fatal(err)
		}
		rows := mustRows(t, out.String())
		if n := totals.Entries + totals.Documents; uint64(len(rows)) != n+1 {
			t.Errorf("%s: %d rows for %d entries and documents", kind, len(rows), n)
		}
		files[kind] = out.String()
	}
	return files
}

func mustRows(t testing.TB, file string) [][]string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(file)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestCSVHasARowForEachEntry(t *testing.T) {
	files := tables(t, full(t))
	for kind, want := range map[string][]string{
		transfer.Votes: {
			"environment,extension,channel,id,seq,at,entry,identifier,opaque,userIDVoting,replace,value,count,user,add,config\n",
			"\nproduction,x,1,ü/ %,1,", ",config,,,,,,,,,\"{\"\"userIDVoting\"\":false,",
			"\nsandbox,x,1,ü/ %,2,", ",vote,1,\"U\"\"汉\"\"\",false,false,-128,9,,,\n",
			",modifier,,,,,,,1,-5,\n", ",reset,,,,,,,,,\n",
			"\nproduction,x,,global,1,",
		},
		transfer.Accumulations: {
			"environment,extension,channel,id,seq,at,entry,channel_id,opaque_user_id,user_id,data\n",
			",submission,0,U1,,{}\n", ",submission,2,U1,,\"{\"\"not\"\":\"\"compact\"\"}\"\n", ",submission,3,U1,,null\n",
		},
		transfer.Rankings: {
			"environment,extension,channel,id,seq,at,entry,identity,key,group,answersPerViewer,held,into,config\n",
			",answer,0,green,,,,,\n", ",answer,2,'=SUM(A1),,,,,\n",
		},
		transfer.Viewers: {
			"environment,extension,channel,id,seq,at,entry,userID\n",
			"\nproduction,x,,users,1,", ",seen,7\n", ",gone,7\n",
		},
		transfer.Documents: {
			"environment,extension,key,version,body\n",
			"\nproduction,x,\"[\"\"state\"\",\"\"viewer\"\",\"\"0\"\",\"\"not text\"\"]\",1,{}\n",
			",2,\"{\"\"a\"\":1.50,", ",7,\n", ",8,not JSON\n",
		},
	} {
		for _, want := range want {
			if !strings.Contains(files[kind], want) {
				t.Errorf("%s: no %q in\n%.1500s", kind, want, files[kind])
			}
		}
		if strings.Contains(files[kind], "another extension") {
			t.Errorf("%s: another extension is in it", kind)
		}
	}
}

// Whatever viewers send, its text is in one cell, which is no formula.
func FuzzCSV(f *testing.F) {
	for _, s := range []string{"", "a\r\nb", "\r", "\n", "=1", "+1", "-", "@a", "\t", "'=1", `"`, ",", `\.`, " ", "\ufeff", "null", "\xff", "汉\u2028<"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		store := storetest.NewMemory()
		d := newDomains(t, store)
		d.vote(pollOf("p"), voting.Voter{OpaqueID: "o" + text, UserID: text}, 1, 1)
		d.must(d.accumulation.Append(t.Context(), accumulation.Buffer{Environment: "production", Extension: "x", Name: "b"},
			accumulation.Submission{OpaqueID: text, Data: fmt.Appendf(nil, "%q", text)}))
		_, err := d.ranking.Submit(t.Context(), ranking.Question{Environment: "production", Extension: "x", ID: "global"}, "i", "k"+text)
		d.must(err)
		var cell string
		if err := json.Unmarshal(mustJSON(text), &cell); err != nil { // as JSON has it, valid UTF-8
			t.Fatal(err)
		}
		if cell != "" && strings.Contains("=+-@\t\r\n", cell[:1]) {
			cell = "'" + cell
		}
		for kind, column := range map[string]int{transfer.Votes: 7, transfer.Accumulations: 8} {
			want := strings.ReplaceAll(cell, "\r\n", "\n") // readers of CSV make one of them
			if diff := cmp.Diff(want, mustRows(t, tables(t, store)[kind])[1][column]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", kind, diff)
			}
		}
	})
}
