package voting

import (
	"cmp"
	"slices"
	"sync"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/acclaim-dev/acclaim/api/verifiable"
)

// ballotsPerQuery is the number of ballots by which one query lets the tree of a final result grow: some
// 0.05 s in which the poll takes no entry. So a poll of millions answers while its tree grows.
const ballotsPerQuery = 1 << 15

// ballotTree is the ballot tree of a final result. Queries run at the same time.
type ballotTree struct {
	order []uint32 // the records by their voters' numbers, nil where they are in that order

	mu     sync.Mutex
	index  *verifiable.BallotIndex
	root   *tlog.Tree // nil while the index grows
	failed bool       // sums are out of bounds
}

// ballotRoot returns the root of the ballot tree, nil where there is none, and whether it needs further
// queries that grow it. An entry of the list discards the tree.
func (l *publicList) ballotRoot(s *State, grow bool) (root *tlog.Tree, growing bool) {
	b := l.ballots.Load()
	if b == nil && grow {
		l.ballots.CompareAndSwap(nil, newBallotTree(l.numbers.first))
		b = l.ballots.Load()
	}
	if b == nil {
		return nil, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.root == nil && !b.failed && grow {
		b.grow(s.ballots(b.order))
	}
	return b.root, b.root == nil && !b.failed
}

// newBallotTree returns the tree of the ballots of voters with these numbers, which has no node yet.
// Numbers rise but for those of voters that got a modifier before their first vote.
func newBallotTree(numbers []uint32) *ballotTree {
	b := &ballotTree{index: verifiable.NewBallotIndex(len(numbers))}
	if slices.IsSorted(numbers) {
		return b
	}
	b.order = make([]uint32, len(numbers))
	for i := range b.order {
		b.order[i] = uint32(i)
	}
	slices.SortFunc(b.order, func(i, j uint32) int { return cmp.Compare(numbers[i], numbers[j]) })
	return b
}

// grow makes some further nodes, and the root after the last ones. b.mu is held.
func (b *ballotTree) grow(ballot func(i int) verifiable.Ballot) {
	done, err := b.index.Grow(ballot, ballotsPerQuery)
	if err == nil && done {
		var root tlog.Tree
		if root, err = b.index.Root(ballot); err == nil {
			b.root = &root
		}
	}
	b.failed = err != nil
}

// proveBallot returns the proof of a voter's ballot, nil where there is none.
func (l *publicList) proveBallot(s *State, voter int64) []byte {
	b := l.ballots.Load()
	proof, err := b.index.Prove(s.ballots(b.order), voter)
	if err != nil {
		return nil
	}
	return proof
}

// ballots returns the ballots of all voters in the order of records, nil for the order in which they are.
func (s *State) ballots(order []uint32) func(i int) verifiable.Ballot {
	return func(i int) verifiable.Ballot {
		if order != nil {
			i = int(order[i])
		}
		b := verifiable.Ballot{Voter: int64(s.list.numbers.first[i]), Weight: uint64(s.voteWeight(s.voters.table.identityAt(i)))}
		for _, o := range s.voters.table.ballotAt(i).options {
			b.Choices = append(b.Choices, verifiable.Choice{Value: o.value, Times: o.times})
		}
		slices.SortFunc(b.Choices, func(a, b verifiable.Choice) int { return cmp.Compare(a.Value, b.Value) })
		return b
	}
}
