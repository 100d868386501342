package voting

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

func compareBallots(want, got ballot) string {
	return cmp.Diff(want, got, cmp.AllowUnexported(ballot{}, optionVotes{}))
}

// TestTableAgainstMap grows a table with identities of every length over several
// blocks and replaces ballots at random.
func TestTableAgainstMap(t *testing.T) {
	var table ballotTable
	want := map[string]ballot{}
	random := rand.New(rand.NewPCG(5, 6))
	identity := func(i int) string {
		return fmt.Sprint(i, strings.Repeat("x", i*7%contract.MaxVoter))[:1+i*7%contract.MaxVoter]
	}
	for n := range 30_000 {
		id := identity(random.IntN(n/3 + 1))
		b := ballot{last: int16(n % 100), stored: true}
		for i := range 1 + random.IntN(3)*random.IntN(2) {
			b.options = append(b.options, optionVotes{int16(i), uint16(1 + random.IntN(1024))})
		}
		table.set(id, b)
		want[id] = b
	}
	if len(table.blocks) < 2 {
		t.Errorf("%d blocks are too few for the test", len(table.blocks))
	}
	options := 0
	for id, b := range want {
		if diff := compareBallots(b, table.get(id)); diff != "" {
			t.Fatalf("ballot of %q (-want +got):\n%s", id, diff)
		}
		if len(b.options) > 1 {
			options += len(b.options)
		}
	}
	if len(table.records) != len(want) || table.options != options {
		t.Errorf("%d records and %d options, want %d and %d", len(table.records), table.options, len(want), options)
	}
	for _, id := range []string{"", "absent", identity(3) + "x"} {
		if got := table.get(id); got.stored {
			t.Errorf("%q, who has not voted, has %v", id, got)
		}
	}
}

// TestTablesDifferInTheirHash: a client cannot prepare identities that collide in
// every poll.
func TestTablesDifferInTheirHash(t *testing.T) {
	var a, b ballotTable
	a.set("x", ballot{})
	b.set("x", ballot{})
	if a.hashIdentity("x") == b.hashIdentity("x") {
		t.Error("two tables hash alike")
	}
}

// TestVotersWhoseHashesLookAlike: the same place in the index and the same tag
// do not make two identities one.
func TestVotersWhoseHashesLookAlike(t *testing.T) {
	table := ballotTable{seed: 1, index: make(slotIndex, 16)}
	alike := map[uint64]string{}
	for i := range 100_000 {
		id := fmt.Sprint("U", i)
		hash := table.hashIdentity(id)
		look := uint64(hashTag(hash))<<4 | hash&15
		first, found := alike[look]
		alike[look] = id
		if !found {
			continue
		}
		want := ballot{last: 1, stored: true, options: []optionVotes{{1, 1}}}
		table.set(first, want)
		if got := table.get(id); got.stored {
			t.Fatalf("%q, who has not voted, has the ballot of %q", id, first)
		}
		table.set(id, ballot{last: 2, stored: true, options: []optionVotes{{2, 1}}})
		if diff := compareBallots(want, table.get(first)); diff != "" {
			t.Errorf("ballot of %q after a vote of %q (-want +got):\n%s", first, id, diff)
		}
		return
	}
	t.Fatal("no two identities look alike")
}

func TestForkOfVotersIsItsOwn(t *testing.T) {
	one, two := ballot{last: 1, stored: true, options: []optionVotes{{1, 1}}}, ballot{last: 2, stored: true, options: []optionVotes{{2, 1}}}
	var base voterBallots
	base.set("old", one)
	base.set("changed", one)
	fork := base.fork()
	fork.set("changed", two)
	fork.set("new", two)
	again := fork.fork()
	again.clear()
	again.set("new", one)
	for _, test := range []struct {
		of   string
		in   *voterBallots
		want map[string]ballot
	}{
		{"base", &base, map[string]ballot{"old": one, "changed": one, "new": {}}},
		{"fork", &fork, map[string]ballot{"old": one, "changed": two, "new": two}},
		{"cleared", &again, map[string]ballot{"old": {}, "changed": {}, "new": one}},
	} {
		for id, want := range test.want {
			if diff := compareBallots(want, test.in.get(id)); diff != "" {
				t.Errorf("%s in %s (-want +got):\n%s", id, test.of, diff)
			}
		}
	}
}

const million = 1_000_000

func identity(i int) string { return fmt.Sprint("U", 10_000_000+i*791) }

