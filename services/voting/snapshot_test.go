package voting

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// furnished returns a poll with something of everything in it.
func furnished(t testing.TB) *poll {
	p := newPoll()
	commands := []Command{limits(9, 9, 9), modifyCommand{"Uann", 2}, modifyCommand{"absent", -1}, cast(ann, 3), times(ann, -7, 2)}
	for i := range int64(40) {
		commands = append(commands, cast(Voter{OpaqueID: fmt.Sprint("U", i)}, i))
	}
	for _, c := range commands {
		d, err := p.Decide(p.state, p.at, c)
		if err != nil {
			t.Fatal(err)
		}
		p.Apply(p.state, p.at, d.Entry)
	}
	return p
}

func TestSnapshotCutOffIsRefused(t *testing.T) {
	p := furnished(t)
	snapshot := p.AppendSnapshot(nil, p.state)
	if _, err := restoreSnapshot(snapshot); err != nil {
		t.Fatal(err)
	}
	for n := range snapshot {
		if _, err := restoreSnapshot(snapshot[:n:n]); err == nil {
			t.Errorf("%d bytes of %d are restored", n, len(snapshot))
		}
	}
	if _, err := restoreSnapshot(append(snapshot, 0)); err == nil {
		t.Error("a snapshot with a byte too many is restored")
	}
}

// TestUnsoundTableIsRefused: one that would lead a search astray or never end.
func TestUnsoundTableIsRefused(t *testing.T) {
	tests := map[string]func(*ballotTable){
		"full index": func(t *ballotTable) {
			for i := range t.index {
				t.index[i] = 1
			}
		},
		"index out of range": func(t *ballotTable) { t.index[slices.Index(t.index, 1)] = uint32(len(t.records) + 1) },
		"voter not in index": func(t *ballotTable) { clear(t.index) },
		"no end to a search": func(t *ballotTable) {
			for i, entry := range t.index {
				if entry == 0 {
					t.records = append(t.records, t.records[0])
					t.index[i] = uint32(len(t.records))
				}
			}
		},
		"odd index":                      func(t *ballotTable) { t.index = append(t.index, 0) },
		"block out of range":             func(t *ballotTable) { t.records[0].id = 1 << blockBits },
		"identity at the end of a block": func(t *ballotTable) { t.records[0].id = uint32(len(t.blocks[0])) },
		"identity of endless length": func(t *ballotTable) {
			t.records[0].id = uint32(len(t.blocks[0]))
			t.blocks[0] = append(t.blocks[0], bytes.Repeat([]byte{0xff}, binary.MaxVarintLen64+1)...)
		},
		"identity cut off": func(t *ballotTable) { t.blocks[0] = t.blocks[0][:len(t.blocks[0])-1] },
	}
	for name, damage := range tests {
		t.Run(name, func(t *testing.T) {
			p := furnished(t)
			damage(&p.state.voters.table)
			if _, err := restoreSnapshot(p.AppendSnapshot(nil, p.state)); err == nil {
				t.Error("it is restored")
			}
		})
	}
}

// TestRestoredStateIsItsOwn: what is restored keeps nothing of the buffer, and
// goes on like the state it was taken of.
func TestRestoredStateIsItsOwn(t *testing.T) {
	p := furnished(t)
	snapshot := p.AppendSnapshot(nil, p.state)
	fresh, err := restoreSnapshot(snapshot)
	if err != nil {
		t.Fatal(err)
	}
	clear(snapshot)
	for i := range int16(100) {
		e := &voteEntry{voter: Voter{OpaqueID: fmt.Sprint("U", i)}, value: i, times: 1, replace: i%2 == 0}
		p.Apply(p.state, p.at, e)
		p.Apply(fresh, p.at, e)
	}
	for i := range 100 {
		v := Voter{OpaqueID: fmt.Sprint("U", i)}
		want := string(Tally{Statistics: p.state.Statistics(), Vote: p.state.latestVote(v)}.AppendJSON(nil))
		if got := string(Tally{Statistics: fresh.Statistics(), Vote: fresh.latestVote(v)}.AppendJSON(nil)); got != want {
			t.Fatalf("%v sees %s, want %s", v, got, want)
		}
	}
}

// FuzzRestoreSnapshot: bytes that restore are a state that can be used.
func FuzzRestoreSnapshot(f *testing.F) {
	p := furnished(f)
	snapshot := p.AppendSnapshot(nil, p.state)
	f.Add(snapshot)
	f.Add(p.AppendSnapshot(nil, p.New()))
	random := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		damaged := append([]byte(nil), snapshot...)
		damaged[random.IntN(len(damaged))] ^= 1 << random.IntN(8)
		f.Add(damaged)
	}
	f.Fuzz(func(t *testing.T, encoded []byte) {
		s, err := restoreSnapshot(encoded)
		if err != nil {
			return
		}
		for _, id := range []string{"Uann", "U1", "new", "newer"} {
			p.Apply(s, p.at, &voteEntry{voter: Voter{OpaqueID: id}, value: 3, times: 1})
			s.latestVote(Voter{OpaqueID: id})
			s.castVersion(Voter{OpaqueID: id})
		}
		p.Apply(s, p.at, modifierEntry{"Uann", 1})
		s.Statistics().AppendJSON(nil, nil)
		if _, err := restoreSnapshot(p.AppendSnapshot(nil, s)); err != nil {
			t.Errorf("what was restored and used does not restore again: %v", err)
		}
	})
}
