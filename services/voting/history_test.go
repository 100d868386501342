package voting

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// FuzzHistory reads a history of commands out of bytes, runs it through the
// rules and through the model, and compares after every batch.
func FuzzHistory(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(randomBytes(seed, 400))
	}
	f.Fuzz(func(t *testing.T, history []byte) {
		runHistory(t, history[:min(len(history), 400)]) // the model is slow on purpose
	})
}

// TestHistories is FuzzHistory over histories that are the same every time.
func TestHistories(t *testing.T) {
	for seed := range uint64(250) {
		runHistory(t, randomBytes(seed, 600))
		if t.Failed() {
			t.Fatalf("the history of seed %d", seed)
		}
	}
}

func randomBytes(seed uint64, n int) []byte {
	random := rand.New(rand.NewPCG(seed, seed))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	return b
}

func runHistory(t *testing.T, history []byte) {
	p, m, in := newPoll(), newModel(), &script{history}
	for len(in.bytes) > 0 {
		p.at += in.pause()
		runBatch(t, p, m, in)
		if in.below(4) == 0 {
			p.state, m.deleted = restored(t, p, p.state), 0
		}
		v := in.voter()
		m.check(t, p.answer(t, v), v)
		if got, want := p.state.castVersion(v), m.cast[m.id(v)]; got != want {
			t.Errorf("%v voted on version %d, want %d", v, got, want)
		}
		if t.Failed() {
			return
		}
	}
	checkReplay(t, p)
	checkLog(t, p, m)
}

// runBatch decides up to eight commands as the engine does: each against a fork
// with the entries before it, then all entries applied to the state.
func runBatch(t *testing.T, p *poll, m *model, in *script) {
	before := p.snapshotOfAnswers()
	fork := p.Fork(p.state)
	var entries []Entry
	for range 1 + in.below(8) {
		c := in.command(p.at)
		stores := m.stores(p.at, c)
		want, got := m.do(p.at, c), ""
		d, err := p.Decide(fork, p.at, c)
		if err != nil {
			got = reasonOf(t, err)
		}
		if got != want {
			t.Errorf("%#v gives %q, want %q", c, got, want)
			return
		}
		if wantStored := want == "" && stores; d.Store != wantStored {
			t.Errorf("%#v is stored: %v, want %v", c, d.Store, wantStored)
			return
		}
		if d.Store {
			p.Apply(fork, p.at, d.Entry)
			entries = append(entries, d.Entry)
		}
	}
	p.state.statistics.Store(nil) // so that a write through the fork would show
	if diff := cmp.Diff(before, p.snapshotOfAnswers()); diff != "" {
		t.Errorf("deciding in the fork changed the state (-before +after):\n%s", diff)
	}
	for _, e := range entries {
		p.append(t, e)
	}
	if diff := cmp.Diff(decisive(p.state), decisive(fork)); diff != "" {
		t.Errorf("the fork is not what became of the state (-state +fork):\n%s", diff)
	}
}

// decisive is all of a state that decides commands: not the sums.
func decisive(s *State) []string {
	config := s.currentConfig()
	all := []string{string(config.encodeJSON()), fmt.Sprint(s.exists(), s.resets)}
	for _, v := range scriptVoters {
		for _, byUser := range []bool{false, true} {
			id, _ := v.identityIn(byUser)
			all = append(all, fmt.Sprint(id, s.voters.get(id), s.modifiers.get(id)))
		}
	}
	return all
}

// snapshotOfAnswers is all that can be learnt of the state.
func (p *poll) snapshotOfAnswers() []string { return answers(p.state) }

func answers(s *State) []string {
	config := s.currentConfig()
	all := []string{string(config.encodeJSON())}
	for _, v := range scriptVoters {
		all = append(all, string(Tally{Statistics: s.Statistics(), Vote: s.latestVote(v)}.AppendJSON(nil)))
		id, _ := v.identityIn(s.currentConfig().UserIDVoting)
		all = append(all, string(modifierEntry{id, s.modifiers.get(id)}.appendTo(nil)), fmt.Sprint(s.castVersion(v)))
	}
	return all
}

func restored(t *testing.T, p *poll, s *State) *State {
	t.Helper()
	fresh, err := restoreSnapshot(p.AppendSnapshot(nil, s))
	if err != nil {
		t.Fatalf("restore: %v", err)
	}
	if diff := cmp.Diff(answers(s), answers(fresh)); diff != "" {
		t.Errorf("the snapshot is not the state (-state +snapshot):\n%s", diff)
	}
	if fresh.memorySize() <= 0 || fresh.used != s.used {
		t.Errorf("size %d, used %v, want more than 0, %v", fresh.memorySize(), fresh.used, s.used)
	}
	return fresh
}

