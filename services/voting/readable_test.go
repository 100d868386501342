package voting

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
)

// toJSON encodes as an export does.
func toJSON(t *testing.T, value any) []byte {
	t.Helper()
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// Every entry that is valid text comes back bit for bit.
func TestReadableEntriesComeBack(t *testing.T) {
	entries := append(everyEntry(),
		&voteEntry{voter: Voter{"U<1> \u2028\"é\"", "汉"}, value: -3, times: 2},
		configEntry{config: Config{Prompt: "a<b>&c", UserData: json.RawMessage(`{"<":"\u003c"}`)}})
	for _, e := range entries {
		want := newPoll().AppendEntry(nil, e)
		value, rest, err := readEntry(append(bytes.Clone(want), 7))
		if err != nil || len(rest) != 1 {
			t.Fatalf("%#v: %v, rest %d", e, err, len(rest))
		}
		object := toJSON(t, value)
		got, err := EntryCodec{}.AppendReadable([]byte("before"), object)
		if strings.Contains(string(want), "\xff") {
			continue // what is not text does not come back; an export notices
		}
		if err != nil || string(got) != "before"+string(want) {
			t.Errorf("%s: %v\n%q\n%q", object, err, want, got)
		}
	}
}

func TestReadableShowsWhatTheAPICalls(t *testing.T) {
	encoded := newPoll().AppendEntry(nil, &voteEntry{voter: Voter{"U1", "1"}, value: -3, times: 2, replace: true})
	value, _, err := readEntry(encoded)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"entry":"vote","opaque":"U1","identifier":"1","userIDVoting":false,"replace":true,"value":-3,"count":2}` + "\n"
	if got := string(toJSON(t, value)); got != want {
		t.Errorf("got %s want %s", got, want)
	}
}

func TestReadableRefuses(t *testing.T) {
	for name, object := range map[string]string{
		"no JSON":       `{`,
		"no entry":      `{"value":1,"count":1}`,
		"unknown entry": `{"entry":"poll"}`,
		"another case":  `{"entry":"Vote","value":1,"count":1}`,
		"value":         `{"entry":"vote","value":129,"count":1}`,
		"wide value":    `{"entry":"vote","value":65537,"count":1}`,
		"no count":      `{"entry":"vote","value":1}`,
		"wide count":    `{"entry":"vote","value":1,"count":65537}`,
		"no config":     `{"entry":"config"}`,
		"config":        `{"entry":"config","config":[]}`,
		"modifier":      `{"entry":"modifier","user":"1","add":1.5}`,
	} {
		if got, err := (EntryCodec{}).AppendReadable(nil, []byte(object)); err == nil {
			t.Errorf("%s: %s is read as %q", name, object, got)
		}
	}
}

func TestStreamNames(t *testing.T) {
	for _, p := range []Poll{
		{"production", "x", "1", "default"},
		{"sandbox", "x/y", "", "a b%"},
		{"production", "x", "global", "channel"},
		{"production", "x", "", "global-1"},
		{"", "", "", ""},
	} {
		if got, err := ParseStream(p.Stream()); err != nil || got != p {
			t.Errorf("%s: %+v, %v, want %+v", p.Stream(), got, err, p)
		}
	}
	for _, name := range []string{
		"", "poll", "poll/p/x", "poll/p/x/y", "poll/p/x/global/1", "poll/p/x/channel/1", "poll/p/x/channel/1/global",
		"poll/p/x/other/1/2", "rank/p/x/channel/1/2", "poll/p/x/channel/1/%", "poll/p/x/channel/1/%41", "poll/p/x/channel/1/2/3",
	} {
		if got, err := ParseStream(name); err == nil {
			t.Errorf("%s is read as %+v", name, got)
		}
	}
}

// FuzzReadable: what is read from JSON is an entry, and what that is made of
// comes back.
func FuzzReadable(f *testing.F) {
	for _, e := range everyEntry() {
		value, _, err := readEntry(newPoll().AppendEntry(nil, e))
		if err != nil {
			f.Fatal(err)
		}
		object, err := json.Marshal(value)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(object)
	}
	f.Add([]byte(`{"entry":"vote","value":-128,"count":30,"VALUE":` + "1e3}"))
	f.Add([]byte(`{"entry":"modifier","add":` + json.Number("9223372036854775808").String() + `}`))
	f.Fuzz(func(t *testing.T, object []byte) {
		encoded, err := EntryCodec{}.AppendReadable(nil, object)
		if err != nil {
			return
		}
		value, rest, err := readEntry(encoded)
		if err != nil || len(rest) > 0 {
			t.Fatalf("%s is not an entry: %v", object, err)
		}
		again, err := EntryCodec{}.AppendReadable(nil, toJSON(t, value))
		if err != nil {
			t.Fatalf("%s does not come back: %v", object, err)
		}
		if !bytes.Equal(encoded, again) {
			t.Errorf("%s comes back as %s", object, toJSON(t, value))
		}
		p := newPoll()
		e, _, err := decodeEntry(encoded)
		if err != nil {
			t.Fatal(err)
		}
		p.Apply(p.state, math.MaxInt32, e)
		p.encode(ann)
	})
}
