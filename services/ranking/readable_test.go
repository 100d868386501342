package ranking

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

func TestReadableEntriesComeBack(t *testing.T) {
	codec, config := EntryCodec{}, DefaultConfig()
	config.Blocked = []string{"<é>"}
	for _, e := range []answerEntry{
		{identity: "U1", key: "tea <é>"},
		{kind: entryCleared},
		{identity: "U1"},
		{identity: "U1", key: "Tea", group: "tea", keep: 3, held: true},
		{identity: "U1", key: "Tea", group: "tea"},
		{identity: "U1", key: "tea", held: true},
		{kind: entryConfigured, config: &config},
		{kind: entryShown, key: "tea"},
		{kind: entryHidden, key: "tea"},
		{kind: entryMerged, key: "tea", group: "mate"},
		{kind: entryShown, key: "tea", actor: StaffActor{Role: "backend"}},
		{kind: entryHidden, key: "tea", actor: StaffActor{Role: "broadcaster", ID: "<é>"}},
		{kind: entryMerged, key: "tea", group: "mate", actor: StaffActor{Role: "admin", ID: "1"}},
	} {
		want := questionRules{}.AppendEntry(nil, e)
		r := wire.NewReader(append(slices.Clip(want), 7))
		value := codec.Readable(r)
		if r.Err() != nil || len(r.Rest()) != 1 {
			t.Fatalf("%+v: %v, rest %d", e, r.Err(), len(r.Rest()))
		}
		object, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := codec.AppendReadable(nil, object); err != nil || string(got) != string(want) {
			t.Errorf("%s: %v\n%q\n%q", object, err, want, got)
		}
	}
	for _, object := range []string{"{", "{}", `{"entry":"vote"}`, `{"entry":"answer","key":"tea"}`, `{"entry":"config"}`, `{"entry":"config","config":{"answersPerViewer":11}}`,
		`{"entry":"show"}`, `{"entry":"merge","key":"a"}`, `{"entry":"merge","key":"a","into":"a"}`, `{"entry":"answer","identity":"U1","key":"a","answersPerViewer":11}`,
		`{"entry":"config","config":{},"actor":{"role":"admin"}}`, `{"entry":"answer","identity":"U1","key":"a","held":true,"actor":{"role":"admin"}}`,
	} {
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
