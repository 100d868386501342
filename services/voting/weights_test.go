package voting

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

func weighted(c *Config) { c.WeightedVotes = true }

// A voter's weight is that of the first credential with one, and staff's changes stay.
func TestWeights(t *testing.T) {
	weigh := func(v Voter, weight int64) Command { return weighCommand{v, weight} }
	for name, test := range map[string]struct {
		commands []Command
		want     string // the count
	}{
		"a vote":                         {[]Command{with(weighted), cast(ann, 1), weigh(ann, 3), cast(bob, 2)}, "4"},
		"twice":                          {[]Command{with(weighted), cast(ann, 1), weigh(ann, 3), cast(ann, 2), weigh(ann, 3)}, "3"},
		"another weight":                 {[]Command{with(weighted), cast(ann, 1), weigh(ann, 3), cast(ann, 1), weigh(ann, 5)}, "3"},
		"after a vote without one":       {[]Command{with(weighted), cast(ann, 1), cast(ann, 2), weigh(ann, 5)}, "5"},
		"no vote":                        {[]Command{with(weighted), cast(bob, 1), weigh(ann, 3)}, "1"},
		"a poll without weights":         {[]Command{with(func(*Config) {}), cast(ann, 1), weigh(ann, 3)}, "1"},
		"a poll without a configuration": {[]Command{cast(ann, 1), weigh(ann, 3)}, "1"},
		"a closed poll":                  {[]Command{with(weighted), cast(ann, 1), with(func(c *Config) { c.WeightedVotes, c.Disabled = true, true }), weigh(ann, 3)}, "1"},
		"a voter excluded by staff":      {[]Command{with(weighted), modifyCommand{"Uann", -1}, cast(ann, 1), weigh(ann, 3)}, "0"},
		"staff's change":                 {[]Command{with(weighted), cast(ann, 1), weigh(ann, 3), modifyCommand{"Uann", 1}, cast(ann, 1), weigh(ann, 3)}, "4"},
		"another identity":               {[]Command{with(func(c *Config) { c.WeightedVotes, c.UserIDVoting = true, true }), cast(ann, 1), weigh(ann, 3), cast(Voter{OpaqueID: "U9", UserID: "1"}, 1)}, "3"},
		"several votes":                  {[]Command{with(func(c *Config) { c.WeightedVotes, c.TotalVotesPerUser, c.VotesPerOption = true, 4, 4 }), times(ann, 1, 2), weigh(ann, 3), times(ann, 1, 1)}, "9"},
	} {
		p := newPoll()
		p.accept(t, test.commands...)
		if got := p.answer(t, ann).Count.String(); got != test.want {
			t.Errorf("%s: %s votes, want %s", name, got, test.want)
		}
	}
}

func TestWeighCommandOverTheWire(t *testing.T) {
	want := weighCommand{ann, 100}
	if got := (pollRules{}).DecodeCommand(wire.NewReader(want.appendTo(nil))); got != Command(want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// Vote and weight are one append, a repetition adds nothing, and the refusal of the vote is the caller's.
func TestWeightedVotes(t *testing.T) {
	ctx, poll, store := t.Context(), Poll{Environment: "production", Extension: "e", Channel: "c", ID: "p"}, storetest.NewMemory()
	s := NewService(store, stream.SystemClock(), stream.Options{})
	t.Cleanup(func() { _ = s.Close(context.WithoutCancel(ctx)) })
	config := DefaultConfig()
	config.WeightedVotes, config.Strict, config.Options = true, true, []string{"a", "b"}
	if err := s.Configure(ctx, poll, config); err != nil {
		t.Fatal(err)
	}
	vote := Submission{Voter: ann, Value: 1, Count: 1, Weight: 7}
	for range 2 {
		key := once.NewScope([][]byte{[]byte("secret")}, time.Now(), "caller").NewKey("once", nil)
		tally, err := s.Cast(ctx, poll, vote, false, key)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(figures{Count: "7", Sum: "7", Specific: map[int]string{1: "7"}, Vote: "1"}, read(t, tally).figures()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	var entries []LogRecord
	for record, err := range s.Log(ctx, poll, Cursor{}) {
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, record)
	}
	if len(entries) != 1 {
		t.Errorf("the log has %d votes, want 1", len(entries))
	}
	vote.Voter, vote.Value = bob, 9
	if _, err := s.Cast(ctx, poll, vote, false); err == nil {
		t.Error("a vote for no option is accepted")
	}
	if tally, err := s.Tally(ctx, poll, bob); err != nil || read(t, tally).Count != "7" {
		t.Errorf("after a refused vote: %v, %v", read(t, tally).Count, err)
	}
}

// Only processes that know weights save the setting, and beside others a vote counts once.
func TestWeightsBesideAnEarlierRelease(t *testing.T) {
	ctx, poll := t.Context(), Poll{Environment: "production", Extension: "e", Channel: "c", ID: "p"}
	earlier := false
	s := NewService(storetest.NewMemory(), stream.SystemClock(), stream.Options{PeersRead: func(l stream.Level) bool { return !earlier || l < stream.LevelWeights }})
	t.Cleanup(func() { _ = s.Close(context.WithoutCancel(ctx)) })
	config := DefaultConfig()
	config.WeightedVotes = true
	changes := []Change{{Config: config}, {Patch: json.RawMessage(`{"weightedVotes":true}`)}}
	if err := s.Configure(ctx, poll, config); err != nil {
		t.Fatal(err)
	}
	earlier = true
	for _, change := range changes {
		if _, _, err := s.Change(ctx, poll, change); !errors.Is(err, errWeights) {
			t.Errorf("%v, want %v", err, errWeights)
		}
	}
	tally, err := s.Cast(ctx, poll, Submission{Voter: ann, Value: 1, Count: 1, Weight: 7}, false)
	if err != nil || read(t, tally).Count != "1" {
		t.Errorf("%v, %v", read(t, tally).Count, err)
	}
}
