package document_test

import (
	"strings"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// RFC 6902, appendix A; a want of "" is an error.
func TestPatchExamples(t *testing.T) {
	for name, test := range map[string]struct{ body, patch, want string }{
		"A.1 adding an object member":         {`{"foo":"bar"}`, `[{"op":"add","path":"/baz","value":"qux"}]`, `{"baz":"qux","foo":"bar"}`},
		"A.2 adding an array element":         {`{"foo":["bar","baz"]}`, `[{"op":"add","path":"/foo/1","value":"qux"}]`, `{"foo":["bar","qux","baz"]}`},
		"A.3 removing an object member":       {`{"baz":"qux","foo":"bar"}`, `[{"op":"remove","path":"/baz"}]`, `{"foo":"bar"}`},
		"A.4 removing an array element":       {`{"foo":["bar","qux","baz"]}`, `[{"op":"remove","path":"/foo/1"}]`, `{"foo":["bar","baz"]}`},
		"A.5 replacing a value":               {`{"baz":"qux","foo":"bar"}`, `[{"op":"replace","path":"/baz","value":"boo"}]`, `{"baz":"boo","foo":"bar"}`},
		"A.6 moving a value":                  {`{"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}}`, `[{"op":"move","from":"/foo/waldo","path":"/qux/thud"}]`, `{"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}}`},
		"A.7 moving an array element":         {`{"foo":["all","grass","cows","eat"]}`, `[{"op":"move","from":"/foo/1","path":"/foo/3"}]`, `{"foo":["all","cows","eat","grass"]}`},
		"A.8 testing a value: success":        {`{"baz":"qux","foo":["a",2,"c"]}`, `[{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2}]`, `{"baz":"qux","foo":["a",2,"c"]}`},
		"A.9 testing a value: error":          {`{"baz":"qux"}`, `[{"op":"test","path":"/baz","value":"bar"}]`, ``},
		"A.10 adding a nested member object":  {`{"foo":"bar"}`, `[{"op":"add","path":"/child","value":{"grandchild":{}}}]`, `{"foo":"bar","child":{"grandchild":{}}}`},
		"A.11 ignoring unrecognized members":  {`{"foo":"bar"}`, `[{"op":"add","path":"/baz","value":"qux","xyz":123}]`, `{"foo":"bar","baz":"qux"}`},
		"A.12 adding to a nonexistent target": {`{"foo":"bar"}`, `[{"op":"add","path":"/baz/bat","value":"qux"}]`, ``},
		// A.13 is a name given twice: the last counts, as in JSON.parse.
		"A.13 invalid JSON Patch document":   {`{"foo":"bar"}`, `[{"op":"add","path":"/baz","value":"qux","op":"remove"}]`, ``},
		"A.14 ~ escape ordering":             {`{"/":9,"~1":10}`, `[{"op":"test","path":"/~01","value":10}]`, `{"/":9,"~1":10}`},
		"A.15 comparing strings and numbers": {`{"/":9,"~1":10}`, `[{"op":"test","path":"/~01","value":"10"}]`, ``},
		"A.16 adding an array value":         {`{"foo":["bar"]}`, `[{"op":"add","path":"/foo/-","value":["abc","def"]}]`, `{"foo":["bar",["abc","def"]]}`},
	} {
		t.Run(name, func(t *testing.T) { checkPatch(t, test.body, test.patch, test.want) })
	}
}

func checkPatch(t *testing.T, body, patch, want string) {
	t.Helper()
	got, err := apply(t, body, document.Patch, patch)
	if want == "" {
		wantKind(t, err, fault.Invalid)
		want = body
	} else if err != nil {
		t.Fatal(err)
	}
	if want = canonical(t, want); canonical(t, got) != want {
		t.Errorf("document is %s, want %s", got, want)
	}
}

func TestPatch(t *testing.T) {
	for name, test := range map[string]struct{ body, patch, want string }{
		"no operation":                  {`{"a":1}`, `[]`, `{"a":1}`},
		"add replaces a member":         {`{"a":1}`, `[{"op":"add","path":"/a","value":null}]`, `{"a":null}`},
		"add at the end":                {`{"a":[1]}`, `[{"op":"add","path":"/a/1","value":2}]`, `{"a":[1,2]}`},
		"add beyond the end":            {`{"a":[1]}`, `[{"op":"add","path":"/a/2","value":2}]`, ``},
		"add into a number":             {`{"a":1}`, `[{"op":"add","path":"/a/b","value":2}]`, ``},
		"add into null":                 {`{"a":null}`, `[{"op":"add","path":"/a/0","value":2}]`, ``},
		"add the whole":                 {`{"a":1}`, `[{"op":"add","path":"","value":{"b":2}}]`, `{"b":2}`},
		"add an empty name":             {`{"a":1}`, `[{"op":"add","path":"/","value":2}]`, `{"a":1,"":2}`},
		"below an empty name":           {`{"":{"x":1}}`, `[{"op":"replace","path":"//x","value":2}]`, `{"":{"x":2}}`},
		"a member named -":              {`{"a":{}}`, `[{"op":"add","path":"/a/-","value":2}]`, `{"a":{"-":2}}`},
		"a member named 01":             {`{"01":1}`, `[{"op":"replace","path":"/01","value":2}]`, `{"01":2}`},
		"remove a missing member":       {`{"a":1}`, `[{"op":"remove","path":"/b"}]`, ``},
		"remove past the end":           {`{"a":[1]}`, `[{"op":"remove","path":"/a/1"}]`, ``},
		"remove -":                      {`{"a":[1]}`, `[{"op":"remove","path":"/a/-"}]`, ``},
		"remove the last element":       {`{"a":[1]}`, `[{"op":"remove","path":"/a/0"}]`, `{"a":[]}`},
		"remove the whole":              {`{"a":1}`, `[{"op":"remove","path":""}]`, ``},
		"replace a missing member":      {`{"a":1}`, `[{"op":"replace","path":"/b","value":2}]`, ``},
		"replace an element":            {`{"a":[[1],[2]]}`, `[{"op":"replace","path":"/a/1/0","value":3}]`, `{"a":[[1],[3]]}`},
		"replace the whole":             {`{"a":1}`, `[{"op":"replace","path":"","value":{}}]`, `{}`},
		"whole is no object":            {`{"a":1}`, `[{"op":"replace","path":"","value":[1]}]`, ``},
		"whole is null":                 {`{"a":1}`, `[{"op":"add","path":"","value":null}]`, ``},
		"no object in between":          {`{"a":1}`, `[{"op":"add","path":"","value":[1]},{"op":"add","path":"/0","value":{"b":2}},{"op":"move","from":"/0","path":""}]`, `{"b":2}`},
		"negative index":                {`{"a":[1]}`, `[{"op":"replace","path":"/a/-1","value":2}]`, ``},
		"leading zero":                  {`{"a":[1,2]}`, `[{"op":"replace","path":"/a/01","value":3}]`, ``},
		"plus sign":                     {`{"a":[1,2]}`, `[{"op":"replace","path":"/a/+1","value":3}]`, ``},
		"huge index":                    {`{"a":[1]}`, `[{"op":"remove","path":"/a/99999999999999999999"}]`, ``},
		"empty index":                   {`{"a":[1]}`, `[{"op":"remove","path":"/a/"}]`, ``},
		"move to itself":                {`{"a":{"b":1}}`, `[{"op":"move","from":"/a","path":"/a"}]`, `{"a":{"b":1}}`},
		"move of nothing to itself":     {`{"a":1}`, `[{"op":"move","from":"/b","path":"/b"}]`, ``},
		"move into itself":              {`{"a":{"b":1}}`, `[{"op":"move","from":"/a","path":"/a/b"}]`, ``},
		"move beside itself":            {`{"a":{"b":1}}`, `[{"op":"move","from":"/a","path":"/ab"}]`, `{"ab":{"b":1}}`},
		"move to the whole":             {`{"a":{"b":1}}`, `[{"op":"move","from":"/a","path":""}]`, `{"b":1}`},
		"move of the whole":             {`{"a":1}`, `[{"op":"move","from":"","path":"/b"}]`, ``},
		"move of the whole to itself":   {`{"a":1}`, `[{"op":"move","from":"","path":""}]`, `{"a":1}`},
		"move over a member":            {`{"a":1,"b":2}`, `[{"op":"move","from":"/a","path":"/b"}]`, `{"b":1}`},
		"move within an array":          {`{"a":[1,2,3]}`, `[{"op":"move","from":"/a/2","path":"/a/0"}]`, `{"a":[3,1,2]}`},
		"move past what it took":        {`{"a":[1,2]}`, `[{"op":"move","from":"/a/0","path":"/a/2"}]`, ``},
		"copy into itself":              {`{"a":{"b":1}}`, `[{"op":"copy","from":"/a","path":"/a/b"}]`, `{"a":{"b":{"b":1}}}`},
		"copy of the whole":             {`{"a":1}`, `[{"op":"copy","from":"","path":"/b"}]`, `{"a":1,"b":{"a":1}}`},
		"copy of nothing":               {`{"a":1}`, `[{"op":"copy","from":"/b","path":"/c"}]`, ``},
		"copies are apart":              {`{"a":{"b":[1]}}`, `[{"op":"copy","from":"/a","path":"/c"},{"op":"add","path":"/c/b/0","value":2},{"op":"remove","path":"/a/b/0"}]`, `{"a":{"b":[]},"c":{"b":[2,1]}}`},
		"test null":                     {`{"a":null}`, `[{"op":"test","path":"/a","value":null}]`, `{"a":null}`},
		"test a missing one for null":   {`{"a":1}`, `[{"op":"test","path":"/b","value":null}]`, ``},
		"test null in an array":         {`{"a":[null,1]}`, `[{"op":"test","path":"/a","value":[null,1]}]`, `{"a":[null,1]}`},
		"test null for another":         {`{"a":[null]}`, `[{"op":"test","path":"/a","value":[0]}]`, ``},
		"test an order of names":        {`{"a":{"b":1,"c":2}}`, `[{"op":"test","path":"/a","value":{"c":2,"b":1}}]`, `{"a":{"b":1,"c":2}}`},
		"test fewer names":              {`{"a":{"b":1,"c":2}}`, `[{"op":"test","path":"/a","value":{"b":1}}]`, ``},
		"test an order of elements":     {`{"a":[1,2]}`, `[{"op":"test","path":"/a","value":[2,1]}]`, ``},
		"test the whole":                {`{"a":1}`, `[{"op":"test","path":"","value":{"a":1.0}}]`, `{"a":1}`},
		"test escapes":                  {`{"a":"é"}`, `[{"op":"test","path":"/a","value":"\u00e9"}]`, `{"a":"é"}`},
		"test false for null":           {`{"a":false}`, `[{"op":"test","path":"/a","value":null}]`, ``},
		"later operation fails":         {`{"a":{"b":1}}`, `[{"op":"remove","path":"/a/b"},{"op":"test","path":"/a/b","value":1}]`, ``},
		"the last of two equal names":   {`{"a":1,"a":2}`, `[{"op":"test","path":"/a","value":2},{"op":"add","path":"/b","value":3}]`, `{"a":2,"b":3}`},
		"members of other operations":   {`{"a":1}`, `[{"op":"remove","path":"/a","from":5,"value":[]}]`, `{}`},
		"a value is taken as it stands": {`{"a":1}`, `[{"op":"add","path":"/b","value":"~1/<"},{"op":"test","path":"/b","value":"~1/<"}]`, `{"a":1,"b":"~1/<"}`},
	} {
		t.Run(name, func(t *testing.T) { checkPatch(t, test.body, test.patch, test.want) })
	}
}

func TestPatchComparesNumbers(t *testing.T) {
	for _, test := range []struct {
		a, b  string
		equal bool
	}{
		{"1", "1.0", true}, {"1", "1e0", true}, {"100", "1E2", true}, {"0.1", "1e-1", true},
		{"-0", "0.00", true}, {"0e5", "0", true}, {"1e300", "10e299", true}, {"120.50", "1.205e+2", true},
		{"1", "-1", false}, {"1", "2", false}, {"1e300", "1e301", false}, {"10", "1", false},
		{"12345678901234567890", "12345678901234567891", false}, {"0.1", "0.10000000000000000001", false},
		{"1", "1e99999999999999999999", false}, {"1", "1e4611686018427387903", false},
	} {
		_, err := apply(t, `{"a":`+test.a+`}`, document.Patch, `[{"op":"test","path":"/a","value":`+test.b+`}]`)
		if (err == nil) != test.equal {
			t.Errorf("%s and %s: error %v", test.a, test.b, err)
		}
	}
}

func TestPatchRefusalNamesOperation(t *testing.T) {
	for name, test := range map[string]struct{ patch, want string }{
		"no object":          {`[7]`, `operation 0 ("", path ""): an operation must be an object`},
		"null":               {`[null]`, `operation 0 ("", path ""): an operation must be an object`},
		"no op":              {`[{"path":"/a"}]`, `operation 0 ("", path ""): "op" must be a string`},
		"null op":            {`[{"op":null,"path":"/a"}]`, `operation 0 ("", path ""): "op" must be a string`},
		"op in capitals":     {`[{"OP":"remove","path":"/a"}]`, `operation 0 ("", path ""): "op" must be a string`},
		"unknown op":         {`[{"op":"merge","path":"/a"}]`, `operation 0 ("merge", path "/a"): "op" must be add,`},
		"no path":            {`[{"op":"remove"}]`, `operation 0 ("remove", path ""): "path" must be a string`},
		"number for a path":  {`[{"op":"remove","path":1}]`, `operation 0 ("remove", path ""): "path" must be a string`},
		"path without slash": {`[{"op":"remove","path":"a"}]`, `operation 0 ("remove", path "a"): "path" is not a JSON Pointer`},
		"bad escape":         {`[{"op":"remove","path":"/~2"}]`, `operation 0 ("remove", path "/~2"): "path" is not a JSON Pointer`},
		"escape at the end":  {`[{"op":"remove","path":"/~"}]`, `operation 0 ("remove", path "/~"): "path" is not a JSON Pointer`},
		"no value":           {`[{"op":"test","path":"/a"}]`, `operation 0 ("test", path "/a"): "value" is missing`},
		"no from":            {`[{"op":"copy","path":"/a"}]`, `operation 0 ("copy", path "/a"): "from" must be a string`},
		"bad from":           {`[{"op":"move","path":"/a","from":"b"}]`, `operation 0 ("move", path "/a"): "from" is not a JSON Pointer`},
		"failed test":        {`[{"op":"remove","path":"/b"},{"op":"test","path":"/a","value":2}]`, `operation 1 ("test", path "/a"): the value there is another`},
		"missing":            {`[{"op":"remove","path":"/c/d"}]`, `operation 0 ("remove", path "/c/d"): the path does not exist`},
		"missing from":       {`[{"op":"move","from":"/c","path":"/d"}]`, `operation 0 ("move", path "/d"): "from": the path does not exist`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := apply(t, `{"a":1,"b":2}`, document.ParseChange, test.patch)
			wantKind(t, err, fault.Invalid)
			if err != nil && !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("reason is %q, want %q", err, test.want)
			}
			if got != `{"a":1,"b":2}` {
				t.Errorf("document is %s", got)
			}
		})
	}
}

func TestPatchReasonIsBounded(t *testing.T) {
	_, err := apply(t, `{}`, document.ParseChange, `[{"op":"`+strings.Repeat("o", 9_999)+`","path":"/`+strings.Repeat("é", 9_999)+`"}]`)
	if err == nil || len(err.Error()) > 1_000 {
		t.Errorf("error of %d bytes", len(err.Error()))
	}
}
