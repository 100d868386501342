package verifiable_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/acclaim-dev/acclaim/api/verifiable"
)

// An index has the root and the proofs of the tree, at sizes around those of its nodes.
func TestBallotIndex(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2, 3, 255, 256, 257, 511, 512, 513, 767, 768, 769, 1023, 1024, 1025, 1281, 2047, 2304, 5000} {
		tree := make(verifiable.BallotTree, n)
		for i := range tree {
			tree[i] = verifiable.Ballot{Voter: int64(3*i + r.IntN(3)), Weight: r.Uint64N(4), Choices: []verifiable.Choice{{Value: int16(r.IntN(200) - 100), Times: uint16(1 + r.IntN(9))}}}
		}
		ballot := func(i int) verifiable.Ballot { return tree[i] }
		index, rounds := verifiable.NewBallotIndex(n), 0
		for done := false; !done; rounds++ {
			var err error
			if done, err = index.Grow(ballot, 512); err != nil || rounds > 10 {
				t.Fatalf("%d ballots: %v after %d rounds", n, err, rounds)
			}
		}
		if want := max(1, (n/256+1)/2); rounds != want {
			t.Errorf("%d ballots took %d rounds, want %d", n, rounds, want)
		}
		hash, sums, err := tree.Root()
		if err != nil {
			t.Fatal(err)
		}
		if root, err := index.Root(ballot); err != nil || root != (tlog.Tree{N: int64(n), Hash: hash}) {
			t.Errorf("the root of %d ballots is %v, %v, want %v", n, root, err, hash)
		}
		for range min(n, 25) {
			voter := tree[r.IntN(n)].Voter
			proof, err := index.Prove(ballot, voter)
			want, _ := tree.Prove(voter)
			if err != nil || !bytes.Equal(proof, want) {
				t.Fatalf("%d ballots: another proof of voter %d, %v", n, voter, err)
			}
			if _, err := verifiable.CheckBallotProof(proof, voter, int64(n), hash, sums); err != nil {
				t.Errorf("%d ballots: the proof of voter %d: %v", n, voter, err)
			}
		}
		if _, err := index.Prove(ballot, -1); err == nil {
			t.Errorf("%d ballots: a voter without a ballot has a proof", n)
		}
	}
}

// Sums that no checker accepts end the growth.
func TestBallotIndexChecksSums(t *testing.T) {
	ballot := func(i int) verifiable.Ballot {
		return verifiable.Ballot{Voter: int64(i), Weight: 1, Choices: []verifiable.Choice{{Value: int16(i), Times: 1}}}
	}
	index := verifiable.NewBallotIndex(512)
	if done, err := index.Grow(ballot, 256); err == nil || done {
		t.Errorf("done %v, %v", done, err)
	}
}

func BenchmarkBallotIndex(b *testing.B) {
	const n = 1 << 20
	ballot := func(i int) verifiable.Ballot {
		return verifiable.Ballot{Voter: int64(i), Weight: 1, Choices: []verifiable.Choice{{Value: int16(i % 4), Times: 1}}}
	}
	b.Run("grow", func(b *testing.B) {
		for b.Loop() {
			if done, err := verifiable.NewBallotIndex(n).Grow(ballot, n); !done || err != nil {
				b.Fatal(done, err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/ballot")
	})
	b.Run("prove", func(b *testing.B) {
		index := verifiable.NewBallotIndex(n)
		if _, err := index.Grow(ballot, n); err != nil {
			b.Fatal(err)
		}
		for i := 0; b.Loop(); i++ {
			if _, err := index.Prove(ballot, int64(i*7919%n)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
