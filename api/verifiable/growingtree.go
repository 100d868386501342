package verifiable

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

// GrowingTree is the Merkle tree of RFC 6962 over leaves that are appended one by one. It keeps what
// the next leaves need, and the hashes of all full tiles: 32 bytes for each 256 leaves. The zero
// value is the empty tree. A copy shares its memory with the original: only one of the two may grow.
type GrowingTree struct {
	size int64
	// levels[0] has the hashes of the leaves after the last full tile. levels[k] has those of all
	// full subtrees of 256^k leaves.
	levels [][]tlog.Hash
}

// Size returns the number of leaves.
func (t *GrowingTree) Size() int64 { return t.size }

// AppendLeaf appends a leaf with its data.
func (t *GrowingTree) AppendLeaf(data []byte) { t.appendHash(leafHash(data)) }

// leafHash is [tlog.RecordHash], in half the time for data as short as votes.
func leafHash(data []byte) tlog.Hash {
	var buf [64]byte
	if len(data) >= len(buf) {
		return tlog.RecordHash(data)
	}
	return sha256.Sum256(buf[:1+copy(buf[1:], data)])
}

func (t *GrowingTree) appendHash(h tlog.Hash) {
	t.size++
	for k := 0; ; k++ {
		if k == len(t.levels) {
			t.levels = append(t.levels, nil)
		}
		t.levels[k] = append(t.levels[k], h)
		n := len(t.levels[k])
		if n%tileWidth != 0 {
			return
		}
		h = rootOf(t.levels[k][n-tileWidth:])
		if k == 0 {
			t.levels[0] = t.levels[0][:0]
		}
	}
}

// rootOf returns the root of the tree over hashes, at least one, of subtrees of equal size. The last
// one may be smaller.
func rootOf(hashes []tlog.Hash) tlog.Hash {
	if len(hashes) == 1 {
		return hashes[0]
	}
	k := split(len(hashes))
	return tlog.NodeHash(rootOf(hashes[:k]), rootOf(hashes[k:]))
}

// Root returns the size and the root hash.
func (t *GrowingTree) Root() tlog.Tree {
	if t.size == 0 {
		return emptyTree()
	}
	var edge []tlog.Hash // the root of all that is right of the full subtrees of a level
	for _, level := range t.levels {
		last := level[len(level)/tileWidth*tileWidth:]
		if joined := append(append([]tlog.Hash{}, last...), edge...); len(joined) > 0 {
			edge = []tlog.Hash{rootOf(joined)}
		}
	}
	return tlog.Tree{N: t.size, Hash: edge[0]}
}

// RootAt returns the tree as it was at an earlier size, or false where the tree has not got its hashes:
// it has those since the last full tile, and at the end of each tile.
func (t *GrowingTree) RootAt(size int64) (tlog.Tree, bool) {
	if size < 0 || size > t.size || size%tileWidth != 0 && size/tileWidth != t.size/tileWidth {
		return tlog.Tree{}, false
	}
	old := GrowingTree{size: size}
	for k, level := range t.levels {
		old.levels = append(old.levels, level[:countAt(size, k)])
	}
	return old.Root(), true
}

// Tile returns the hashes of a tile, or false where the tree has not got them: those of the lowest
// level are kept only after the last full tile.
func (t *GrowingTree) Tile(level int, n int64, width int) ([]tlog.Hash, bool) {
	if level < 0 || level >= len(t.levels) || n < 0 || width < 1 || width > tileWidth || n > t.size/tileWidth {
		return nil, false
	}
	from, hashes := n*tileWidth, t.levels[level]
	if level == 0 {
		if n != t.size/tileWidth {
			return nil, false
		}
		from = 0
	}
	if from+int64(width) > int64(len(hashes)) {
		return nil, false
	}
	return hashes[from : from+int64(width)], true
}

// countAt returns the number of hashes that a tree of a size keeps at a level.
func countAt(size int64, level int) int64 {
	if level == 0 {
		return size % tileWidth
	}
	return size >> (tileHeight * level)
}

// Append appends the encoding that [ParseGrowingTree] reads.
func (t *GrowingTree) Append(buf []byte) []byte {
	buf = binary.BigEndian.AppendUint64(buf, uint64(t.size))
	for _, level := range t.levels {
		for _, h := range level {
			buf = append(buf, h[:]...)
		}
	}
	return buf
}

// ParseGrowingTree decodes a tree.
func ParseGrowingTree(data []byte) (t GrowingTree, err error) {
	d := decoder{rest: data}
	t.size = d.index()
	for k := 0; d.err == nil && (k == 0 || countAt(t.size, k) > 0); k++ {
		n := countAt(t.size, k)
		if n > int64(len(d.rest)/tlog.HashSize) {
			return GrowingTree{}, errors.New("growing tree: hashes are missing")
		}
		level := make([]tlog.Hash, n)
		for i := range level {
			level[i] = tlog.Hash(d.bytes(tlog.HashSize))
		}
		t.levels = append(t.levels, level)
	}
	if err := d.end(); err != nil {
		return GrowingTree{}, fmt.Errorf("growing tree: %w", err)
	}
	return t, nil
}

// MemorySize returns roughly how many bytes the tree keeps.
func (t *GrowingTree) MemorySize() int {
	n := 64
	for _, level := range t.levels {
		n += 24 + cap(level)*tlog.HashSize
	}
	return n
}
