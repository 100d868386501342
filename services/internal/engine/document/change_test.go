package document_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

// apply makes one change of a document with the given body and returns what is
// stored afterwards.
func apply(t testing.TB, body string, parse func([]byte) (document.Change, error), change string) (string, error) {
	t.Helper()
	store := storetest.NewMemory()
	if err := store.Put(t.Context(), document.Write{Key: "k", Body: []byte(body)}); err != nil {
		t.Fatal(err)
	}
	parsed, err := parse([]byte(change))
	if err != nil {
		return body, err
	}
	service := document.NewService(store, newClock(), document.Options{})
	_, failure := service.Edit(t.Context(), document.Edit{Key: "k", Change: parsed, MaxBytes: 1 << 20})
	stored, err := service.Get(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	return string(stored[0].Body), failure
}

// canonical returns JSON with sorted names and without white space.
func canonical(t testing.TB, text string) string {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	var encoded strings.Builder
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(encoded.String())
}

func TestReplace(t *testing.T) {
	for name, test := range map[string]struct{ body, want string }{
		"compacts":              {"{ \"b\" : [ 1 ,\n 2 ],\t\"a\": \"x y\" }", `{"b":[1,2],"a":"x y"}`},
		"keeps numbers":         {`{"a":12345678901234567890,"b":1e300,"c":-0.0,"d":1E+5}`, `{"a":12345678901234567890,"b":1e300,"c":-0.0,"d":1E+5}`},
		"keeps characters":      {`{"a":"<&>\u2028é"}`, `{"a":"<&>\u2028é"}`},
		"an empty object":       {`{}`, `{}`},
		"an array":              {`[]`, ""},
		"a string":              {`"x"`, ""},
		"null":                  {`null`, ""},
		"nothing":               {``, ""},
		"two objects":           {`{}{}`, ""},
		"half an object":        {`{"a":`, ""},
		"not UTF-8":             {"{\"a\":\"\xff\"}", ""},
		"nested beyond measure": {strings.Repeat(`{"a":`, 10_001) + "1" + strings.Repeat("}", 10_001), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := apply(t, `{"old":true}`, document.Replace, test.body)
			if test.want == "" {
				wantKind(t, err, fault.Invalid)
				test.want = `{"old":true}`
			} else if err != nil {
				t.Fatal(err)
			}
			if got != test.want {
				t.Errorf("stored %s, want %s", got, test.want)
			}
		})
	}
}

func TestParseChangeRefuses(t *testing.T) {
	for _, body := range []string{"", " ", "null", "1", `"[]"`, "true", "{", "[", "{}{}", "[]1", "[\"\xff\"]"} {
		_, err := document.ParseChange([]byte(body))
		wantKind(t, err, fault.Invalid)
	}
}

func TestParseChangeTellsPatchesApart(t *testing.T) {
	for body, want := range map[string]string{
		" \n[{\"op\":\"add\",\"path\":\"/b\",\"value\":null}]": `{"a":1,"b":null}`,
		" \n{\"b\":2,\"a\":null}":                              `{"b":2}`,
		"[]":                                                   `{"a":1}`,
		"{}":                                                   `{"a":1}`,
	} {
		if got, err := apply(t, `{"a":1}`, document.ParseChange, body); err != nil || got != want {
			t.Errorf("%s: stored %s, want %s, error %v", body, got, want, err)
		}
	}
}

func TestPatchesKeepWhatTheyDoNotName(t *testing.T) {
	const body = `{"big":12345678901234567890,"exact":1.10,"huge":1e300,"html":"<&>","negative":-0,"unicode":"é😀"}`
	want := strings.Replace(body, `"html"`, `"a":1E+5,"html"`, 1)
	for _, change := range []string{`{"a":1E+5}`, `[{"op":"add","path":"/a","value":1E+5}]`} {
		got, err := apply(t, body, document.ParseChange, change)
		if err != nil || got != canonical(t, want) {
			t.Errorf("%s: stored %s, want %s, error %v", change, got, want, err)
		}
	}
}

func TestCopiesAreBounded(t *testing.T) {
	double := strings.Repeat(`{"op":"copy","from":"/a","path":"/a/-"},`, 200)
	_, err := apply(t, `{"a":["0123456789"]}`, document.ParseChange, "["+double+`{"op":"replace","path":"/a","value":[]}]`)
	wantKind(t, err, fault.TooLarge)
}

// A patch may insert at the front of the largest array some hundred times, and is refused
// before it moves elements for seconds.
func TestMovesOfElementsAreBounded(t *testing.T) {
	body := `{"a":[` + strings.Repeat("0,", 28_000) + `0]}`
	for times, want := range map[int]fault.Kind{500: 0, 14_000: fault.TooLarge} {
		inserts := strings.Repeat(`{"op":"add","path":"/a/0","value":1},`, times)
		_, err := apply(t, body, document.ParseChange, "["+inserts+`{"op":"remove","path":"/a/0"}]`)
		if err != nil || want != 0 {
			wantKind(t, err, want)
		}
	}
}

func TestResultsStayReadable(t *testing.T) {
	const half = 6_000
	deep := strings.Repeat(`{"a":`, half) + "{}" + strings.Repeat("}", half)
	path := strings.Repeat("/a", half)
	for name, change := range map[string]string{
		"patch": `[{"op":"add","path":"` + path + `/b","value":` + deep + `}]`,
		"merge": strings.Repeat(`{"a":`, 9_999) + "1" + strings.Repeat("}", 9_999),
		"copy":  `[{"op":"copy","from":"","path":"` + path + `/b"}]`,
	} {
		got, err := apply(t, deep, document.ParseChange, change)
		if err == nil {
			_, err = apply(t, got, document.ParseChange, `{"readable":true}`)
		} else {
			wantKind(t, err, fault.Invalid)
			err = nil
		}
		if err != nil {
			t.Errorf("%s: the document cannot be patched any more: %v", name, err)
		}
	}
}

// A value that a patch puts into a document is not shared with the patch, which
// may be applied again.
func TestChangeCanBeAppliedAgain(t *testing.T) {
	change, err := document.ParseChange([]byte(`[{"op":"add","path":"/a","value":{"b":[]}},{"op":"add","path":"/a/b/-","value":1}]`))
	if err != nil {
		t.Fatal(err)
	}
	service := document.NewService(storetest.NewMemory(), newClock(), document.Options{})
	for _, key := range []string{"one", "two"} {
		got, err := service.Edit(t.Context(), document.Edit{Key: key, Change: change})
		if err != nil || string(got.Body) != `{"a":{"b":[1]}}` {
			t.Errorf("%s is %s, error %v", key, got.Body, err)
		}
	}
}

func wantKind(t testing.TB, err error, want fault.Kind) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one of kind %d", want)
	} else if got := fault.KindOf(err); got != want {
		t.Errorf("error of kind %d, want %d: %v", got, want, err)
	}
}
