package voting

import (
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
	// Ballots is the ballot tree of a final result, nil until a query has asked for it, while Growing, and
	// where no checker would accept its sums.
	Ballots *tlog.Tree `json:"ballots,omitempty"`
	Growing bool       `json:"growing,omitempty"`
	// Voters is the number of ballots and of voters with modifiers alone.
	Voters int `json:"voters,omitempty"`
	// ErasedSmall reports that a viewer was erased while the list had too few voters to be public.
	ErasedSmall bool `json:"erasedSmall,omitempty"`
	// EndsAt is the end of the poll while it is open, in Unix seconds, 0 for none.
	EndsAt int64 `json:"endsAt,omitempty"`
	// Hidden reports that the newest entries are salted.
	Hidden bool `json:"hidden,omitempty"`
	// Ended is the end of the list before this one.
	Ended *TreeHead `json:"ended,omitempty"`
}

// head returns the tree head of the list of a state, and goes on with its ballot tree if grow is set.
func (l *publicList) head(s *State, grow bool) *TreeHead {
	h := &TreeHead{
		Tree: l.tree, Poll: l.poll, Ordinal: l.ordinal, Status: l.status, Entries: l.entries.root(), Erasures: l.erasures, At: l.at,
		Final: l.status == verifiable.TreeClosed && l.key == nil, Hidden: l.key != nil,
		Voters: l.numbers.count(), ErasedSmall: l.erasedSmall,
	}
	if l.status == verifiable.TreeOpen && s.config != nil {
		h.EndsAt = s.config.EndsAt
	}
	if l.isRunning() && l.key == nil {
		sums := s.tally.public()
		h.Sums = &sums
	}
	if h.Final {
		h.Ballots, h.Growing = l.ballotRoot(s, grow)
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

// Listed is the place of a vote in the poll's list.
type Listed struct {
	Tree  verifiable.TreeID
	Index int64 // 0: the poll gives no receipts, and tells no voter the place
	Voter int64 // the index of the voter's first entry
}

// told returns the place as voters see it.
func (l *Listed) told() *Listed {
	if l == nil || l.Index == 0 {
		return nil
	}
	return l
}

// findListed returns the place of the voter's latest vote, nil where it has none.
func (s *State) findListed(v Voter) *Listed {
	if !s.list.isRunning() || s.currentConfig().NoReceipts {
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
