package stream

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

// A ring holds what a list would that is searched from its beginning, in a bounded size.
func TestKeyRingIsAList(t *testing.T) {
	const limit = 64
	random := rand.New(rand.NewPCG(1, 2))
	var ring keyRing
	var list []ringKey
	at, day := int64(1), once.Lifetime.Milliseconds()
	for n := range 20_000 {
		at += random.Int64N(day / 50)
		owner := once.Owner{byte(random.IntN(40))}
		if random.IntN(2) == 0 {
			owner = once.Owner{200} // has more than the others
		}
		k := ringKey{storedKey: storedKey{mark: once.Mark{Owner: owner, Key: [8]byte{byte(n), byte(n >> 8), byte(n >> 16)}}}, at: at}
		ring.addKeys(uint64(n), at, []storedKey{k.storedKey}, limit)

		list = slices.DeleteFunc(append(list, k), func(k ringKey) bool { return k.at <= at-day })
		if len(list) > limit {
			own := func(k ringKey) bool { return k.mark.Owner == owner }
			victim := 0
			if count := len(list) - len(slices.DeleteFunc(slices.Clone(list), own)); count > limit/ringShare {
				victim = slices.IndexFunc(list, own)
			}
			list = slices.Delete(list, victim, victim+1)
		}
		if n%97 == 0 {
			ring = restoreKeys(wire.NewReader(ring.encodeSnapshot()))
		}
		if len(ring.names) != len(list) || len(ring.keys) > 4*limit {
			t.Fatalf("after %d keys the ring holds %d of %d, want %d", n, len(ring.names), len(ring.keys), len(list))
		}
		for _, k := range list {
			if _, ok := ring.findKey(k.mark, at); !ok {
				t.Fatalf("after %d keys the ring lacks one of %d", n, k.at)
			}
		}
	}
	if ring.bytes != len(list)*ringKeySize {
		t.Errorf("the ring counts %d bytes for %d keys", ring.bytes, len(list))
	}
}

// The encoding of keys comes back, in a header and for export.
func TestHeaderWithKeysComesBack(t *testing.T) {
	h := chunkHeader{
		groups: []storedGroup{{id: GroupID{1}, stored: commandBitmap{3}}},
		keys:   []storedKey{{once.Mark{Owner: once.Owner{1}}, 0, 1, nil}, {once.Mark{Key: [8]byte{9}}, 1, 700, commandBitmap{1, 2}}},
	}
	chunk := Chunk{Stream: "s", Payload: h.encode()}
	got, rest, err := splitPayload(&chunk)
	if err != nil || len(rest) > 0 || string(got.encode()) != string(chunk.Payload) || len(got.keys) != 2 || !got.keys[1].hasAccepted(9) || got.keys[1].hasAccepted(1) {
		t.Errorf("%+v, %q, %v", got, rest, err)
	}
	groups, _, err := chunk.Content(nil)
	if err != nil {
		t.Fatal(err)
	}
	if payload, err := NewPayload(nil, groups, nil); err != nil || string(payload) != string(chunk.Payload) {
		t.Errorf("exported and imported it is %x, %v, want %x", payload, err, chunk.Payload)
	}
}
