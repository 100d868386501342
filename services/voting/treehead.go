package voting

import (
	"cmp"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/acclaim-dev/acclaim/api/verifiable"
)

// TreeHead has the root and the sums of a poll's list of public entries at one moment.
type TreeHead struct {
	Tree    verifiable.TreeID     `json:"tree"`
	Poll    verifiable.PollKey    `json:"poll"`
	Ordinal uint64                `json:"ordinal"` // lists that the log began before this one
	Status  verifiable.TreeStatus `json:"status"`
	// Final reports that the poll is closed and nothing of its list is hidden.
	Final    bool      `json:"final,omitempty"`
	Entries  tlog.Tree `json:"entries"`
	Erasures int64     `json:"erasures,omitempty"`
	At       int64     `json:"at"` // of the newest entry, Unix milliseconds
	// Sums is nil while results are hidden, and after a reset.
	Sums *verifiable.Sums `json:"sums,omitempty"`
	// Ballots is the ballot tree of a final result, nil where it is too large.
	Ballots *tlog.Tree `json:"ballots,omitempty"`
	// Voters is the number of ballots and of voters with modifiers alone.
	Voters int `json:"voters,omitempty"`
	// EndsAt is the end of the poll while it is open, in Unix seconds, 0 for none.
	EndsAt int64 `json:"endsAt,omitempty"`
	// Hidden reports that the newest entries are salted.
	Hidden bool `json:"hidden,omitempty"`
	// Ended is the end of the list before this one.
	Ended *TreeHead `json:"ended,omitempty"`
}

// head returns the tree head of the list of a state.
func (l *publicList) head(s *State) *TreeHead {
	h := &TreeHead{
		Tree: l.tree, Poll: l.poll, Ordinal: l.ordinal, Status: l.status, Entries: l.entries.Root(), Erasures: l.erasures, At: l.at,
		Final: l.status == verifiable.TreeClosed && l.key == nil, Hidden: l.key != nil,
		Voters: len(l.numbers.first) + len(l.numbers.modified),
	}
	if l.status == verifiable.TreeOpen && s.config != nil {
		h.EndsAt = s.config.EndsAt
	}
	if l.isRunning() && l.key == nil {
		sums := s.tally.public()
		h.Sums = &sums
	}
	if h.Final {
		if b := l.ballotTree(s); b != nil {
			h.Ballots = &tlog.Tree{N: int64(len(b.ballots)), Hash: b.root}
		}
	}
	return h
}

// public returns the sums as the log signs them.
func (s *voteSums) public() (sums verifiable.Sums) {
	sums.Count, sums.Sum, sums.Squares = s.count.public(), s.sum.public(), s.squares.public()
	for i := range s.specific {
		sums.Slots[i] = s.specific[i].public()
	}
	return sums
}

func (w wideInt) public() verifiable.Int128 { return verifiable.MakeInt128(w.hi, w.lo) }

// maxBallots bounds the ballots of a tree: making it takes some 2 µs for each, while the poll waits.
const maxBallots = 1 << 17

// ballotTree is the ballot tree of a final result.
type ballotTree struct {
	ballots verifiable.BallotTree
	root    tlog.Hash
}

// ballotTree returns the ballot tree, made once, or nil where it has too many ballots.
func (l *publicList) ballotTree(s *State) *ballotTree {
	if known := l.ballots.Load(); known != nil || len(l.numbers.first) > maxBallots {
		return known
	}
	made := &ballotTree{ballots: s.listBallots()}
	root, _, err := made.ballots.Root()
	if err != nil {
		return nil // sums that no checker accepts
	}
	made.root = root
	l.ballots.Store(made)
	return made
}

// listBallots returns the ballots of all voters by their numbers.
func (s *State) listBallots() verifiable.BallotTree {
	ballots := make(verifiable.BallotTree, 0, len(s.list.numbers.first))
	for i, number := range s.list.numbers.first {
		b := verifiable.Ballot{Voter: int64(number), Weight: uint64(s.voteWeight(s.voters.table.identityAt(i)))}
		for _, o := range s.voters.table.ballotAt(i).options {
			b.Choices = append(b.Choices, verifiable.Choice{Value: o.value, Times: o.times})
		}
		slices.SortFunc(b.Choices, func(a, b verifiable.Choice) int { return cmp.Compare(a.Value, b.Value) })
		ballots = append(ballots, b)
	}
	slices.SortFunc(ballots, func(a, b verifiable.Ballot) int { return cmp.Compare(a.Voter, b.Voter) })
	return ballots
}

// Listed is the place of a vote in the poll's list.
type Listed struct {
	Tree  verifiable.TreeID
	Index int64
	Voter int64 // the index of the voter's first entry
}

// findListed returns the place of the voter's latest vote, nil where it has none.
func (s *State) findListed(v Voter) *Listed {
	if !s.list.isRunning() {
		return nil
	}
	id, ok := v.identityIn(s.currentConfig().UserIDVoting)
	if !ok {
		return nil
	}
	i, ok := s.voters.table.findRecord(id)
	if !ok || i >= len(s.list.numbers.first) {
		return nil
	}
	return &Listed{Tree: s.list.tree, Index: s.list.numbers.lastVote(i), Voter: int64(s.list.numbers.first[i])}
}
