package transfer_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/transfer"
)

func TestRoundTripIsExact(t *testing.T) {
	from, to := full(t), storetest.NewMemory()
	first := export(t, from, everything)
	result, err := transfer.Import(t.Context(), bytes.NewReader(first), to, nil)
	if err != nil {
		t.Fatal(err)
	}
	if result.Chunks != result.Read.Chunks || result.Documents != result.Read.Documents || result.Chunks < 600 || result.Documents != 16 {
		t.Errorf("result is %+v", result)
	}
	wantSame(t, contentOf(t, from, everything.Prefixes()...), contentOf(t, to, ""))
	if second := export(t, to, everything); !bytes.Equal(first, second) {
		t.Error("the second export differs from the first")
	}
	again, err := transfer.Import(t.Context(), bytes.NewReader(first), to, nil)
	if err != nil || again.Read != result.Read || again.Chunks+again.Documents != 0 {
		t.Errorf("the same import again: %+v, %v", again, err)
	}
}

// Each kind alone, and each environment, are exports of their own that add up.
func TestPartsOfAnExport(t *testing.T) {
	from, to := full(t), storetest.NewMemory()
	for _, environment := range everything.Environments {
		for _, kind := range transfer.Kinds() {
			scope := transfer.Scope{Extension: "x", Environments: []string{environment}, Kinds: []string{kind}}
			part := export(t, from, scope)
			if _, err := transfer.Import(t.Context(), bytes.NewReader(part), to, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	wantSame(t, contentOf(t, from, everything.Prefixes()...), contentOf(t, to, ""))
}

// What can be read is shown; the bytes are carried only where they must be.
func TestExportIsReadable(t *testing.T) {
	out := string(export(t, full(t), everything))
	for _, want := range []string{
		`{"record":"header","format":"acclaim-export","version":1,"extension":"x","environments":["production","sandbox"],"kinds":["votes","accumulations","rankings","viewers","documents"]}` + "\n",
		`{"record":"chunk","kind":"votes","environment":"production","extension":"x","channel":"1","id":"ü/ %","seq":1,"at":`,
		`"entries":[{"entry":"config","config":{"userIDVoting":false,`,
		`"entries":[{"entry":"vote","opaque":"U\"汉\"","identifier":"1","userIDVoting":false,"replace":false,"value":-128,"count":9}],"sum":"`,
		`"entries":[{"entry":"vote","opaque":"not text \ufffd","identifier":"","userIDVoting":false,"replace":false,"value":128,"count":1}],"payload":"`,
		`"entries":[{"entry":"modifier","user":"1","add":-5}],"sum":"`,
		`"entries":[{"entry":"reset"}],"sum":"`,
		`"groups":[{"id":"abababababababababababababababab","stored":"1010000000000000"}],"entries":[],"sum":"`,
		`"id":"default","stream":"poll/production/x/channel/not%20text%20%FF/default","seq":1,`,
		`"entries":[{"entry":"submission","channel_id":"0","opaque_user_id":"U1","user_id":"","data":{}}],"sum":"`,
		`"data":{"not":"compact"}}],"payload":"`,
		`"entries":[{"entry":"answer","identity":"0","key":"green"}],"sum":"`,
		`"entries":[{"entry":"answer","identity":"U1","key":"Ｔea","group":"tea","answersPerViewer":2,"held":true}],"sum":"`,
		`"entries":[{"entry":"merge","key":"tea","into":"ü"}],"sum":"`,
		`{"record":"document","environment":"sandbox","extension":"x","key":["state","viewer","0","not text"],"version":1,"body":{},"sum":"`,
		`"version":2,"write":"01000000000000000000000000000001","body":{"a":1.50,"<":"é\u2028"},"sum":"`,
		`"version":3,"write":"02000000000000000000000000000002","raw":"`,
		`{"record":"end","kind":"rankings","environment":"sandbox","extension":"x","channel":"1","id":"tea?","chunks":4,"entries":4,"head":"`,
		`{"record":"chunk","kind":"viewers","environment":"production","extension":"x","id":"users","seq":1,"at":`,
		`"entries":[{"entry":"seen","userID":"7"}],"sum":"`, `"entries":[{"entry":"gone","userID":"7"}],"sum":"`,
		`{"record":"end","kind":"viewers","environment":"sandbox","extension":"x","id":"users","chunks":3,"entries":3,"head":"`,
		`{"record":"footer","streams":15,"chunks":`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(out, "another extension") || strings.Contains(out, `"sum":""`) {
		t.Error("there is more or less than should be")
	}
	for line := range strings.Lines(out) {
		if !json.Valid([]byte(line)) && !strings.Contains(line, "\xff") {
			t.Errorf("not JSON: %.100s", line)
		}
	}
}

// A file that passed through jq is laid out otherwise and says the same.
func TestImportMindsWhatIsSaidNotHow(t *testing.T) {
	scope := everything
	scope.Kinds = []string{transfer.Votes, transfer.Rankings}
	from, to := full(t), storetest.NewMemory()
	var out bytes.Buffer
	for line := range bytes.Lines(export(t, from, scope)) {
		var members map[string]any
		decoder := json.NewDecoder(bytes.NewReader(line))
		decoder.UseNumber()
		if err := decoder.Decode(&members); err != nil {
			t.Fatal(err)
		}
		members["more"] = "than there was" // of a later version, say
		var sorted bytes.Buffer
		encoder := json.NewEncoder(&sorted)
		encoder.SetEscapeHTML(false) // nor does jq
		if err := encoder.Encode(members); err != nil {
			t.Fatal(err)
		}
		out.Write(append(bytes.TrimSpace(sorted.Bytes()), " \r\n"...))
	}
	if _, err := transfer.Import(t.Context(), &out, to, nil); err != nil {
		t.Fatal(err)
	}
	wantSame(t, contentOf(t, from, scope.Prefixes()...), contentOf(t, to, ""))
}

func TestExportOfDamage(t *testing.T) {
	name := "poll/production/x/channel/1/default"
	for what, m := range map[string]transfer.Source{
		"hidden by a gap": &gapped{Memory: storetest.NewMemoryOf(stream.Chunk{Stream: name, Seq: 2})},
		"gap":             storetest.NewMemoryOf(stream.Chunk{Stream: name, Seq: 2}),
		"broken chain":    storetest.NewMemoryOf(stream.Chunk{Stream: name, Seq: 1, Prev: stream.Digest{1}}),
		"time":            storetest.NewMemoryOf(stream.Chunk{Stream: name, Seq: 1, At: -1, Payload: []byte{0}}),
		"payload":         storetest.NewMemoryOf(stream.Chunk{Stream: name, Seq: 1, Payload: []byte{0}, Count: 1}),
		"stream name":     storetest.NewMemoryOf(stream.Chunk{Stream: "poll/production/x/odd", Seq: 1, Payload: []byte{0}}),
		"document name": func() *storetest.Memory {
			m := storetest.NewMemory()
			if err := m.Put(t.Context(), document.Write{Key: "document/production/x/a b", Body: []byte("{}")}); err != nil {
				t.Fatal(err)
			}
			return m
		}(),
	} {
		var out bytes.Buffer
		_, err := transfer.Export(t.Context(), m, everything, &out)
		if !errors.Is(err, stream.ErrDamaged) {
			t.Errorf("%s: %v, want ErrDamaged", what, err)
		}
		if strings.Contains(out.String(), "footer") {
			t.Errorf("%s: there is a footer", what)
		}
	}
}

func TestScopesThatAreNone(t *testing.T) {
	for _, scope := range []transfer.Scope{
		{}, {Extension: "x"}, {Extension: "x", Environments: []string{"sandbox"}},
		{Extension: "x", Environments: []string{"sandbox"}, Kinds: []string{"vote"}},
	} {
		if _, err := transfer.Export(t.Context(), storetest.NewMemory(), scope, &bytes.Buffer{}); err == nil {
			t.Errorf("%+v is exported", scope)
		}
		if _, err := transfer.ExportCSV(t.Context(), storetest.NewMemory(), scope, &bytes.Buffer{}); err == nil {
			t.Errorf("%+v is exported as CSV", scope)
		}
	}
}
