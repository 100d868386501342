package exactjson_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/internal/exactjson"
)

func TestParseMembers(t *testing.T) {
	members, err := exactjson.ParseMembers([]byte(` {"a":1, "b" : [ 1,{"a":2} ] ,"\u0061":"\ud800"} `))
	if err != nil || len(members) != 3 || !members.HasDoubled() || members[:2].HasDoubled() {
		t.Fatalf("%q, %v", members, err)
	}
	if last, ok := members.Last("a"); string(last) != `"\ud800"` || !ok {
		t.Errorf("of two members the last is %s, %v", last, ok)
	} else if text, ok := exactjson.ParseText(last); text != "\ufffd" || !ok {
		t.Errorf("half of a character is read as %q, %v", text, ok)
	}
	if other, ok := members.Last("c"); ok {
		t.Errorf("a member that is not there is %s", other)
	}
	for _, text := range []string{"", " ", "null", "[]", `"a"`, "{", `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a":1}x`, `{"a":1}{}`, "{\"a\":\"\xff\"}", "{\"a\":\"\n\"}", `{"a":01}`} {
		if members, err := exactjson.ParseMembers([]byte(text)); err == nil {
			t.Errorf("%q has the members %q", text, members)
		}
	}
	for _, value := range []string{"", "null", "1", "{}"} {
		if text, ok := exactjson.ParseText(json.RawMessage(value)); ok {
			t.Errorf("%s is the text %q", value, text)
		}
	}
}

// FuzzParseMembers compares with a map that package json decodes.
func FuzzParseMembers(f *testing.F) {
	for _, seed := range []string{`{"a":1,"b":[{"c":"d"}],"a":null}`, `{"\ud800":1,"\udfff":"\u0000"}`, ` { } `, `{"":-0.0e1}`, "{\"a\":\"\xc3\xa9\"}", "null"} {
		f.Add([]byte(seed))
	}
	f.Add([]byte(strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40)))
	f.Fuzz(func(t *testing.T, text []byte) {
		var want map[string]json.RawMessage
		valid := utf8.Valid(text) && json.Unmarshal(text, &want) == nil && want != nil
		members, err := exactjson.ParseMembers(text)
		if (err == nil) != valid {
			t.Fatalf("%v, while it is valid: %v", err, valid)
		}
		if err != nil {
			return
		}
		got := map[string]json.RawMessage{}
		for _, m := range members {
			got[string(m.Name)] = m.Value
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		for name := range want {
			if last, ok := members.Last(name); !ok || string(last) != string(want[name]) {
				t.Errorf("%q is %s, %v", name, last, ok)
			}
			var text string
			isText := want[name][0] == '"' && json.Unmarshal(want[name], &text) == nil
			if got, ok := exactjson.ParseText(want[name]); ok != isText || got != text {
				t.Errorf("%s is the text %q, %v", want[name], got, ok)
			}
		}
		if len(want) != len(members) != members.HasDoubled() {
			t.Errorf("%d members of %d names are doubled: %v", len(members), len(want), members.HasDoubled())
		}
	})
}
