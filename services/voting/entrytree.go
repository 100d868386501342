package voting

import (
	"encoding/binary"
	"slices"
	"sync"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/acclaim-dev/acclaim/api/verifiable"
)

// entryTree is the Merkle tree over the public entries of a list. The hashes of a leaf take nearly as long
// as all else that a list adds to a vote, and one goroutine applies the entries of a poll. So appendLeaf
// only keeps the entry, and the goroutines that read the state afterwards hash its leaf.
type entryTree struct {
	mu   sync.Mutex // Readers lock it among themselves. While entries are applied, there are none.
	tree verifiable.GrowingTree
	// waiting has the entries that are not in the tree yet, each behind its length, all hidden by one
	// key or by none.
	waiting []byte
	count   int
	key     *verifiable.SaltKey
}

const (
	// leavesAtOnce leaves are worth the attention of a reader that does not need the tree.
	leavesAtOnce = 1 << 7
	// maxLeavesWaiting bounds the leaves that no reader has come for, as while a log is read again.
	maxLeavesWaiting = 1 << 12
)

// appendLeaf appends the leaf of an entry, while no goroutine reads the state.
func (t *entryTree) appendLeaf(data []byte, key *verifiable.SaltKey) {
	if key != t.key {
		t.hashWaiting()
		t.key = key
	}
	t.waiting = append(binary.AppendUvarint(t.waiting, uint64(len(data))), data...)
	if t.count++; t.count >= maxLeavesWaiting {
		t.hashWaiting()
	}
}

// hashMany hashes the leaves that wait, where they are many and no other reader does.
func (t *entryTree) hashMany() {
	if !t.mu.TryLock() {
		return
	}
	defer t.mu.Unlock()
	if t.count >= leavesAtOnce {
		t.hashWaiting()
	}
}

// hashWaiting moves the leaves that wait into the tree. Of readers, the one that holds mu calls it.
func (t *entryTree) hashWaiting() {
	for rest := t.waiting; len(rest) > 0; {
		size, n := binary.Uvarint(rest)
		end := n + int(size)
		t.tree.AppendLeaf(hideIn(t.key, t.tree.Size(), rest[n:end]))
		rest = rest[end:]
	}
	t.waiting, t.count = t.waiting[:0], 0
}

// root returns the size and the root hash.
func (t *entryTree) root() tlog.Tree {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hashWaiting()
	t.waiting = nil // A poll that rests keeps no room. The log's signer asks a busy one once a second.
	return t.tree.Root()
}

// tile returns the hashes of a tile, nil where the tree does not keep them.
func (t *entryTree) tile(level int, n int64, width int) []tlog.Hash {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hashWaiting()
	hashes, _ := t.tree.Tile(level, n, width)
	return slices.Clone(hashes) // the tree writes later leaves over those of a full tile
}

// appendTo appends the encoding that [verifiable.ParseGrowingTree] reads.
func (t *entryTree) appendTo(buf []byte) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hashWaiting()
	return t.tree.Append(buf)
}

// treeMemory returns roughly how many bytes the tree over so many entries keeps, with leaves that wait.
// It reads no tree, which a reader may change at that moment.
func treeMemory(entries int64) int {
	const leafSize = 42
	return 512 + int(entries)/255*tlog.HashSize + int(min(entries, 256))*tlog.HashSize + int(min(entries, leavesAtOnce))*leafSize
}
