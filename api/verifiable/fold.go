package verifiable

import (
	"cmp"
	"slices"
)

// Fold recounts a poll from the leaves of its tree, in order. An entry that breaks a rule is a
// finding and counts nothing.
type Fold struct {
	Findings findings
	// Settings is the newest configuration, nil before the first.
	Settings *Config
	Tree     TreeID
	Poll     PollKey

	Closed   bool
	Votes    int64 // entries that are votes, since the last reset
	ByStaff  int64 // those of them that staff or the extension's own server submitted
	NoNonce  int64 // those of them that no voter can recognize
	Erasures int64
	// Reset reports that no vote or weight came since the last reset.
	Reset bool

	next, configIndex int64
	voters            []foldVoter // by rising number, as a voter's number is the index of the first entry
	nonces            map[NonceHash]struct{}
	hidden            bool
	commitment        [32]byte
	salts             []indexedSalt
	lastVote          int64 // index of the last vote that counts
	late              *lateClose
}

// lateClose is a close after the end of the poll.
type lateClose struct {
	end      int64 // Unix milliseconds
	lastVote int64
}

type foldVoter struct {
	number    int64
	choices   []Choice // by rising value
	modifiers Int128
}

type indexedSalt struct {
	index int64
	salt  salt
}

// NewFold returns the fold of no entries.
func NewFold() *Fold {
	return &Fold{nonces: map[NonceHash]struct{}{}}
}

// Size returns the number of leaves so far.
func (f *Fold) Size() int64 { return f.next }

// IsHidden reports whether the entries wait for their reveal.
func (f *Fold) IsHidden() bool { return f.hidden }

// Apply counts the next leaf and returns its entry.
func (f *Fold) Apply(data []byte) (e Entry, ok bool) {
	index := f.next
	f.next++
	l, err := parseLeaf(data)
	if err != nil {
		f.Findings.add(FoundEntry, "entry %d: %v", index, err)
		return e, false
	}
	e = l.entry
	if (e.Kind == EntryBegin) != (index == 0) || (index == 1 && e.Kind != EntryConfig) {
		f.Findings.add(FoundBegin, "entry %d has the kind %d", index, e.Kind)
		return e, false
	}
	if mayHide := e.Kind != EntryReveal && e.Kind != EntryReset; l.hidden != (f.hidden && mayHide) {
		f.Findings.add(FoundHiding, "entry %d", index)
	}
	if l.hidden {
		f.salts = append(f.salts, indexedSalt{index, l.salt})
	}
	if e.Kind.hasVoter() {
		return e, f.applyVoter(index, &e)
	}
	f.applyEvent(index, &e)
	return e, true
}

// applyEvent counts an entry that is about the whole poll.
func (f *Fold) applyEvent(index int64, e *Entry) {
	switch e.Kind {
	case EntryBegin:
		f.Tree, f.Poll = e.Tree, e.Poll
	case EntryConfig:
		f.configure(index, &e.Settings)
	case EntryReset:
		f.voters = nil
		clear(f.nonces)
		f.Votes, f.ByStaff, f.NoNonce, f.Reset = 0, 0, 0, true
		f.hidden, f.salts = false, nil
	case EntryClose, EntryOpen:
		f.closeOrOpen(index, e)
	case EntryErasure:
		f.Erasures++
	case EntryHide:
		if f.hidden {
			f.Findings.add(FoundOrder, "entry %d hides what is hidden", index)
		}
		f.hidden, f.commitment = true, e.Salt
	case EntryReveal:
		f.reveal(index, SaltKey(e.Salt))
	}
}

func (f *Fold) configure(index int64, c *Config) {
	if len(f.voters) > 0 {
		if f.Settings.asksAnother(c) {
			f.Findings.add(FoundQuestionChanged, "entry %d, after %d votes: %q instead of %q", index, f.Votes, c.Prompt, f.Settings.Prompt)
		}
		if f.Settings.UserIDVoting != c.UserIDVoting {
			f.Findings.add(FoundIdentityChanged, "entry %d", index)
		}
		if f.Settings.promise() != c.promise() {
			f.Findings.add(FoundRulesChanged, "entry %d, after %d votes", index, f.Votes)
		}
	}
	f.Settings, f.configIndex = c, index
}

// closeDelay is the delay of a close, in milliseconds, from which on votes may have come too late.
const closeDelay = 5000

func (f *Fold) closeOrOpen(index int64, e *Entry) {
	closes := e.Kind == EntryClose
	if closes == f.Closed {
		f.Findings.add(FoundOrder, "entry %d closes or opens what is so already", index)
	}
	f.Closed = closes
	if f.Settings == nil {
		return
	}
	if end := f.Settings.EndsAt; closes && end > 0 && end <= e.At/1000 && e.At-end*1000 > closeDelay && f.Votes > 0 {
		f.late = &lateClose{end * 1000, f.lastVote}
	}
}

