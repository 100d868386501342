package voting

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/api/verifiable"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

// everyEntry has each kind of entry, with contents at the edges.
func everyEntry() []Entry {
	return []Entry{
		&voteEntry{voter: ann, value: 5, times: 1, replace: true},
		&voteEntry{voter: Voter{"", "1"}, byUser: true, value: contract.MinValue, times: contract.MaxCount},
		&voteEntry{voter: Voter{strings.Repeat("o", contract.MaxVoter), "\x00\xff"}, value: contract.MaxValue, times: 1},
		configEntry{config: DefaultConfig()},
		configEntry{config: Config{Prompt: "é", Options: []string{"a", ""}, UserData: json.RawMessage(`[1]`), Schedule: contract.Schedule{EndsAt: math.MaxInt64}}},
		modifierEntry{user: "Uann", add: -contract.MaxModifier},
		modifierEntry{user: "1", add: contract.MaxModifier},
		resetEntry{},
		&voteEntry{voter: ann, value: 5, times: 1, listed: &listedVote{voter: 7}},
		&voteEntry{voter: ann, value: 5, times: 1, listed: &listedVote{voter: maxEntries, byStaff: true, nonce: &verifiable.NonceHash{1, 255}, place: &listPlace{3, maxEntries, 1}}},
		&listedModifier{modifierEntry{user: "Uann", add: -1}, listedVote{byStaff: true, place: &listPlace{0, 5, 1}}},
		&listedConfig{config: listedTestConfig(), begin: &listBegin{verifiable.TreeID{1}, verifiable.PollKey{2}}, hides: &verifiable.SaltKey{3}, place: &listPlace{}},
		&listedConfig{config: listedTestConfig(), opens: true, reveals: true},
		&listedConfig{config: Config{UserData: json.RawMessage("null")}, ends: true, place: &listPlace{1, 9, 1}},
		listedEvent{kind: kindClosed, reveals: true, place: &listPlace{0, 5, 1}},
		listedEvent{kind: kindErasing}, listedEvent{kind: kindListedReset},
	}
}

func listedTestConfig() Config {
	c := DefaultConfig()
	c.Verifiable, c.UserData = true, json.RawMessage("null")
	return c
}

// stored returns an entry as the log gives it back: userData that was not given
// is null.
func stored(e Entry) Entry {
	if c, ok := e.(configEntry); ok && c.config.UserData == nil {
		c.config.UserData = json.RawMessage("null")
		return c
	}
	return e
}

func compareEntries(want, got Entry) string {
	return cmp.Diff(want, got, cmp.AllowUnexported(voteEntry{}, configEntry{}, modifierEntry{}, resetEntry{}, listedVote{}, listPlace{}, listedModifier{}, listedConfig{}, listBegin{}, listedEvent{}))
}

func TestEntriesComeBack(t *testing.T) {
	var all []byte
	for _, e := range everyEntry() {
		all = newPoll().AppendEntry(all, e)
	}
	rest := all
	for _, want := range everyEntry() {
		got, tail, err := decodeEntry(rest)
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
			if got, _, err := decodeEntry(encoded[:n]); err == nil {
				t.Errorf("%d bytes of %d of %#v are read as %#v", n, len(encoded), e, got)
			}
		}
	}
	for name, e := range map[string]Entry{
		"value": &voteEntry{voter: ann, value: contract.MaxValue + 1, times: 1},
		"none":  &voteEntry{voter: ann, value: 1},
		"times": &voteEntry{voter: ann, value: 1, times: contract.MaxCount + 1},
	} {
		if got, _, err := decodeEntry(newPoll().AppendEntry(nil, e)); err == nil {
			t.Errorf("%s out of bounds is read as %#v", name, got)
		}
	}
	if _, _, err := decodeEntry([]byte{kindErasing + 1}); err == nil {
		t.Error("an unknown kind is read")
	}
	if _, _, err := decodeEntry([]byte{kindConfigured, 1, '{'}); err == nil {
		t.Error("a configuration cut off is read")
	}
}

// FuzzDecodeEntry: bytes that decode are an entry that encodes and applies.
func FuzzDecodeEntry(f *testing.F) {
	for _, e := range everyEntry() {
		f.Add(newPoll().AppendEntry(nil, e))
	}
	for _, config := range []string{`{"prompt":null,"more":0}`, `{"userData":[ "<" ]}`} {
		f.Add(wire.AppendBytes([]byte{kindConfigured}, config))
	}
	f.Fuzz(func(t *testing.T, encoded []byte) {
		p := newPoll()
		e, rest, err := decodeEntry(encoded)
		if err != nil {
			return
		}
		written := p.AppendEntry(nil, e)
		again, tail, err := decodeEntry(append(slices.Clone(written), rest...))
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
