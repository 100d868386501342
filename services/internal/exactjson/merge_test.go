package exactjson_test

import (
	"encoding/json"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/exactjson"
)

// The examples of RFC 7396, appendix A, and what must keep its bytes.
func TestMergePatch(t *testing.T) {
	for _, test := range [][3]string{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`["a","b"]`, `["c","d"]`, `["c","d"]`},
		{`{"a":"b"}`, `["c"]`, `["c"]`},
		{`{"a":"foo"}`, `null`, `null`},
		{`{"a":"foo"}`, `"bar"`, `"bar"`},
		{`{"e":null}`, `{"a":1}`, `{"a":1,"e":null}`},
		{`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		{``, `{"a":1}`, `{"a":1}`},
		{` {"n":1}`, "\n{\"a\":[{\"b\":null}]}", `{"a":[{"b":null}],"n":1}`},
		{`{"a":1,"a":2}`, `{"b":3,"b":4}`, `{"a":2,"b":4}`},
		{`{"b":{"z":1,"a":"\u003c"},"\u0061":1}`, `{"a":2.50}`, `{"a":2.50,"b":{"z":1,"a":"\u003c"}}`},
		{`{"a\n\"":1}`, `{"b":2}`, `{"a\n\"":1,"b":2}`},
		{`{"n":12345678901234567890.10}`, `{"a":"<é>"}`, `{"a":"<é>","n":12345678901234567890.10}`},
	} {
		got, err := exactjson.MergePatch([]byte(test[0]), []byte(test[1]))
		if err != nil || string(got) != test[2] {
			t.Errorf("%s and %s make %s, %v, want %s", test[0], test[1], got, err, test[2])
		}
	}
	if got, err := exactjson.MergePatch([]byte(`{`), []byte(`{"a":1}`)); err == nil {
		t.Errorf("a target that is no JSON makes %s", got)
	}
}

// A merge is an error or valid JSON, and a second one changes nothing.
func FuzzMergePatch(f *testing.F) {
	f.Add(`{"a":{"b":[1,null]},"c":"<"}`, `{"a":{"b":null,"d":1e400},"c":{"e":null}}`)
	f.Add(``, `[{"a":null}]`)
	f.Fuzz(func(t *testing.T, target, patch string) {
		if !json.Valid([]byte(patch)) || target != "" && !json.Valid([]byte(target)) {
			return
		}
		once, err := exactjson.MergePatch([]byte(target), []byte(patch))
		if err != nil {
			return
		}
		if !json.Valid(once) {
			t.Fatalf("%s is not JSON", once)
		}
		again, err := exactjson.MergePatch(once, []byte(patch))
		if err != nil || string(again) != string(once) {
			t.Errorf("%s becomes %s, %v", once, again, err)
		}
	})
}
