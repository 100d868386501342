package verifiable

import (
	"math/bits"

	"golang.org/x/mod/sumdb/tlog"
)

// indexedBallots is the number of ballots of the lowest nodes that an index keeps. A node takes 592
// bytes, so that an index takes 5 bytes for each ballot, and a path hashes some 256 ballots.
const indexedBallots = 256

// BallotIndex is a [BallotTree] of ballots that its owner keeps: the nodes of each 256 ballots and those
// above. It finds the path of a ballot without hashing the others. The ballots must not change, and
// rise by their voters. An index is not safe for concurrent use while it grows.
type BallotIndex struct {
	n      int
	levels [][]sumNode // of indexedBallots << level ballots each
}

// NewBallotIndex returns the index of n ballots without any node.
func NewBallotIndex(n int) *BallotIndex { return &BallotIndex{n: n} }

// Grow makes the nodes of at most so many further ballots, and reports whether the index has all. It
// fails when sums are out of bounds.
func (x *BallotIndex) Grow(ballot func(i int) Ballot, most int) (done bool, err error) {
	for ; most > 0 && x.blocks() < x.n/indexedBallots; most -= indexedBallots {
		node, err := readBallots(ballot, x.blocks()*indexedBallots, indexedBallots).node()
		if err != nil {
			return false, err
		}
		if err := x.add(0, node); err != nil {
			return false, err
		}
	}
	return x.blocks() == x.n/indexedBallots, nil
}

// blocks returns the number of nodes of the lowest level.
func (x *BallotIndex) blocks() int {
	if len(x.levels) == 0 {
		return 0
	}
	return len(x.levels[0])
}

// add adds a node to a level, and its parent where it is a right one.
func (x *BallotIndex) add(level int, node sumNode) error {
	if level == len(x.levels) {
		x.levels = append(x.levels, nil)
	}
	x.levels[level] = append(x.levels[level], node)
	last := len(x.levels[level]) - 1
	if last%2 == 0 {
		return nil
	}
	parent, err := join(&x.levels[level][last-1], &x.levels[level][last])
	if err != nil {
		return err
	}
	return x.add(level+1, parent)
}

// Root returns the number of ballots and the root of the tree, of an index that has all nodes.
func (x *BallotIndex) Root(ballot func(i int) Ballot) (tlog.Tree, error) {
	top, err := x.node(ballot, 0, x.n)
	return tlog.Tree{N: int64(x.n), Hash: ballotRoot(int64(x.n), &top)}, err
}

// Prove returns the same proof as [BallotTree.Prove].
func (x *BallotIndex) Prove(ballot func(i int) Ballot, voter int64) ([]byte, error) {
	return proveBallot(voter, x.n, ballot, func(position int) ([]sumNode, error) { return x.path(ballot, position, 0, x.n, nil) })
}

// node returns the top of the tree of n ballots from the first one. It is kept where these are a power
// of two: a tree splits there, so that first is a multiple of n.
func (x *BallotIndex) node(ballot func(i int) Ballot, first, n int) (sumNode, error) {
	if n < indexedBallots {
		return readBallots(ballot, first, n).node()
	}
	if n&(n-1) == 0 {
		return x.levels[bits.Len(uint(n/indexedBallots))-1][first/n], nil
	}
	k := split(n)
	l, err := x.node(ballot, first, k)
	if err != nil {
		return l, err
	}
	r, err := x.node(ballot, first+k, n-k)
	if err != nil {
		return r, err
	}
	return join(&l, &r)
}

// path appends the siblings of a ballot in the tree of n ballots from the first one, from the ballot up.
func (x *BallotIndex) path(ballot func(i int) Ballot, position, first, n int, nodes []sumNode) ([]sumNode, error) {
	if n <= indexedBallots {
		return readBallots(ballot, first, n).path(position-first, nodes)
	}
	k := split(n)
	near, far, nearN := first, first+k, k
	if position >= far {
		near, far, nearN = far, near, n-k
	}
	nodes, err := x.path(ballot, position, near, nearN, nodes)
	if err != nil {
		return nil, err
	}
	sibling, err := x.node(ballot, far, n-nearN)
	return append(nodes, sibling), err
}

func readBallots(ballot func(i int) Ballot, first, n int) BallotTree {
	t := make(BallotTree, n)
	for i := range t {
		t[i] = ballot(first + i)
	}
	return t
}
