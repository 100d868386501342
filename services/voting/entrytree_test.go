package voting

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/acclaim-dev/acclaim/api/verifiable"
)

// A tree whose leaves wait gives the roots, tiles and encodings of one that hashes each leaf at once,
// hidden ones too.
func TestEntryTree(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var tree entryTree
	var model verifiable.GrowingTree
	keys := []*verifiable.SaltKey{nil, {1}, {2}}
	key := keys[0]
	for size := 0; size < 3*maxLeavesWaiting; {
		for range random.IntN(3 * leavesAtOnce) {
			leaf := fmt.Append(nil, size, random.Uint64())
			if random.IntN(50) == 0 {
				key = keys[random.IntN(len(keys))]
			}
			tree.appendLeaf(leaf, key)
			model.AppendLeaf(hideIn(key, int64(size), leaf))
			size++
		}
		switch random.IntN(5) {
		case 0:
			if got, want := tree.root(), model.Root(); got != want {
				t.Fatalf("the root of %d leaves is %v, want %v", size, got, want)
			}
		case 1:
			n := int64(size / 256)
			want, _ := model.Tile(0, n, size%256)
			if got := tree.tile(0, n, size%256); !slices.Equal(got, want) {
				t.Fatalf("the last tile of %d leaves differs", size)
			}
		case 2:
			if !slices.Equal(tree.appendTo(nil), model.Append(nil)) {
				t.Fatalf("the encoding of %d leaves differs", size)
			}
		case 3:
			if tree.hashMany(); tree.count >= leavesAtOnce {
				t.Fatalf("%d leaves wait behind a reader", tree.count)
			}
		}
		if tree.count >= maxLeavesWaiting {
			t.Fatalf("%d leaves wait", tree.count)
		}
	}
}

// What a reader got stays as it was while the list grows.
func TestTileOfGrowingList(t *testing.T) {
	var tree entryTree
	for i := range 200 {
		tree.appendLeaf([]byte{byte(i)}, nil)
	}
	tile := tree.tile(0, 0, 200)
	before := slices.Clone(tile)
	for i := range 400 {
		tree.appendLeaf([]byte{1, byte(i)}, nil)
	}
	if tree.root(); !slices.Equal(tile, before) {
		t.Error("the tile has other hashes")
	}
}

func TestReadersOfEntryTree(t *testing.T) {
	var tree entryTree
	var model verifiable.GrowingTree
	for round := range 20 {
		for i := range 2 * leavesAtOnce {
			leaf := []byte{byte(round), byte(i)}
			tree.appendLeaf(leaf, nil)
			model.AppendLeaf(leaf)
		}
		want := model.Root()
		var readers sync.WaitGroup
		for range 4 {
			readers.Go(func() {
				tree.hashMany()
				if got := tree.root(); got != want {
					t.Errorf("a reader got the root %v, want %v", got, want)
				}
			})
		}
		readers.Wait()
	}
}

func TestDraftedVoters(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var voters draftedVoters
	model := map[string]int64{}
	for number := range int64(5000) {
		id := fmt.Sprint("U", random.IntN(4000))
		want, known := model[id]
		if got, ok := voters.find(id); got != want || ok != known {
			t.Fatalf("voter %s has the number %d (%t), want %d (%t)", id, got, ok, want, known)
		}
		if !known {
			model[id] = number
		}
		voters.add(id, model[id])
	}
}
