package voting

import (
	"encoding/binary"

	"github.com/acclaim-dev/acclaim/api/verifiable"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

// storedList has the smaller parts of a list in a snapshot.
type storedList struct {
	Tree     verifiable.TreeID     `json:"tree"`
	Poll     verifiable.PollKey    `json:"poll"`
	Ordinal  uint64                `json:"ordinal"`
	Status   verifiable.TreeStatus `json:"status"`
	Config   int64                 `json:"config"`
	Key      *verifiable.SaltKey   `json:"key,omitempty"`
	Phases   []hiddenPhase         `json:"phases,omitempty"`
	Erasures int64                 `json:"erasures,omitempty"`
	At       int64                 `json:"at"`
	Small    bool                  `json:"small,omitempty"` // a viewer was erased meanwhile
}

func (l *publicList) appendSnapshot(buf []byte) []byte {
	buf = appendJSON(buf, storedList{l.tree, l.poll, l.ordinal, l.status, l.config, l.key, l.phases, l.erasures, l.at, l.erasedSmall})
	buf = wire.AppendBytes(buf, l.entries.appendTo(nil))
	buf = binary.AppendUvarint(buf, uint64(len(l.numbers.first)))
	for _, number := range l.numbers.first {
		buf = binary.LittleEndian.AppendUint32(buf, number)
	}
	buf = binary.AppendUvarint(buf, uint64(len(l.numbers.modified)))
	for id, number := range l.numbers.modified {
		buf = binary.AppendUvarint(wire.AppendBytes(buf, id), uint64(number))
	}
	buf = binary.AppendUvarint(buf, uint64(len(l.numbers.last)))
	for i, index := range l.numbers.last {
		buf = binary.AppendUvarint(binary.AppendUvarint(buf, uint64(i)), uint64(index))
	}
	return buf
}

// restoreList reads what appendSnapshot wrote for a table with so many records.
func restoreList(r *wire.Reader, records int) *publicList {
	stored := readJSON[storedList](r)
	l := &publicList{tree: stored.Tree, poll: stored.Poll, ordinal: stored.Ordinal, status: stored.Status, phases: stored.Phases, erasures: stored.Erasures, erasedSmall: stored.Small, at: stored.At}
	entries, err := verifiable.ParseGrowingTree(r.Bytes())
	if err != nil {
		r.Fail(err)
	}
	l.entries.tree = entries
	l.entryLister = entryLister{next: entries.Size(), config: stored.Config, key: stored.Key}
	l.numbers.first = make([]uint32, r.Count(4))
	encoded := r.Take(4 * len(l.numbers.first))
	for i := range len(encoded) / 4 {
		l.numbers.first[i] = binary.LittleEndian.Uint32(encoded[4*i:])
	}
	for range r.Count(2) {
		id := r.Text()
		l.numbers.noteModifier(id, false, readIndex(r))
	}
	for range r.Count(2) {
		if l.numbers.last == nil {
			l.numbers.last = map[int]uint32{}
		}
		i := checkBounds(r, int64(r.Uvarint()), 0, int64(records))
		l.numbers.last[int(i)] = uint32(readIndex(r))
	}
	if l.isRunning() && len(l.numbers.first) != records {
		r.Fail(wire.ErrMalformed)
	}
	return l
}
