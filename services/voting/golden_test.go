package voting

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"testing"

	"github.com/acclaim-dev/acclaim/api/contract"
)

// TestStoredFormats: what logs and snapshots hold is read by every later version.
func TestStoredFormats(t *testing.T) {
	config := Config{DistinctOptionsPerUser: 1, TotalVotesPerUser: 2, VotesPerOption: 3, Prompt: "<é>", UserData: json.RawMessage(`[1]`), Schedule: contract.Schedule{EndsAt: 9}}
	var entries []byte
	for _, e := range []Entry{
		&voteEntry{voter: Voter{"U1", "1"}, byUser: true, value: -128, times: 30},
		&voteEntry{voter: Voter{OpaqueID: "U2"}, replace: true, value: 5, times: 1},
		configEntry{config}, modifierEntry{"1", -300}, resetEntry{},
	} {
		entries = newPoll().AppendEntry(entries, e)
	}
	var commands []byte
	for _, c := range []Command{
		&voteCommand{voter: Voter{"U1", "1"}, value: 5, times: 2}, configureCommand{id: "a", config: config}, modifyCommand{"1", 2}, resetCommand{}, standingQuery{voter: Voter{"U1", ""}}, configQuery{}, overviewQuery{},
	} {
		commands = newPoll().AppendCommand(commands, c)
	}
	change := changeCommand{"a", Change{Config: config, Patch: json.RawMessage(`{"prompt":null}`), IfMatch: &Precondition{Any: true, Versions: []int64{1}}, KeepVotes: true}}
	p := newPoll()
	p.accept(t, cast(ann, 5), modifyCommand{"1", 2})
	p.state.voters.table.seed, p.state.voters.table.records[0].tag = 1, 2
	if len(p.state.voters.table.records) != 1 {
		t.Fatal("a snapshot of one voter has a fixed encoding but for its index")
	}
	p.state.voters.table.index = []uint32{1, 0, 0, 0}
	answer := Answer{tally: Tally{Statistics: p.state.Statistics(), Vote: new(int64)}, config: &config, resets: 3}
	for name, test := range map[string]struct {
		got  []byte
		want string
	}{
		"entries":  {entries, "3f61788de2a617b3"},
		"commands": {commands, "ddb40e1b66ca973e"},
		"change":   {newPoll().AppendCommand(nil, change), "72f180155bb41e90"},
		"voter":    {newPoll().AppendCommand(nil, voterQuery{Voter{"U1", "1"}}), "2f094d00b35557e5"},
		"public":   {newPoll().AppendCommand(nil, publicQuery{}), "ef6cbd2161eaea79"},
		"answer":   {newPoll().AppendResult(nil, answer, Answer{}), "972280e2775d0893"},
		"snapshot": {newPoll().AppendSnapshot(nil, p.state), "cab1b1702135d70e"},
	} {
		sum := sha256.Sum256(test.got)
		if got := hex.EncodeToString(sum[:8]); got != test.want {
			t.Errorf("the encoding of the %s has the digest %s, want %s: %q", name, got, test.want, bytes.TrimSpace(test.got))
		}
	}
}
