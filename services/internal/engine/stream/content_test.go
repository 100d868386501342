package stream

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

// numbers is a codec whose entries are numbers.
type numbers struct{}

func (numbers) Readable(r *wire.Reader) any { return r.Uvarint() }

func (numbers) AppendReadable(buf, object []byte) ([]byte, error) {
	var n uint64
	err := json.Unmarshal(object, &n)
	return binary.AppendUvarint(buf, n), err
}

func TestContentComesBack(t *testing.T) {
	id := GroupID{0: 0xab, 15: 1}
	for _, members := range [][]storedGroup{nil, {{id: id, stored: commandBitmap{0b101}}}, {{stored: commandBitmap{}}, {id: id, stored: commandBitmap{0, 128}}}} {
		chunk := &Chunk{Stream: "s", Seq: 1, Count: 2, Payload: append(encodeMemberships(members), 7, 200, 1)}
		groups, entries, err := chunk.Content(numbers{})
		if err != nil {
			t.Fatal(err)
		}
		if len(members) == 1 {
			want := []Group{{ID: "ab000000000000000000000000000001", Stored: "10100000"}}
			if diff := cmp.Diff(want, groups); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
		}
		var objects []json.RawMessage
		for _, entry := range entries {
			objects = append(objects, fmt.Append(nil, entry))
		}
		payload, err := NewPayload(numbers{}, groups, objects)
		if err != nil || string(payload) != string(chunk.Payload) {
			t.Errorf("%v %v: %v\n%q\n%q", groups, entries, err, chunk.Payload, payload)
		}
	}
}

func TestContentOfDamage(t *testing.T) {
	for name, chunk := range map[string]Chunk{
		"no payload":      {},
		"groups cut off":  {Payload: []byte{2, 1}},
		"entries cut off": {Payload: []byte{0, 7}, Count: 2},
	} {
		if _, _, err := chunk.Content(numbers{}); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v, want ErrDamaged", name, err)
		}
	}
	for _, g := range []Group{{ID: "ab"}, {ID: "zb000000000000000000000000000001"}, {ID: "ab00000000000000000000000000000100"},
		{ID: "ab000000000000000000000000000001", Stored: "12000000"}} {
		if _, err := NewPayload(numbers{}, []Group{g}, nil); err == nil {
			t.Errorf("%+v is read", g)
		}
	}
}