func (f *Fold) reveal(index int64, key SaltKey) {
	if !f.hidden {
		f.Findings.add(FoundOrder, "entry %d reveals what is not hidden", index)
		return
	}
	if key.Commitment() != f.commitment {
		f.Findings.add(FoundWrongSaltKey, "entry %d", index)
	}
	for _, s := range f.salts {
		if key.saltAt(s.index) != s.salt {
			f.Findings.add(FoundWrongSaltKey, "entry %d", s.index)
		}
	}
	f.hidden, f.salts = false, nil
}

// applyVoter counts a vote or a weight.
func (f *Fold) applyVoter(index int64, e *Entry) bool {
	if e.HasNonce {
		if _, twice := f.nonces[e.Nonce]; twice {
			f.Findings.add(FoundNonceTwice, "entry %d", index)
		}
		f.nonces[e.Nonce] = struct{}{}
	}
	v := f.voter(e.Voter)
	if kind, wrong := f.refuse(index, e, v); wrong {
		f.Findings.add(kind, "entry %d", index)
		return false
	}
	if v == nil {
		f.voters = append(f.voters, foldVoter{number: e.Voter})
		v = &f.voters[len(f.voters)-1]
	}
	f.Reset = false
	if e.Kind == EntryModifier {
		v.modifiers = v.modifiers.plus(NewInt128(e.Add))
		return true
	}
	f.Votes++
	f.lastVote = index
	if e.ByStaff {
		f.ByStaff++
	}
	if !e.HasNonce {
		f.NoNonce++
	}
	v.cast(e)
	return true
}

// voter returns the voter with a number, nil for a new one.
func (f *Fold) voter(number int64) *foldVoter {
	if n := len(f.voters); n == 0 || f.voters[n-1].number < number {
		return nil
	}
	i, known := slices.BinarySearchFunc(f.voters, number, func(v foldVoter, number int64) int { return cmp.Compare(v.number, number) })
	if !known {
		return nil
	}
	return &f.voters[i]
}

// countVoters returns the number of voters with a ballot.
func (f *Fold) countVoters() (n int) {
	for i := range f.voters {
		if len(f.voters[i].choices) > 0 {
			n++
		}
	}
	return n
}

// refuse returns the rule that a vote or a weight breaks.
func (f *Fold) refuse(index int64, e *Entry, v *foldVoter) (kind FindingKind, wrong bool) {
	switch {
	case f.Closed && e.Kind == EntryModifier:
		return FoundWeightAfter, true
	case f.Closed:
		return FoundVoteAfterClose, true
	case v == nil && e.Voter != index:
		return FoundUnknownVoter, true
	case f.Settings == nil || e.Config != f.configIndex:
		return FoundWrongConfig, true
	case e.Kind == EntryModifier:
		return "", false
	case f.Settings.Disabled:
		return FoundWhileDisabled, true
	}
	return FoundOverLimit, !f.Settings.allows(e, v)
}

// allows reports whether a voter may cast a vote by the limits of the configuration.
func (c *Config) allows(e *Entry, v *foldVoter) bool {
	if (e.Kind == EntryAdd) != c.isMultiVote() || int64(e.Times) > c.TotalVotesPerUser {
		return false
	}
	if e.Kind == EntrySet {
		return true
	}
	var total, same int64
	distinct := int64(1)
	if v != nil {
		for _, choice := range v.choices {
			total += int64(choice.Times)
			if choice.Value == e.Value {
				same = int64(choice.Times)
			} else {
				distinct++
			}
		}
	}
	times := int64(e.Times)
	return total+times <= c.TotalVotesPerUser && same <= c.VotesPerOption-times && distinct <= c.DistinctOptionsPerUser
}

func (v *foldVoter) cast(e *Entry) {
	if e.Kind == EntrySet {
		v.choices = append(v.choices[:0], Choice{e.Value, e.Times})
		return
	}
	i, found := slices.BinarySearchFunc(v.choices, e.Value, func(c Choice, value int16) int { return cmp.Compare(c.Value, value) })
	if found {
		v.choices[i].Times += e.Times
		return
	}
	v.choices = slices.Insert(v.choices, i, Choice{e.Value, e.Times})
}

// weight returns max(0, 1 + the sum of the modifiers), and whether a ballot can hold it.
func (v *foldVoter) weight() (w uint64, ok bool) {
	n := v.modifiers.plus(NewInt128(1))
	if n.isNegative() {
		return 0, true
	}
	return n.lo, n.hi == 0
}

// Ballots returns the ballots by rising voter number.
func (f *Fold) Ballots() []Ballot {
	ballots := make([]Ballot, 0, len(f.voters))
	for i := range f.voters {
		v := &f.voters[i]
		if len(v.choices) == 0 {
			continue
		}
		w, ok := v.weight()
		if !ok {
			f.Findings.add(FoundOverflow, "the weight of voter %d", v.number)
		}
		ballots = append(ballots, Ballot{v.number, w, v.choices})
	}
	return ballots
}
