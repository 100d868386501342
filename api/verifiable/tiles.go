package verifiable

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// A tile of tlog-tiles has 256 hashes.
const (
	tileHeight = 8
	tileWidth  = 1 << tileHeight
)

// logFolder is the folder of the log's files below the site.
const logFolder = "log/"

// treeFolder returns the folder of the files of a poll's tree.
func treeFolder(tree TreeID) string { return logFolder + "t/" + tree.String() + "/" }

// BallotPath returns the path of the proof of a voter's ballot.
func BallotPath(tree TreeID, size, voter int64) string {
	return fmt.Sprintf("%sballots/%d/%d", treeFolder(tree), size, voter)
}

// TilePath returns the path of a tile below the folder of its tree. Level -1 is a bundle of entries.
func TilePath(t tlog.Tile) string {
	path := strings.TrimPrefix(t.Path(), "tile/8/")
	if t.L < 0 {
		path = "entries" + strings.TrimPrefix(path, "data")
	}
	return "tile/" + path
}

// AppendBundle appends the data of a leaf to a bundle of entries.
func AppendBundle(bundle, leaf []byte) []byte { return appendBlock(bundle, leaf) }

// ParseBundle returns the data of the leaves in a bundle.
func ParseBundle(bundle []byte) ([][]byte, error) {
	d := decoder{rest: bundle}
	var leaves [][]byte
	for len(d.rest) > 0 && d.err == nil {
		if leaves = append(leaves, d.block()); len(leaves) > tileWidth {
			return nil, errors.New("a bundle has at most 256 entries")
		}
	}
	return leaves, d.end()
}

// Frontier has the hashes of a growing tree that its later roots depend on: at most 64.
type Frontier struct {
	Size   int64       `json:"size"`
	Hashes []tlog.Hash `json:"hashes"` // of perfect subtrees, the largest first
}

// Append adds a leaf.
func (f *Frontier) Append(leaf []byte) {
	h := leafHash(leaf)
	for n := f.Size; n&1 == 1; n >>= 1 {
		last := len(f.Hashes) - 1
		h = tlog.NodeHash(f.Hashes[last], h)
		f.Hashes = f.Hashes[:last]
	}
	f.Hashes = append(f.Hashes, h)
	f.Size++
}

// Tree returns the size and the root.
func (f *Frontier) Tree() tlog.Tree {
	last := len(f.Hashes) - 1
	if last < 0 {
		return emptyTree()
	}
	root := f.Hashes[last]
	for i := last - 1; i >= 0; i-- {
		root = tlog.NodeHash(f.Hashes[i], root)
	}
	return tlog.Tree{N: f.Size, Hash: root}
}

// emptyTree is the tree without leaves.
func emptyTree() tlog.Tree { return tlog.Tree{Hash: sha256.Sum256(nil)} }
