package ranking

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestReadableEntriesComeBack(t *testing.T) {
	codec := Readable{}
	for _, e := range []entry{{identity: "U1", key: "tea <é>"}, {clear: true}, {identity: "U1"}} {
		want := rules{}.AppendEntry(nil, e)
		value, rest, err := codec.Readable(append(slices.Clip(want), 7))
		if err != nil || len(rest) != 1 {
			t.Fatalf("%+v: %v, rest %d", e, err, len(rest))
		}
		object, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := codec.AppendReadable(nil, object); err != nil || string(got) != string(want) {
			t.Errorf("%s: %v\n%q\n%q", object, err, want, got)
		}
	}
	for _, object := range []string{"{", "{}", `{"entry":"vote"}`, `{"entry":"answer","key":"tea"}`} {
		if got, err := codec.AppendReadable(nil, []byte(object)); err == nil {
			t.Errorf("%s is read as %q", object, got)
		}
	}
}

func TestStreamNames(t *testing.T) {
	for _, q := range []Question{
		{"production", "x", "1", "default"}, {"sandbox", "x/y", "", "a b%"}, {"production", "x", "", "global-1"}, {},
	} {
		if got, err := ParseStream(q.Stream()); err != nil || got != q {
			t.Errorf("%s: %+v, %v, want %+v", q.Stream(), got, err, q)
		}
	}
	for _, name := range []string{"", "rank/p/x", "rank/p/x/global/1", "rank/p/x/channel/1/global", "poll/p/x/channel/1/2"} {
		if got, err := ParseStream(name); err == nil {
			t.Errorf("%s is read as %+v", name, got)
		}
	}
}