// crowd returns a single-vote poll with a number of voters.
func crowd(n int) *poll {
	p := newPoll()
	for i := range n {
		e := &voteEntry{voter: Voter{OpaqueID: identity(i)}, value: int16(i % 32), times: 1, replace: true}
		p.Apply(p.state, p.at+int64(i/500), e)
	}
	return p
}

// TestMemoryOfAVoter: a million voters fit into 96 bytes each, as they were
// added and as they were restored, and size says so.
func TestMemoryOfAVoter(t *testing.T) {
	const limit = 96 * million
	before := heap()
	p := crowd(million)
	added := heap() - before
	snapshot := p.AppendSnapshot(nil, p.state)
	size := p.state.memorySize()
	runtime.KeepAlive(p.state)

	p.state = nil
	before = heap() - int64(cap(snapshot))
	s, err := restoreSnapshot(snapshot)
	if err != nil {
		t.Fatal(err)
	}
	restored := heap() - before
	runtime.KeepAlive(s)

	t.Logf("bytes of a voter: %.1f added, %.1f restored", float64(added)/million, float64(restored)/million)
	if added > limit || restored > limit {
		t.Errorf("a million voters take %d bytes, %d once restored, want at most %d", added, restored, limit)
	}
	for what, bytes := range map[string]int64{"added": added, "restored": restored} {
		if off := float64(size) / float64(bytes); off < 0.8 || off > 1.25 {
			t.Errorf("size is %d, the heap %s has %d", size, what, bytes)
		}
	}
}

// TestSizeCountsEverything: what else may grow without bound is in size.
func TestSizeCountsEverything(t *testing.T) {
	const n = 20_000
	tests := map[string]func(p *poll, i int){
		"modifiers": func(p *poll, i int) { p.Apply(p.state, p.at, modifierEntry{identity(i), 1}) },
		"options": func(p *poll, i int) {
			v := Voter{OpaqueID: identity(i / 20)}
			p.Apply(p.state, p.at, &voteEntry{voter: v, value: int16(i % 20), times: 1})
		},
	}
	for name, add := range tests {
		t.Run(name, func(t *testing.T) {
			before, p := heap(), newPoll()
			for i := range n {
				add(p, i)
			}
			grown := heap() - before
			if size := p.state.memorySize(); float64(size) < float64(grown)/2 || float64(size) > float64(grown)*2 {
				t.Errorf("size is %d, the heap has %d", size, grown)
			}
			runtime.KeepAlive(p.state)
		})
	}
}

// heap returns the bytes in use.
func heap() int64 {
	runtime.GC()
	runtime.GC() // what a finalizer held
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// TestIndexGrowsInSteps: while records move to a larger index every voter is found, none is there
// twice, and a snapshot holds all of them.
func TestIndexGrowsInSteps(t *testing.T) {
	var table ballotTable
	full := 3 * smallIndex / 4
	single := func(i int) ballot {
		return ballot{last: int16(i % 100), stored: true, options: []optionVotes{{int16(i % 100), 1}}}
	}
	moving := 0
	for i := range 2*full + 500 {
		table.set(identity(i), single(i))
		if table.before == nil {
			continue
		}
		moving++
		for _, voter := range []int{0, i / 2, i} {
			table.set(identity(voter), single(voter))
		}
		if len(table.records) != i+1 {
			t.Fatalf("%d voters have %d records", i+1, len(table.records))
		}
	}
	if moving < full/recordsMoved || moving > 2*full {
		t.Errorf("records moved while %d voters came", moving)
	}
	checkRestored(t, &table, single)

	table = ballotTable{}
	for i := range full + 3 {
		table.set(identity(i), single(i))
	}
	if table.before == nil {
		t.Fatal("no record is left to move")
	}
	checkRestored(t, &table, single)
}

// checkRestored compares a table with its snapshot, which takes further voters.
func checkRestored(t *testing.T, table *ballotTable, of func(i int) ballot) {
	t.Helper()
	restored := restoreTable(wire.NewReader(table.appendSnapshot(nil)))
	if !restored.isSound() || !restored.equalBallots(table) {
		t.Fatal("the table that is restored is another one")
	}
	for i := range len(table.records) + 100 {
		restored.set(identity(i), of(i))
		if diff := compareBallots(of(i), restored.get(identity(i))); diff != "" {
			t.Fatalf("voter %d (-want +got):\n%s", i, diff)
		}
	}
	if len(restored.records) != len(table.records)+100 {
		t.Errorf("%d records, want %d", len(restored.records), len(table.records)+100)
	}
}