// checkReplay folds the log from nothing, bit for bit.
func checkReplay(t *testing.T, p *poll) {
	t.Helper()
	fresh := p.New()
	for _, l := range p.log {
		p.apply(t, fresh, l)
	}
	if diff := cmp.Diff(answers(p.state), answers(fresh)); diff != "" {
		t.Errorf("a replay gives another state (-state +replay):\n%s", diff)
	}
	if fresh.tally != p.state.tally || fresh.decay != p.state.decay || fresh.used != p.state.used {
		t.Errorf("a replay gives other sums:\n%v %v\n%v %v", p.state.tally, p.state.decay, fresh.tally, fresh.decay)
	}
}

// checkLog: section 2.3.
func checkLog(t *testing.T, p *poll, m *model) {
	t.Helper()
	var got []LogRecord
	for _, l := range p.log {
		e, _, _ := decodeEntry(l.payload)
		if e, ok := e.(*voteEntry); ok {
			for range e.times {
				got = append(got, e.logRecord(l.at))
			}
		}
	}
	if diff := cmp.Diff(m.logged, got, cmpopts.IgnoreFields(LogRecord{}, "At"), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

// script makes choices out of bytes; after the last byte all are 0.
type script struct{ bytes []byte }

func (in *script) below(n int) int {
	if len(in.bytes) == 0 {
		return 0
	}
	b := in.bytes[0]
	in.bytes = in.bytes[1:]
	return int(b) % n
}

func pick[T any](in *script, from ...T) T { return from[in.below(len(from))] }

// pause between two batches in milliseconds: up to days, so that the landmark of
// the decay moves.
func (in *script) pause() int64 {
	return pick[int64](in, 0, 1, 7, 1000, halfLife/3, halfLife, 39*halfLife, 40*halfLife, 40*halfLife+1, 5000*halfLife)
}

// scriptVoters share identities in several ways, and one has none.
var scriptVoters = []Voter{
	{"U1", "1"}, {"U2", "2"}, {"1", "U1"}, {"A3", ""}, {"", "2"}, {"U4", "1"}, {"", ""},
}

func (in *script) voter() Voter { return pick(in, scriptVoters...) }

func (in *script) command(at int64) Command {
	switch in.below(16) {
	case 0:
		return resetCommand{}
	case 1, 2:
		return in.configure(at)
	case 3, 4, 5:
		v := in.voter()
		return modifyCommand{
			user: pick(in, v.OpaqueID, v.UserID),
			add:  pick[int64](in, 1, 2, 5, -1, -1, -2, 0, 1<<53, -1<<53, 1<<52, 1<<53+1),
		}
	}
	value := int64(in.below(8)) * 5
	if in.below(4) == 0 {
		value = pick[int64](in, 128, -128, 31, 32, -1, 129, -129, 1<<40)
	}
	return &voteCommand{voter: in.voter(), value: value, times: pick[int64](in, 1, 1, 1, 2, 3, 30, 31, 0)}
}

func (in *script) configure(at int64) configureCommand {
	now := at / 1000
	c := configureCommand{id: "global-p", config: Config{
		DistinctOptionsPerUser: pick[int64](in, 1, 2, 3, 258),
		TotalVotesPerUser:      pick[int64](in, 1, 2, 5, 40, 1024),
		VotesPerOption:         pick[int64](in, 1, 2, 9, 4000),
	}}
	switch in.below(11) {
	case 10:
		c.config.Strict, c.config.Options = true, pick(in, nil, []string{"a", "b"})
		c.keepVotes = in.below(2) == 0
	case 8:
		c.config.LoggedInOnly = true
	case 9:
		c.config.ResultsVisibility, c.config.ShowCount = VisibleAfterClose, true
	case 0:
		c.config.UserIDVoting = true
	case 1:
		c.config.Disabled = true
	case 2:
		c.config.StartsAt = now + int64(in.below(3))
	case 3:
		c.config.EndsAt = now + int64(in.below(3))
	case 4:
		c.config.EndsAt = -1
	case 5:
		c.config.Prompt = pick(in, "a", "b")
	}
	return c
}

// TestHistoriesReachEverything makes sure that the histories above are not all
// refusals.
func TestHistoriesReachEverything(t *testing.T) {
	seen := map[byte]int{}
	for seed := range uint64(20) {
		p, m, in := newPoll(), newModel(), &script{randomBytes(seed, 600)}
		for len(in.bytes) > 0 {
			p.at += in.pause()
			runBatch(t, p, m, in)
		}
		for _, l := range p.log {
			seen[l.payload[0]]++
		}
	}
	for _, kind := range []byte{kindVote, kindConfigured, kindModified, kindReset} {
		if seen[kind] < 20 {
			t.Errorf("%d entries of kind %d in 20 histories", seen[kind], kind)
		}
	}
}
