package voting

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

// newTie returns a poll that ended with two votes for each of the options 1 and 2.
func newTie(t *testing.T, change func(*Config)) *poll {
	t.Helper()
	p := newPoll()
	p.accept(t, with(func(c *Config) {
		c.Options, c.EndsAt = []string{"Tea", "Milk", "Rum"}, start/1000+60
		change(c)
	}), cast(ann, 1), cast(bob, 2), cast(anon, 0), cast(bot, 1), modifyCommand{"Ubob", 1})
	p.at += 60_000
	return p
}

func (p *poll) tieBreak() any {
	if chosen := p.state.currentConfig().TieBreak; chosen != nil {
		return *chosen
	}
	return nil
}

func TestTieBreak(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Config)
		patch  string
		want   string
	}{
		"a leader":                      {func(*Config) {}, `{"tieBreak":2}`, ""},
		"an option behind the leaders":  {func(*Config) {}, `{"tieBreak":0}`, errNoTie.Reason},
		"no option":                     {func(*Config) {}, `{"tieBreak":7}`, errNoTie.Reason},
		"a value that is negative":      {func(*Config) {}, `{"tieBreak":-1}`, errNoTie.Reason},
		"a leader alone":                {func(c *Config) { c.Options = c.Options[:2] }, `{"tieBreak":1}`, errNoTie.Reason},
		"a value of a poll without any": {func(c *Config) { c.Options = nil }, `{"tieBreak":1}`, ""},
		"a poll that goes on":           {func(c *Config) { c.EndsAt = 0 }, `{"tieBreak":1}`, errTieOpen.Reason},
		"a poll that is paused":         {func(c *Config) { c.EndsAt = 0 }, `{"disabled":true,"tieBreak":1}`, errTieOpen.Reason},
		"its end and the decision":      {func(c *Config) { c.EndsAt = 0 }, `{"endsAt":-1,"tieBreak":1}`, ""},
		"its beginning again":           {func(*Config) {}, `{"endsAt":0,"tieBreak":1}`, errTieOpen.Reason},
		"results that are hidden":       {func(c *Config) { c.ResultsVisibility = VisibleToStaff }, `{"tieBreak":1}`, errTieOpen.Reason},
		"results that are revealed":     {func(c *Config) { c.ResultsVisibility = VisibleToStaff }, `{"resultsVisibility":"always","tieBreak":1}`, ""},
		"results after the end":         {func(c *Config) { c.ResultsVisibility = VisibleAfterClose }, `{"tieBreak":1}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := newTie(t, test.change)
			if got := p.do(t, patch(test.patch)); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// A decision is never in force beside counts, or a question, that it does not fit.
func TestTieBreakEnds(t *testing.T) {
	for text, want := range map[string]any{
		`{"endsAt":0}`:                           nil,
		`{"prompt":"Which drink?"}`:              nil,
		`{"options":["Tea","Rum","Milk"]}`:       nil,
		`{"resultsVisibility":"staff"}`:          nil,
		`{"tieBreak":null}`:                      nil,
		`{"tieBreak":2}`:                         int64(2),
		`{"userData":1}`:                         int64(1),
		`{"options":["Tea","Milk","Rum","Ale"]}`: int64(1),
		`{"disabled":true}`:                      int64(1),
	} {
		p := newTie(t, func(*Config) {})
		p.accept(t, patch(`{"tieBreak":1}`))
		if got := p.do(t, modifyCommand{"Uann", 1}); got != errPollClosed.Error() {
			t.Errorf("a modifier after the decision: %q", got)
		}
		before := p.state.config.Version
		if p.accept(t, patch(`{"tieBreak":1}`)); p.state.config.Version != before {
			t.Error("the same decision is saved again")
		}
		p.state, _ = restoreSnapshot(p.state.appendSnapshot(nil))
		if p.accept(t, patch(text)); p.tieBreak() != want {
			t.Errorf("%s: %v, want %v", text, p.tieBreak(), want)
		}
	}
	p := newTie(t, func(*Config) {})
	p.accept(t, patch(`{"tieBreak":1}`), with(func(c *Config) { c.EndsAt = start/1000 + 60 }))
	if p.tieBreak() != nil {
		t.Error("a whole configuration without a decision keeps it")
	}
	if p.accept(t, resetCommand{}); p.do(t, with(func(c *Config) { c.EndsAt, c.TieBreak = 1, new(int64) })) != errNoTie.Reason {
		t.Error("a poll without votes has a tie")
	}
}

// A batch is decided on a fork, which has no sums of its own.
func TestTieBreakWithinABatch(t *testing.T) {
	open := func(t *testing.T, votes ...Command) *poll {
		p := newPoll()
		p.accept(t, with(func(c *Config) { c.TotalVotesPerUser, c.VotesPerOption, c.DistinctOptionsPerUser = 9, 9, 9 }))
		p.accept(t, votes...)
		return p
	}
	decide := patch(`{"endsAt":-1,"tieBreak":1}`)
	for name, test := range map[string]struct {
		before, within []Command
		want           error
	}{
		"a tie":                  {[]Command{cast(ann, 1), cast(bob, 2)}, nil, nil},
		"that a vote makes":      {[]Command{cast(ann, 1)}, []Command{cast(bob, 2)}, nil},
		"that a vote ends":       {[]Command{cast(ann, 1), cast(bob, 2)}, []Command{cast(bob, 2)}, errNoTie},
		"that a modifier makes":  {[]Command{times(ann, 1, 2), cast(bob, 2)}, []Command{modifyCommand{"Ubob", 1}}, nil},
		"that a modifier ends":   {[]Command{cast(ann, 1), cast(bob, 2)}, []Command{modifyCommand{"Uann", -1}}, errNoTie},
		"of voters with both":    {[]Command{cast(ann, 1)}, []Command{modifyCommand{"Ubob", 2}, cast(bob, 2), times(ann, 1, 2)}, nil},
		"that is cleared":        {[]Command{cast(ann, 1), cast(bob, 2)}, []Command{resetCommand{}, cast(ann, 1)}, errNoTie},
		"that begins after that": {[]Command{cast(ann, 1)}, []Command{resetCommand{}, cast(ann, 1), cast(bob, 2)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := open(t, test.before...)
			fork, r := p.state.fork(), pollRules{}
			for _, c := range test.within {
				d, err := r.Decide(fork, p.at, c)
				if err != nil {
					t.Fatal(err)
				}
				r.Apply(fork, p.at, d.Entry)
			}
			if _, err := r.Decide(fork, p.at, decide); !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
		})
	}
}

// Clearing the votes takes the decision along, and a decision about no votes is refused.
func TestTieBreakIsCleared(t *testing.T) {
	ctx, poll := t.Context(), Poll{Environment: "production", Extension: "e", Channel: "c", ID: "p"}
	s := NewService(storetest.NewMemory(), stream.SystemClock(), stream.Options{})
	t.Cleanup(func() { _ = s.Close(context.WithoutCancel(ctx)) })
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.Configure(ctx, poll, DefaultConfig()))
	for value, voter := range []Voter{ann, bob} {
		_, err := s.Vote(ctx, poll, voter, int64(value), 1)
		must(err)
	}
	_, _, err := s.Change(ctx, poll, Change{Patch: json.RawMessage(`{"endsAt":-1,"tieBreak":1}`)})
	must(err)
	o, err := s.Overview(ctx, poll)
	must(err)
	if view := o.Config.View("p", contract.Expired); view.TieBreak == nil || *view.TieBreak != 1 {
		t.Errorf("viewers see %v", view.TieBreak)
	}
	if err := s.ClearVotes(ctx, poll, Change{Patch: json.RawMessage(`{"tieBreak":0}`)}); !errors.Is(err, errNoTie) {
		t.Errorf("a decision about no votes: %v", err)
	}
	must(s.ClearVotes(ctx, poll, Change{Patch: json.RawMessage(`{}`)}))
	if config, _, saved, err := s.Config(ctx, poll); err != nil || !saved || config.TieBreak != nil {
		t.Errorf("after the votes are cleared: %v, %v", config.TieBreak, err)
	}
}

// Only processes that know decisions of ties save them.
func TestTieBreakBesideAnEarlierRelease(t *testing.T) {
	ctx, poll := t.Context(), Poll{Environment: "production", Extension: "e", Channel: "c", ID: "p"}
	s := NewService(storetest.NewMemory(), stream.SystemClock(), stream.Options{PeersRead: func(l stream.Level) bool { return l < stream.LevelTieBreaks }})
	t.Cleanup(func() { _ = s.Close(context.WithoutCancel(ctx)) })
	if err := s.Configure(ctx, poll, DefaultConfig()); err != nil {
		t.Fatal(err)
	}
	whole := Change{Config: DefaultConfig()}
	whole.Config.TieBreak = new(int64)
	for _, change := range []Change{whole, {Patch: json.RawMessage(`{"endsAt":-1,"tieBreak":0}`)}} {
		if _, _, err := s.Change(ctx, poll, change); !errors.Is(err, errTieOpen) {
			t.Errorf("%v, want %v", err, errTieOpen)
		}
	}
}
