package document_test

import (
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// RFC 7396, appendix A. The service keeps objects only, so the examples about
// other values are held one level down, where the same rules apply; those whose
// patch or whose document is no object are in TestMergeRefuses too.
func TestMergeExamples(t *testing.T) {
	for _, test := range []struct{ body, patch, want string }{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`{"x":["a","b"]}`, `{"x":["c","d"]}`, `{"x":["c","d"]}`},
		{`{"x":{"a":"b"}}`, `{"x":["c"]}`, `{"x":["c"]}`},
		{`{"x":{"a":"foo"}}`, `{"x":null}`, `{}`},
		{`{"x":{"a":"foo"}}`, `{"x":"bar"}`, `{"x":"bar"}`},
		{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`},
		{`{"x":[1,2]}`, `{"x":{"a":"b","c":null}}`, `{"x":{"a":"b"}}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		// Beyond the appendix.
		{`{}`, `{"a":[null,{"b":null,"c":[{"d":null}]}]}`, `{"a":[null,{"b":null,"c":[{"d":null}]}]}`},
		{`{"a":1,"b":{"c":{"d":1,"e":2},"f":3}}`, `{"b":{"c":{"d":null}}}`, `{"a":1,"b":{"c":{"e":2},"f":3}}`},
		{`{"":1}`, `{"":null,"/":2}`, `{"/":2}`},
	} {
		got, err := apply(t, test.body, document.Merge, test.patch)
		if want := canonical(t, test.want); err != nil || got != want {
			t.Errorf("%s merged with %s is %s, want %s, error %v", test.body, test.patch, got, want, err)
		}
	}
}

func TestMergeRefuses(t *testing.T) {
	for _, patch := range []string{`["c","d"]`, `["c"]`, `null`, `"bar"`} {
		_, err := document.Merge([]byte(patch))
		wantKind(t, err, fault.Invalid)
	}
}
