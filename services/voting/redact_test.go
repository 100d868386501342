package voting

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzRedaction runs a history of commands and folds its log again with other names
// for one voter.
func FuzzRedaction(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(randomBytes(seed, 400))
	}
	f.Fuzz(func(t *testing.T, history []byte) {
		checkRedactions(t, history[:min(len(history), 400)])
	})
}

func TestRedactedHistoriesAddUpToTheSame(t *testing.T) {
	for seed := range uint64(60) {
		checkRedactions(t, randomBytes(seed, 600))
		if t.Failed() {
			t.Fatalf("the history of seed %d", seed)
		}
	}
}

func checkRedactions(t *testing.T, history []byte) {
	t.Helper()
	p, m, in := newPoll(), newModel(), &script{history}
	for len(in.bytes) > 0 {
		p.at += in.pause()
		runBatch(t, p, m, in)
	}
	for _, ids := range [][]string{{"U1", "1"}, {"U1"}, {"1"}, {"A3"}, {"2", "U2"}, {"nobody"}} {
		names := map[string]string{}
		for _, id := range ids {
			names[id] = "erased-" + id
		}
		checkRedaction(t, p, names)
	}
}

func checkRedaction(t *testing.T, p *poll, names map[string]string) {
	t.Helper()
	rename := func(id string) string {
		if name, ok := names[id]; ok {
			return name
		}
		return id
	}
	renamed := func(v Voter) Voter { return Voter{rename(v.OpaqueID), rename(v.UserID)} }
	fold := p.New()
	for _, l := range p.log {
		e, _, err := decodeEntry(l.payload)
		if err != nil {
			t.Fatal(err)
		}
		e = p.Redact(e, rename, true)
		for _, id := range p.Identities(e) {
			if names[id] != "" {
				t.Errorf("%#v names %s still", e, id)
			}
		}
		e, _, err = decodeEntry(p.AppendEntry(nil, e))
		if err != nil {
			t.Fatal(err)
		}
		p.Apply(fold, l.at, e)
	}
	checkRenamed(t, p, names, fold, renamed, rename)
	again, err := restoreSnapshot(p.AppendSnapshot(nil, p.state))
	if err != nil {
		t.Fatal(err)
	}
	checkRenamed(t, p, names, p.Rename(again, rename), renamed, rename)
}

// checkRenamed compares a state under other names with that of the poll.
func checkRenamed(t *testing.T, p *poll, names map[string]string, fold *State, renamed func(Voter) Voter, rename func(string) string) {
	t.Helper()
	for _, v := range scriptVoters {
		before, after := Tally{Statistics: p.state.Statistics(), Vote: p.state.latestVote(v)}, Tally{Statistics: fold.Statistics(), Vote: fold.latestVote(renamed(v))}
		if diff := cmp.Diff(string(before.AppendJSON(nil)), string(after.AppendJSON(nil))); diff != "" {
			t.Errorf("without %v, as %v sees it (-before +after):\n%s", names, v, diff)
		}
		if before, after := p.state.castVersion(v), fold.castVersion(renamed(v)); before != after {
			t.Errorf("without %v %v voted on version %d, before on %d", names, v, after, before)
		}
		id, known := v.identityIn(p.state.currentConfig().UserIDVoting)
		if known && p.state.voteWeight(id) != fold.voteWeight(rename(id)) {
			t.Errorf("without %v the weight of %s is %d", names, id, fold.voteWeight(rename(id)))
		}
		if names[id] != "" && (fold.voters.get(id).stored || fold.modifiers.get(id) != 0) {
			t.Errorf("%s is known still", id)
		}
	}
	if fold.tally != p.state.tally || fold.decay != p.state.decay || fold.used != p.state.used || fold.resets != p.state.resets {
		t.Errorf("without %v the sums are others", names)
	}
}
