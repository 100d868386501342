package verifiable

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sort"

	"golang.org/x/mod/sumdb/tlog"
)

// Choice is the votes of a ballot for one value.
type Choice struct {
	Value int16
	Times uint16
}

// Ballot is all that counts of one voter.
type Ballot struct {
	Voter   int64
	Weight  uint64
	Choices []Choice // by rising value
}

// Append appends the encoding.
func (b *Ballot) Append(buf []byte) []byte {
	buf = binary.BigEndian.AppendUint64(buf, uint64(b.Voter))
	buf = binary.BigEndian.AppendUint64(buf, b.Weight)
	buf = binary.BigEndian.AppendUint16(buf, uint16(len(b.Choices)))
	for _, c := range b.Choices {
		buf = binary.BigEndian.AppendUint16(buf, uint16(c.Value))
		buf = binary.BigEndian.AppendUint16(buf, c.Times)
	}
	return buf
}

// ParseBallot decodes a ballot.
func ParseBallot(data []byte) (Ballot, error) {
	d := decoder{rest: data}
	b := Ballot{Voter: d.index(), Weight: d.u64()}
	n := int(d.u16())
	if n == 0 || n > maxDistinct || len(d.rest) != 4*n {
		d.fail(errNumber)
		n = 0
	}
	for range n {
		c := Choice{int16(d.u16()), d.u16()}
		if c.Value < minValue || c.Value > maxValue || c.Times == 0 || len(b.Choices) > 0 && c.Value <= b.Choices[len(b.Choices)-1].Value {
			d.fail(errNumber)
		}
		b.Choices = append(b.Choices, c)
	}
	if err := d.end(); err != nil {
		return Ballot{}, fmt.Errorf("ballot: %w", err)
	}
	return b, nil
}

func (b *Ballot) sums() (s Sums) {
	for _, c := range b.Choices {
		s.addVotes(b.Weight, c.Value, c.Times)
	}
	return s
}

// sumNode is a node of a ballot tree.
type sumNode struct {
	hash tlog.Hash
	sums Sums
}

func (b *Ballot) node() sumNode {
	var node [nodeSize]byte // on the stack
	return sumNode{sha256.Sum256(b.Append(append(node[:0], 0x10))), b.sums()}
}

// nodeSize is the size of most encoded nodes, at most.
const nodeSize = 512

// join returns the parent of two nodes whose sums are within their bounds, or an error when its own
// are not.
func join(l, r *sumNode) (sumNode, error) {
	var nodes, sums [nodeSize]byte // on the stack
	buf := append(append(nodes[:0], 0x11), l.hash[:]...)
	buf = appendBlock(buf, l.sums.Append(sums[:0]))
	buf = append(buf, r.hash[:]...)
	buf = appendBlock(buf, r.sums.Append(sums[:0]))
	parent := sumNode{sha256.Sum256(buf), l.sums.plus(&r.sums)}
	return parent, parent.sums.check()
}

// BallotTree is the Merkle sum tree of a poll's ballots.
type BallotTree []Ballot

// split returns the number of leaves in the left half of a tree of n > 1.
func split(n int) int { return 1 << (bits.Len(uint(n-1)) - 1) }

func (t BallotTree) node() (sumNode, error) {
	switch len(t) {
	case 0:
		return sumNode{hash: sha256.Sum256(nil)}, nil
	case 1:
		n := t[0].node()
		return n, n.sums.check()
	}
	k := split(len(t))
	l, errL := t[:k].node()
	r, errR := t[k:].node()
	if err := errors.Join(errL, errR); err != nil {
		return sumNode{}, err
	}
	return join(&l, &r)
}

// Root returns the root of the tree and the sums of all ballots. It fails when sums are out of bounds.
func (t BallotTree) Root() (tlog.Hash, Sums, error) {
	n, err := t.node()
	return ballotRoot(int64(len(t)), &n), n.sums, err
}

func ballotRoot(n int64, top *sumNode) tlog.Hash {
	buf := binary.BigEndian.AppendUint64([]byte{0x12}, uint64(n))
	buf = append(buf, top.hash[:]...)
	return sha256.Sum256(appendBlock(buf, top.sums.Append(nil)))
}

