package voting

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// start is the time at which the histories of the tests begin, in Unix milliseconds.
const start = 1_800_000_000_000

// halfLife is HalfLife in milliseconds.
const halfLife = 60_000

// poll drives the rules as the engine does, one command a batch. Entries go
// through their encoding.
type poll struct {
	pollRules
	state *State
	at    int64
	log   []logged
}

type logged struct {
	at      int64
	payload []byte
}

func newPoll() *poll {
	r := pollRules{}
	return &poll{pollRules: r, state: r.New(), at: start}
}

// do runs a command at the present time and returns the reason of its refusal.
func (p *poll) do(t *testing.T, c Command) string {
	t.Helper()
	d, err := p.Decide(p.state, p.at, c)
	if err != nil {
		return reasonOf(t, err)
	}
	if d.Store {
		p.append(t, d.Entry)
	}
	return ""
}

func (p *poll) append(t *testing.T, e Entry) {
	t.Helper()
	p.log = append(p.log, logged{p.at, p.AppendEntry(nil, e)})
	p.apply(t, p.state, p.log[len(p.log)-1])
}

func (p *poll) apply(t *testing.T, s *State, l logged) {
	t.Helper()
	e, rest, err := decodeEntry(l.payload)
	if err != nil || len(rest) > 0 {
		t.Fatalf("decode %x: %v, %d bytes left", l.payload, err, len(rest))
	}
	p.Apply(s, l.at, e)
}

// accept runs a command that must not be refused.
func (p *poll) accept(t *testing.T, commands ...Command) {
	t.Helper()
	for _, c := range commands {
		if reason := p.do(t, c); reason != "" {
			t.Fatalf("%+v is refused: %s", c, reason)
		}
	}
}

func reasonOf(t *testing.T, err error) string {
	t.Helper()
	refusal, ok := errors.AsType[*fault.Error](err)
	if !ok || refusal.Kind != fault.Invalid && refusal.Kind != fault.Conflict {
		t.Fatalf("refusal is %v, want one of kind Invalid or Conflict", err)
	}
	return refusal.Reason
}

// answer is the response of GET and POST /vote.
type answer struct {
	Stddev   json.Number   `json:"stddev"`
	Mean     json.Number   `json:"mean"`
	Sum      json.Number   `json:"sum"`
	Specific []json.Number `json:"specific"`
	Count    json.Number   `json:"count"`
	Decay    struct {
		LastNudged   int64   `json:"last_nudged"`
		Val          float64 `json:"val"`
		CurrentScale float64 `json:"current_scale"`
		LastAltered  int64   `json:"last_altered"`
	} `json:"decay"`
	Vote *int64 `json:"vote"`
}

func read(t *testing.T, tally Tally) (a answer) {
	t.Helper()
	encoded := tally.AppendJSON(nil)
	if err := json.Unmarshal(encoded, &a); err != nil {
		t.Fatalf("%s: %v", encoded, err)
	}
	return a
}

func (p *poll) answer(t *testing.T, v Voter) answer {
	t.Helper()
	return read(t, Tally{Statistics: p.state.Statistics(), Vote: p.state.latestVote(v)})
}

// figures holds the integers of an answer, which most tests compare.
type figures struct {
	Count, Sum string
	Specific   map[int]string // but for zeros
	Vote       string         // "" when there is none
}

func (a answer) figures() figures {
	f := figures{Count: a.Count.String(), Sum: a.Sum.String()}
	for i, n := range a.Specific {
		if n != "0" {
			if f.Specific == nil {
				f.Specific = map[int]string{}
			}
			f.Specific[i] = n.String()
		}
	}
	if a.Vote != nil {
		vote, _ := json.Marshal(*a.Vote)
		f.Vote = string(vote)
	}
	return f
}

func (p *poll) want(t *testing.T, v Voter, want figures) {
	t.Helper()
	if diff := cmp.Diff(want, p.answer(t, v).figures()); diff != "" {
		t.Errorf("statistics for %v (-want +got):\n%s", v, diff)
	}
}

// The voters of the tests.
var (
	ann  = Voter{OpaqueID: "Uann", UserID: "1"}
	bob  = Voter{OpaqueID: "Ubob", UserID: "2"}
	anon = Voter{OpaqueID: "Aanon"}
	bot  = Voter{UserID: "3"}
)

func cast(v Voter, value int64) *voteCommand { return &voteCommand{voter: v, value: value, times: 1} }

func times(v Voter, value, times int64) *voteCommand {
	return &voteCommand{voter: v, value: value, times: times}
}

// limits returns a command that saves the three limits.
func limits(distinct, total, each int64) configureCommand {
	return configureCommand{id: "p", config: Config{
		DistinctOptionsPerUser: distinct, TotalVotesPerUser: total, VotesPerOption: each,
	}}
}

// with returns a command that saves a configuration of one vote each, changed.
func with(change func(*Config)) configureCommand {
	c := configureCommand{id: "p", config: DefaultConfig()}
	change(&c.config)
	return c
}

// decodeEntry returns the entry at the start of an encoding, and the rest.
func decodeEntry(encoded []byte) (Entry, []byte, error) {
	r := wire.NewReader(encoded)
	e := pollRules{}.DecodeEntry(r)
	return e, r.Rest(), r.Err()
}

// readEntry is decodeEntry for a value to be exported.
func readEntry(encoded []byte) (any, []byte, error) {
	r := wire.NewReader(encoded)
	e := EntryCodec{}.Readable(r)
	return e, r.Rest(), r.Err()
}

func restoreSnapshot(encoded []byte) (*State, error) {
	r := wire.NewReader(encoded)
	s := pollRules{}.RestoreSnapshot(r)
	return s, r.End()
}
