package voting

import (
	"sync/atomic"

	"github.com/acclaim-dev/acclaim/api/verifiable"
)

// publicList is the list of public entries of a poll whose votes can be checked, as far as
// decisions, proofs and the next entries need it. The log has the entries themselves. They follow
// from the stored entries alone ([entryLister]), so that an erasure changes none of them.
type publicList struct {
	entryLister
	tree    verifiable.TreeID
	poll    verifiable.PollKey
	ordinal uint64 // lists that the log began before this one
	status  verifiable.TreeStatus

	// A fork has what is above and the voters of its own commands, and reads the others in its base.
	forked  bool
	base    *publicList // nil where the list begins in the fork
	drafted draftedVoters

	entries  entryTree
	phases   []hiddenPhase
	erasures int64
	// erasedSmall reports that a viewer was erased while the list had too few voters to be public.
	erasedSmall bool
	at          int64 // of the newest entry, Unix milliseconds
	numbers     voterNumbers
	ballots     atomic.Pointer[ballotTree]
}

// hiddenPhase is a span of entries whose leaves are salted: those between the entry that hides and
// the one that reveals.
type hiddenPhase struct {
	From  int64               `json:"from"`  // index of the entry that hides
	Until int64               `json:"until"` // index of the one that reveals; 0: none did
	Key   *verifiable.SaltKey `json:"key"`
}

// maxEntries bounds the entries of a list: voter numbers have 32 bits.
const maxEntries = 1<<32 - 1<<16

// isRunning reports whether the list takes entries.
func (l *publicList) isRunning() bool {
	return l != nil && (l.status == verifiable.TreeOpen || l.status == verifiable.TreeClosed)
}

// isClosed reports whether the poll takes neither votes nor modifiers, until a configuration opens it.
func (l *publicList) isClosed() bool { return l != nil && l.status == verifiable.TreeClosed }

func (l *publicList) fork() *publicList {
	if l == nil {
		return nil
	}
	return &publicList{entryLister: entryLister{next: l.next, config: l.config, key: l.key}, tree: l.tree, poll: l.poll, ordinal: l.ordinal, status: l.status, forked: true, base: l}
}

// place returns that of the next entry, for the first one of a chunk: so every chunk of a list says
// where it is. A fork decides the later ones.
func (l *publicList) place() *listPlace {
	if l.forked {
		return nil
	}
	return &listPlace{ordinal: l.ordinal, index: l.next, config: l.config}
}

// numberOf returns the number of a voter, false of one that has none yet.
func (s *State) numberOf(id string) (number int64, known bool) {
	l, voters := s.list, &s.voters
	if l.forked {
		if number, known = l.drafted.find(id); known || l.base == nil {
			return number, known
		}
		l, voters = l.base, voters.base
	}
	if i, ok := voters.table.findRecord(id); ok && i < len(l.numbers.first) {
		return int64(l.numbers.first[i]), true
	}
	first, known := l.numbers.modified[id]
	return int64(first), known
}

// nextNumberOf returns the number that the voter's next entry shows.
func (s *State) nextNumberOf(id string) int64 {
	if number, known := s.numberOf(id); known {
		return number
	}
	return s.list.next
}

// voterNumbers are the indexes of voters' first entries.
type voterNumbers struct {
	first    []uint32          // of each record
	modified map[string]uint32 // of identifiers with modifiers and without a record
	last     map[int]uint32    // index of the latest vote of records with several
}

func (n *voterNumbers) count() int { return len(n.first) + len(n.modified) }

func (n *voterNumbers) memorySize() int { return 4*cap(n.first) + 96*len(n.modified) + 24*len(n.last) }

// noteVote notes the vote of a record, which is new unless it is known.
func (n *voterNumbers) noteVote(i int, known bool, id string, number, index int64) {
	if !known {
		n.first = append(n.first, uint32(number))
		delete(n.modified, id)
	}
	if number == index {
		return
	}
	if n.last == nil {
		n.last = map[int]uint32{}
	}
	n.last[i] = uint32(index)
}

// lastVote returns the index of the latest vote of a record.
func (n *voterNumbers) lastVote(i int) int64 {
	if last, ok := n.last[i]; ok {
		return int64(last)
	}
	return int64(n.first[i])
}

func (n *voterNumbers) noteModifier(id string, known bool, number int64) {
	if known {
		return
	}
	if n.modified == nil {
		n.modified = map[string]uint32{}
	}
	n.modified[id] = uint32(number)
}

// appendEntry appends what an entry makes public.
func (l *publicList) appendEntry(e Entry, at int64) {
	if l.forked {
		l.list(e, at, func([]byte, *verifiable.SaltKey) {})
		return
	}
	hidden := l.key
	l.list(e, at, l.entries.appendLeaf)
	l.at = at
	l.ballots.Store(nil)
	switch {
	case hidden == l.key:
	case hidden == nil:
		l.phases = append(l.phases, hiddenPhase{From: l.next - 1, Key: l.key})
	case l.status != verifiable.TreeEnded:
		l.phases[len(l.phases)-1].Until = l.next - 1
	}
}

func (l *publicList) memorySize() int {
	if l == nil {
		return 0
	}
	return 512 + treeMemory(l.next) + l.numbers.memorySize() + 96*len(l.phases)
}

// equal reports whether two lists are the same.
func (l *publicList) equal(o *publicList) bool {
	if l == nil || o == nil {
		return l == o
	}
	return l.tree == o.tree && l.poll == o.poll && l.ordinal == o.ordinal && l.status == o.status && l.erasures == o.erasures && l.erasedSmall == o.erasedSmall &&
		l.next == o.next && l.config == o.config && l.entries.root() == o.entries.root()
}