// path appends the siblings of a leaf, from the leaf up.
func (t BallotTree) path(position int, nodes []sumNode) ([]sumNode, error) {
	if len(t) == 1 {
		return nodes, nil
	}
	k := split(len(t))
	near, far := t[:k], t[k:]
	if position >= k {
		near, far, position = far, near, position-k
	}
	nodes, err := near.path(position, nodes)
	if err != nil {
		return nil, err
	}
	n, err := far.node()
	return append(nodes, n), err
}

// Prove returns the proof that a voter has this one ballot: its path, and the paths of the ballots
// beside it, whose voter numbers show that no other has the same one.
func (t BallotTree) Prove(voter int64) ([]byte, error) {
	return proveBallot(voter, len(t), func(i int) Ballot { return t[i] }, func(position int) ([]sumNode, error) { return t.path(position, nil) })
}

// proveBallot returns the proof of a voter's ballot among n.
func proveBallot(voter int64, n int, ballot func(i int) Ballot, path func(position int) ([]sumNode, error)) ([]byte, error) {
	own := sort.Search(n, func(i int) bool { return ballot(i).Voter >= voter })
	if own == n || ballot(own).Voter != voter {
		return nil, fmt.Errorf("voter %d has no ballot", voter)
	}
	var buf []byte
	for _, position := range neighbors(int64(own), int64(n)) {
		nodes, err := path(int(position))
		if err != nil {
			return nil, err
		}
		shown := ballot(int(position))
		buf = binary.BigEndian.AppendUint64(buf, uint64(position))
		buf = binary.BigEndian.AppendUint64(buf, uint64(n))
		buf = appendBlock(buf, shown.Append(nil))
		for _, n := range nodes {
			buf = append(buf, n.hash[:]...)
			buf = appendBlock(buf, n.sums.Append(nil))
		}
	}
	return buf, nil
}

// neighbors returns a position and those before and after it, in the order of a proof.
func neighbors(position, n int64) []int64 {
	list := []int64{position}
	if position > 0 {
		list = append(list, position-1)
	}
	if position+1 < n {
		list = append(list, position+1)
	}
	return list
}

// CheckBallotProof returns the ballot of a voter that a proof shows in a tree of n ballots with the
// given root and sums.
func CheckBallotProof(proof []byte, voter, n int64, root tlog.Hash, sums Sums) (Ballot, error) {
	d := decoder{rest: proof}
	head := decoder{rest: proof}
	position := head.index()
	if head.err != nil || position >= n {
		return Ballot{}, errNumber
	}
	var own Ballot
	for _, p := range neighbors(position, n) {
		if d.index() != p || d.index() != n {
			d.fail(errNumber)
		}
		b, top, err := d.ballotPath(p, n)
		if err != nil {
			return Ballot{}, err
		}
		if ballotRoot(n, &top) != root || top.sums != sums {
			return Ballot{}, errors.New("the path does not lead to the signed root")
		}
		if p == position {
			own = b
		}
		if cmp.Compare(b.Voter, voter) != cmp.Compare(p, position) {
			return Ballot{}, errors.New("the ballots are not in order")
		}
	}
	return own, d.end()
}

// ballotPath reads a ballot and its path in a tree of n, and returns the top of the tree.
func (d *decoder) ballotPath(position, n int64) (Ballot, sumNode, error) {
	encoded := d.block()
	b, err := ParseBallot(encoded)
	if err == nil {
		err = d.err
	}
	if err != nil {
		return b, sumNode{}, err
	}
	top := b.node()
	if err := top.sums.check(); err != nil {
		return b, top, err
	}
	// The turns from the root down are those of the path, which goes up, in reverse order.
	var rights []bool
	for first, left := position, n; left > 1; {
		k := int64(split(int(left)))
		right := first >= k
		rights = append(rights, right)
		if right {
			first, left = first-k, left-k
		} else {
			left = k
		}
	}
	for _, right := range slices.Backward(rights) {
		sibling := sumNode{hash: tlog.Hash(d.bytes(32))}
		if sibling.sums, err = ParseSums(d.block()); err != nil {
			return b, top, err
		}
		if right {
			top, err = join(&sibling, &top)
		} else {
			top, err = join(&top, &sibling)
		}
		if err != nil {
			return b, top, err
		}
	}
	return b, top, nil
}
