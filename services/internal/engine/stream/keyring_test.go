package stream

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

// A ring holds what a list would that is searched from its beginning: of keys that are a minute
// old as many as are allowed, and all younger ones.
func TestKeyRingIsAList(t *testing.T) {
	for name, step := range map[string]int64{"slow": once.Lifetime.Milliseconds() / 50, "fast": once.KeptAtLeast.Milliseconds() / 40} {
		t.Run(name, func(t *testing.T) { compareWithList(t, step) })
	}
}

func compareWithList(t *testing.T, step int64) {
	const allowed = 64
	random := rand.New(rand.NewPCG(1, 2))
	var ring keyRing
	var list []ringKey
	at := int64(1)
	for n := range 20_000 {
		at += random.Int64N(step)
		owner := once.Owner{byte(random.IntN(40))}
		if random.IntN(2) == 0 {
			owner = once.Owner{200} // has more than the others
		}
		k := ringKey{mark: once.Mark{Owner: owner, Key: keyDigest{byte(n), byte(n >> 8), byte(n >> 16)}}, at: at}
		ring.addKey(uint64(n+1), at, storedKey{mark: k.mark}, at, allowed)
		ring.dropOld(at, allowed)
		list = addToList(list, k, allowed)
		if n%97 == 0 {
			ring = restoreKeys(wire.NewReader(ring.encodeSnapshot()))
		}
		if len(ring.names) != len(list) || len(ring.keys) > 2*len(list)+64 {
			t.Fatalf("after %d keys the ring holds %d of %d, want %d", n, len(ring.names), len(ring.keys), len(list))
		}
		for _, k := range list {
			if _, ok := ring.findKey(k.mark, at); !ok {
				t.Fatalf("after %d keys the ring lacks one of %d", n, k.at)
			}
		}
	}
	if ring.bytes != len(list)*KeySize {
		t.Errorf("the ring counts %d bytes for %d keys", ring.bytes, len(list))
	}
}

// addToList adds a key to a list and drops what the rules of a ring let go.
func addToList(list []ringKey, k ringKey, allowed int) []ringKey {
	list = append(list, k)
	old := func(one ringKey) bool { return one.at <= k.at-once.KeptAtLeast.Milliseconds() }
	own := func(one ringKey) bool { return one.mark.Owner == k.mark.Owner }
	if len(list) > allowed {
		victim := slices.IndexFunc(list, own)
		if count := len(list) - len(slices.DeleteFunc(slices.Clone(list), own)); count <= allowed/ringShare || !old(list[victim]) {
			victim = 0
		}
		if old(list[victim]) {
			list = slices.Delete(list, victim, victim+1)
		}
	}
	for len(list) > 0 && (list[0].at <= k.at-once.Lifetime.Milliseconds() || len(list) > allowed && old(list[0])) {
		list = list[1:]
	}
	return list
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
