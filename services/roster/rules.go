package roster

import (
	"maps"

	"github.com/tidwall/btree"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

// rosterEntry records that a viewer was seen or, if gone, no longer shares the id.
type rosterEntry struct {
	gone bool
	id   string
}

// rosterCommand notes a viewer or, as a query, asks for those from a place on.
type rosterCommand struct {
	rosterEntry
	query bool
	from  uint64
}

type rosterDecision = stream.Decision[rosterEntry, Page]

// viewerList is the viewers of a roster by the number of the entry that first named them,
// from 1.
type viewerList struct {
	last     uint64 // of the entries that named a viewer
	numbers  map[string]uint64
	viewers  btree.Map[uint64, string]
	bytes    int
	forkedOf *viewerList // of a fork; numbers are then what has changed, 0: gone
}

// viewerBytes is the memory of a viewer beside the id, in bytes.
const viewerBytes = 96

func (l *viewerList) numberOf(id string) uint64 {
	number, ok := l.numbers[id]
	if !ok && l.forkedOf != nil {
		return l.forkedOf.numberOf(id)
	}
	return number
}

func (l *viewerList) add(number uint64, id string) {
	l.numbers[id] = number
	if l.forkedOf == nil {
		l.viewers.Set(number, id)
		l.bytes += 2*len(id) + viewerBytes
	}
}

func (l *viewerList) remove(id string) {
	if l.forkedOf != nil {
		l.numbers[id] = 0
		return
	}
	if number, ok := l.numbers[id]; ok {
		delete(l.numbers, id)
		l.viewers.Delete(number)
		l.bytes -= 2*len(id) + viewerBytes
	}
}

// rosterRules hands the domain to the stream engine.
type rosterRules struct{}

var _ stream.Rules[*viewerList, rosterCommand, rosterEntry, Page] = rosterRules{}

func (rosterRules) New() *viewerList { return &viewerList{numbers: map[string]uint64{}} }

func (rosterRules) Fork(l *viewerList) *viewerList {
	return &viewerList{last: l.last, numbers: map[string]uint64{}, forkedOf: l}
}

func (rosterRules) Size(l *viewerList) int { return 256 + l.bytes }

func (rosterRules) SnapshotFormat() uint32 { return 1 }

func (rosterRules) Equal(a, b *viewerList) bool {
	return a.last == b.last && maps.Equal(a.numbers, b.numbers)
}

func (rosterRules) Decide(l *viewerList, _ int64, c rosterCommand) (rosterDecision, error) {
	known := l.numberOf(c.id) != 0
	return rosterDecision{Entry: c.rosterEntry, Store: known == c.gone}, nil
}

func (rosterRules) Answer(l *viewerList, c rosterCommand, _ Page) (page Page) {
	if !c.query {
		return page
	}
	l.viewers.Ascend(c.from, func(number uint64, id string) bool {
		if len(page.UserIDs) == contract.UsersPage {
			page.Next = number
			return false
		}
		if isUserID(id) {
			page.UserIDs = append(page.UserIDs, id)
		}
		return true
	})
	return page
}

// RepeatResult implements [stream.Decider].
func (rosterRules) RepeatResult(*viewerList, rosterCommand) Page { return Page{} }

// ReconstructResult needs nothing: the result of a note is only that it is stored.
func (rosterRules) ReconstructResult(rosterCommand) (Page, error) { return Page{}, nil }

func (rosterRules) Apply(l *viewerList, _ int64, e rosterEntry) {
	switch known := l.numberOf(e.id) != 0; {
	case e.gone:
		l.remove(e.id)
	case !known:
		l.last++
		l.add(l.last, e.id)
	}
}

func (rosterRules) Identities(e rosterEntry) []string { return []string{e.id} }

func (rosterRules) Redact(e rosterEntry, rename func(string) string, _ bool) rosterEntry {
	e.id = rename(e.id)
	return e
}

func (rosterRules) Rename(l *viewerList, rename func(string) string) *viewerList {
	renamed := &viewerList{last: l.last, numbers: map[string]uint64{}}
	for id, number := range l.numbers {
		renamed.add(number, rename(id))
	}
	return renamed
}

// What an encoded entry or command is.
const (
	entrySeen = iota + 1
	entryGone
	queryFrom
)

func (rosterRules) AppendEntry(buf []byte, e rosterEntry) []byte {
	if e.gone {
		return wire.AppendBytes(append(buf, entryGone), e.id)
	}
	return wire.AppendBytes(append(buf, entrySeen), e.id)
}

func (rosterRules) DecodeEntry(r *wire.Reader) rosterEntry {
	switch kind := r.Byte(); kind {
	case entrySeen, entryGone:
		return rosterEntry{gone: kind == entryGone, id: r.Text()}
	}
	r.Fail(wire.ErrMalformed)
	return rosterEntry{}
}
