package verifiable

import (
	"fmt"
	"slices"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
)

// A growing tree has the roots and tiles of the tree that a library makes of the same leaves, at
// every size, also after it was stored and read again.
func TestGrowingTree(t *testing.T) {
	var tree GrowingTree
	var stored []tlog.Hash
	reader := tlog.HashReaderFunc(func(indexes []int64) (hashes []tlog.Hash, err error) {
		for _, i := range indexes {
			hashes = append(hashes, stored[i])
		}
		return hashes, nil
	})
	for size := int64(1); size <= 70_000; size++ {
		leaf := fmt.Append(nil, size)
		hashes, err := tlog.StoredHashes(size-1, leaf, reader)
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, hashes...)
		tree.AppendLeaf(leaf)
		if size > 1000 && size%251 != 0 && size%256 > 1 && size < 65_500 {
			continue
		}
		want, err := tlog.TreeHash(size, reader)
		if err != nil {
			t.Fatal(err)
		}
		if got := tree.Root(); got.N != size || got.Hash != want {
			t.Fatalf("the root of %d leaves is %v, want %v", size, got, want)
		}
		again, err := ParseGrowingTree(tree.Append(nil))
		if err != nil || again.Root() != tree.Root() {
			t.Fatalf("%d leaves, read again: %v, %v", size, again.Root(), err)
		}
		if size%50 == 0 { // the copy goes on
			tree = again
		}
	}
	for _, size := range []int64{0, 1, 255, 256, 257, 512, 65_536, 69_887, 69_888, 69_889, 70_000, 70_001, -1} {
		got, ok := tree.RootAt(size)
		if known := size%256 == 0 || size > 69_888 && size <= 70_000; ok != known {
			t.Errorf("the root of %d leaves is known: %t", size, ok)
		}
		if ok && size > 0 {
			if want, err := tlog.TreeHash(size, reader); err != nil || got != (tlog.Tree{N: size, Hash: want}) {
				t.Errorf("the root of the first %d leaves is %v, want %v, %v", size, got, want, err)
			}
		}
	}
	for _, tile := range []tlog.Tile{{H: 8, L: 1, N: 0, W: 256}, {H: 8, L: 1, N: 1, W: 17}, {H: 8, L: 2, N: 0, W: 1}, {H: 8, L: 0, N: 273, W: 112}} {
		want, err := tlog.ReadTileData(tile, reader)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := tree.Tile(tile.L, tile.N, tile.W)
		var data []byte
		for _, h := range got {
			data = append(data, h[:]...)
		}
		if !ok || !slices.Equal(data, want) {
			t.Errorf("tile %v is not that of the library", tile)
		}
	}
	for _, tile := range []tlog.Tile{{L: 0, N: 272, W: 256}, {L: 1, N: 1, W: 18}, {L: 3, N: 0, W: 1}, {L: 1, N: -1, W: 1}, {L: -1, N: 0, W: 1}, {L: 0, N: 273, W: 113}} {
		if _, ok := tree.Tile(tile.L, tile.N, tile.W); ok {
			t.Errorf("there is a tile %+v", tile)
		}
	}
	for _, bad := range [][]byte{nil, {1}, append(make([]byte, 8), 1), {0xff, 0, 0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 1, 1, 2}} {
		if _, err := ParseGrowingTree(bad); err == nil {
			t.Errorf("%v is a tree", bad)
		}
	}
	if (&GrowingTree{}).Root() != emptyTree() {
		t.Error("the empty tree has another root")
	}
}

func BenchmarkGrowingTree(b *testing.B) {
	var tree GrowingTree
	leaf := make([]byte, 40)
	for b.Loop() {
		tree.AppendLeaf(leaf)
	}
}
