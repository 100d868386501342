package voting

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// everyEntry has each kind of entry, with contents at the edges.
func everyEntry() []Entry {
	return []Entry{
		voted{voter: ann, value: 5, times: 1, replace: true},
		voted{voter: Voter{"", "1"}, byUser: true, value: minValue, times: maxCount},
		voted{voter: Voter{strings.Repeat("o", maxIdentity), "\x00\xff"}, value: maxValue, times: 1},
		configured{config: DefaultConfig()},
		configured{config: Config{Prompt: "é", Options: []string{"a", ""}, UserData: json.RawMessage(`[1]`), EndsAt: math.MaxInt64}},
		modified{user: "Uann", add: -maxModifier},
		modified{user: "1", add: maxModifier},
		reset{},
	}
}

// stored returns an entry as the log gives it back: userData that was not given
// is null.
func stored(e Entry) Entry {
	if c, ok := e.(configured); ok && c.config.UserData == nil {
		c.config.UserData = json.RawMessage("null")
		return c
	}
	return e
}

func compareEntries(want, got Entry) string {
	return cmp.Diff(want, got, cmp.AllowUnexported(voted{}, configured{}, modified{}, reset{}))
}

func TestEntriesComeBack(t *testing.T) {
	var all []byte
	for _, e := range everyEntry() {
		all = newPoll().AppendEntry(all, e)
	}
	rest := all
	for _, want := range everyEntry() {
		got, tail, err := newPoll().DecodeEntry(rest)
		if err != nil {
			t.Fatal(err)
		}
		if diff := compareEntries(stored(want), got); diff != "" {
			t.Errorf("entry (-written +read):\n%s", diff)
		}
		rest = tail
	}
	if len(rest) > 0 {
		t.Errorf("%d bytes are left", len(rest))
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, e := range everyEntry() {
		encoded := newPoll().AppendEntry(nil, e)
		for n := range encoded {
			if got, _, err := newPoll().DecodeEntry(encoded[:n]); err == nil {
				t.Errorf("%d bytes of %d of %#v are read as %#v", n, len(encoded), e, got)
			}
		}
	}
	for name, e := range map[string]Entry{
		"value": voted{voter: ann, value: maxValue + 1, times: 1},
		"none":  voted{voter: ann, value: 1},
		"times": voted{voter: ann, value: 1, times: maxCount + 1},
	} {
		if got, _, err := newPoll().DecodeEntry(newPoll().AppendEntry(nil, e)); err == nil {
			t.Errorf("%s out of bounds is read as %#v", name, got)
		}
	}
	if _, _, err := newPoll().DecodeEntry([]byte{kindReset + 1}); err == nil {
		t.Error("an unknown kind is read")
	}
	if _, _, err := newPoll().DecodeEntry([]byte{kindConfigured, 1, '{'}); err == nil {
		t.Error("a configuration cut off is read")
	}
}

// FuzzDecodeEntry: bytes that decode are an entry that encodes and applies.
func FuzzDecodeEntry(f *testing.F) {
	for _, e := range everyEntry() {
		f.Add(newPoll().AppendEntry(nil, e))
	}
	for _, config := range []string{`{"prompt":null,"more":0}`, `{"userData":[ "<" ]}`} {
		f.Add(appendBytes([]byte{kindConfigured}, config))
	}
	f.Fuzz(func(t *testing.T, encoded []byte) {
		p := newPoll()
		e, rest, err := p.DecodeEntry(encoded)
		if err != nil {
			return
		}
		written := p.AppendEntry(nil, e)
		again, tail, err := p.DecodeEntry(append(slices.Clone(written), rest...))
		if err != nil || string(tail) != string(rest) {
			t.Fatalf("%#v does not come back: %v", e, err)
		}
		// What no encoder wrote may lose white space and escapes, but only once.
		if diff := cmp.Diff(written, p.AppendEntry(nil, again)); diff != "" {
			t.Errorf("encoding (-first +second):\n%s", diff)
		}
		p.Apply(p.state, p.at, e)
		p.encode(ann)
	})
}
