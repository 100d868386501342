package verifiable_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/acclaim-dev/acclaim/api/verifiable"
)

// naive is a recount by the rules' text alone: it keeps what was accepted and counts it all each time.
type naive struct {
	accepted []naiveEntry // since the last reset
	config   verifiable.Config
	closed   bool
}

type naiveEntry struct {
	index int64
	verifiable.Entry
}

func (n *naive) ballot(voter int64) map[int16]int64 {
	votes := map[int16]int64{}
	for _, e := range n.accepted {
		switch {
		case e.Voter != voter || e.Kind == verifiable.EntryModifier:
		case e.Kind == verifiable.EntrySet:
			votes = map[int16]int64{e.Value: int64(e.Times)}
		default:
			votes[e.Value] += int64(e.Times)
		}
	}
	return votes
}

func (n *naive) weight(voter int64) *big.Int {
	w := big.NewInt(1)
	for _, e := range n.accepted {
		if e.Voter == voter && e.Kind == verifiable.EntryModifier {
			w.Add(w, big.NewInt(e.Add))
		}
	}
	if w.Sign() < 0 {
		w.SetInt64(0)
	}
	return w
}

func (n *naive) voters() []int64 {
	var list []int64
	for _, e := range n.accepted {
		if !slices.Contains(list, e.Voter) {
			list = append(list, e.Voter)
		}
	}
	return list
}

func (n *naive) apply(index int64, e verifiable.Entry) {
	switch e.Kind {
	case verifiable.EntryConfig:
		n.config = e.Settings
	case verifiable.EntryReset:
		n.accepted = nil
	case verifiable.EntryClose, verifiable.EntryOpen:
		n.closed = e.Kind == verifiable.EntryClose
	case verifiable.EntryAdd, verifiable.EntrySet, verifiable.EntryModifier:
		if n.accepts(index, e) {
			n.accepted = append(n.accepted, naiveEntry{index, e})
		}
	}
}

func (n *naive) accepts(index int64, e verifiable.Entry) bool {
	if n.closed || e.Voter != index && !slices.Contains(n.voters(), e.Voter) {
		return false
	}
	if e.Kind == verifiable.EntryModifier {
		return true
	}
	multi := n.config.TotalVotesPerUser > 1
	if n.config.Disabled || multi != (e.Kind == verifiable.EntryAdd) {
		return false
	}
	votes := n.ballot(e.Voter)
	if !multi {
		return e.Times == 1
	}
	votes[e.Value] += int64(e.Times)
	total := int64(0)
	for _, times := range votes {
		total += times
	}
	return total <= n.config.TotalVotesPerUser && votes[e.Value] <= n.config.VotesPerOption && int64(len(votes)) <= n.config.DistinctOptionsPerUser
}

func (n *naive) sums() string {
	count, sum, squares := new(big.Int), new(big.Int), new(big.Int)
	var slots [32]*big.Int
	for i := range slots {
		slots[i] = new(big.Int)
	}
	for _, voter := range n.voters() {
		for value, times := range n.ballot(voter) {
			votes := new(big.Int).Mul(n.weight(voter), big.NewInt(times))
			count.Add(count, votes)
			sum.Add(sum, new(big.Int).Mul(votes, big.NewInt(int64(value))))
			squares.Add(squares, new(big.Int).Mul(votes, big.NewInt(int64(value)*int64(value))))
			if value >= 0 && value < 32 {
				slots[value].Add(slots[value], votes)
			}
		}
	}
	return fmt.Sprint(count, sum, squares, slots)
}

// The fold gives what counting everything by the text of the rules gives.
func TestFoldModel(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		q := newPublisher(t).begin("lunch", lunch())
		model := naive{config: lunch()}
		known := []int64{0}
		for range 60 {
			e := randomEntry(random, q, known)
			index := q.add(e)
			if e.Kind == verifiable.EntryConfig {
				q.config = index
			}
			known = append(known, index)
			model.apply(index, e)
		}
		f := q.fold()
		_, sums, err := verifiable.BallotTree(f.Ballots()).Root()
		must(t, err)
		if got := fmt.Sprint(sums.Count, sums.Sum, sums.Squares, sums.Slots); got != model.sums() {
			t.Fatalf("seed %d: the fold gives\n%s, the model\n%s", seed, got, model.sums())
		}
		if f.Closed != model.closed {
			t.Errorf("seed %d: closed is %v", seed, f.Closed)
		}
	}
}

func randomEntry(random *rand.Rand, q *poll, known []int64) verifiable.Entry {
	voter := int64(len(q.leaves))
	if random.IntN(3) > 0 {
		voter = known[random.IntN(len(known))]
	}
	switch random.IntN(20) {
	case 0:
		c := lunch()
		c.TotalVotesPerUser, c.VotesPerOption, c.DistinctOptionsPerUser = 1+random.Int64N(5), 1+random.Int64N(3), 1+random.Int64N(3)
		c.Disabled = random.IntN(8) == 0
		return verifiable.Entry{Kind: verifiable.EntryConfig, Settings: c}
	case 1:
		return verifiable.Entry{Kind: verifiable.EntryClose, At: q.p.at}
	case 2, 3:
		return verifiable.Entry{Kind: verifiable.EntryOpen, At: q.p.at}
	case 4:
		return verifiable.Entry{Kind: verifiable.EntryReset, At: q.p.at}
	case 5, 6, 7:
		return verifiable.Entry{Kind: verifiable.EntryModifier, Voter: voter, Config: q.config, Add: random.Int64N(9) - 5}
	}
	kind := verifiable.EntrySet
	if random.IntN(2) == 0 {
		kind = verifiable.EntryAdd
	}
	return verifiable.Entry{Kind: kind, Voter: voter, Config: q.config, Value: int16(random.IntN(6) - 2), Times: uint16(1 + random.IntN(2))}
}
