package accumulation_test

import (
	"encoding/binary"
	"encoding/json"
	"slices"
	"testing"

	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

// encode returns the stored form of a submission.
func encode(fields ...string) (encoded []byte) {
	for _, field := range fields {
		encoded = append(binary.AppendUvarint(encoded, uint64(len(field))), field...)
	}
	return encoded
}

func TestReadableEntriesComeBack(t *testing.T) {
	codec := accumulation.EntryCodec{}
	for _, fields := range [][]string{
		{"1", "U1", "1", `{"a":1.50,"b":"é\u2028"}`},
		{"", "", "", "{}"},
	} {
		want := encode(fields...)
		r := wire.NewReader(append(slices.Clip(want), 7))
		value := codec.Readable(r)
		if r.Err() != nil || len(r.Rest()) != 1 {
			t.Fatalf("%q: %v, rest %d", fields, r.Err(), len(r.Rest()))
		}
		object, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := codec.AppendReadable(nil, object); err != nil || string(got) != string(want) {
			t.Errorf("%s: %v\n%q\n%q", object, err, want, got)
		}
	}
}

// Data that is not JSON is shown as null; it does not come back, which an export
// notices.
func TestReadableOfWhatIsNotJSON(t *testing.T) {
	r := wire.NewReader(encode("1", "U1", "1", "{"))
	value := accumulation.EntryCodec{}.Readable(r)
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	want := `{"entry":"submission","channel_id":"1","opaque_user_id":"U1","user_id":"1","data":null}`
	if object, err := json.Marshal(value); err != nil || string(object) != want {
		t.Errorf("got %s, %v, want %s", object, err, want)
	}
	for _, object := range []string{"{", "{}", `{"entry":"vote"}`, `{"entry":"submission","user_id":1}`} {
		if got, err := (accumulation.EntryCodec{}).AppendReadable(nil, []byte(object)); err == nil {
			t.Errorf("%s is read as %q", object, got)
		}
	}
}

func TestStreamNames(t *testing.T) {
	for _, b := range []accumulation.Buffer{buffer, {Environment: "sandbox", Extension: "x/y", Name: "a b"}, {}} {
		if got, err := accumulation.ParseStream(b.Stream()); err != nil || got != b {
			t.Errorf("%s: %+v, %v, want %+v", b.Stream(), got, err, b)
		}
	}
	for _, name := range []string{"", "buffer/p/x", "buffer/p/x/1/2", "poll/p/x/1", "buffer/p/x/%41"} {
		if got, err := accumulation.ParseStream(name); err == nil {
			t.Errorf("%s is read as %+v", name, got)
		}
	}
}
