package voting

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

// A configuration after a deletion has a later version than the deleted one, in the same millisecond, too.
func TestVersionsAfterADeletion(t *testing.T) {
	prompt := func(text string) Command { return with(func(c *Config) { c.Prompt = text }) }
	p := newPoll()
	p.accept(t, prompt("a"), prompt("b"), prompt("c"))
	deleted := p.state.config.Version
	p.accept(t, resetCommand{}, resetCommand{}, cast(ann, 1), resetCommand{}, prompt("a"))
	if got := p.state.config.Version; got != deleted+1 {
		t.Errorf("version %d follows %d", got, deleted)
	}
	if p.at += 1000; p.do(t, resetCommand{})+p.do(t, prompt("b")) != "" || p.state.config.Version != p.at {
		t.Errorf("version %d at %d", p.state.config.Version, p.at)
	}
}

// The votes are cleared for a change where nothing refuses it, whatever came before in the same batch.
func TestClearing(t *testing.T) {
	clearing := func(change string, m *Precondition) []Command {
		c := Change{Patch: json.RawMessage(change), IfMatch: m, Cleared: true}
		return []Command{clearCommand{"p", c}, changeCommand{"p", c}}
	}
	prompt := []Command{patch(`{"prompt":"late"}`)}
	reset := []Command{resetCommand{}}
	for name, test := range map[string]struct {
		before []Command // in the same batch
		change string
		match  *Precondition
		want   error
		left   string // the prompt, "-" where there is no configuration
		votes  bool
	}{
		"alone":                    {change: `{"showCount":true}`, left: "Lunch?"},
		"after another change":     {before: prompt, change: `{"showCount":true}`, left: "late"},
		"on the version":           {change: `{}`, match: &Precondition{Versions: []int64{start}}, left: "Lunch?"},
		"on another version":       {before: prompt, change: `{}`, match: &Precondition{Versions: []int64{start}}, want: errOtherVersion, left: "late", votes: true},
		"for what is refused":      {change: `{"votesPerOption":0}`, want: errors.New("votesPerOption must be greater than 0"), left: "Lunch?", votes: true},
		"of a deleted poll":        {before: reset, change: `{}`, want: errNothingToClear, left: "-"},
		"of one deleted again":     {before: append(clearing(`{}`, nil), reset...), change: `{}`, want: errNothingToClear, left: "-"},
		"of one that is set again": {before: append(reset, with(func(c *Config) { c.Prompt = "new" })), change: `{}`, left: "new"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPoll()
			p.accept(t, with(func(c *Config) { c.Prompt = "Lunch?" }), cast(ann, 1))
			fork, refusals := p.state.fork(), []error(nil)
			for _, c := range append(test.before, clearing(test.change, test.match)...) {
				d, err := p.Decide(fork, p.at, c)
				if refusals = append(refusals, err); err == nil && d.Store {
					p.Apply(fork, p.at, d.Entry)
					p.append(t, d.Entry)
				}
			}
			last := refusals[len(test.before):]
			if test.want == nil && (last[0] != nil || last[1] != nil) || test.want != nil && (last[0] == nil || last[1] == nil || last[0].Error() != test.want.Error()) {
				t.Errorf("refused with %v, want %v", last, test.want)
			}
			left := "-"
			if p.state.config != nil {
				left = p.state.config.Prompt
			}
			if left != test.left || p.state.voters.isEmpty() == test.votes {
				t.Errorf("the prompt is %q, want %q; votes %t, want %t", left, test.left, !p.state.voters.isEmpty(), test.votes)
			}
		})
	}
}

// A change that is made at the moment at which the votes are cleared is not undone.
func TestClearingUndoesNoChange(t *testing.T) {
	ctx, poll := t.Context(), Poll{Environment: "production", Extension: "e", Channel: "c", ID: "p"}
	for mode, options := range map[string]stream.Options{
		"alone":                     {},
		"beside an earlier release": {PeersRead: func(l stream.Level) bool { return l < stream.LevelClears }},
	} {
		s := NewService(storetest.NewMemory(), stream.SystemClock(), options)
		t.Cleanup(func() { _ = s.Close(context.WithoutCancel(ctx)) })
		for range 200 {
			if err := s.Configure(ctx, poll, DefaultConfig()); err != nil {
				t.Fatal(err)
			}
			var both sync.WaitGroup
			var changed, cleared error
			both.Go(func() { _, _, changed = s.Change(ctx, poll, Change{Patch: json.RawMessage(`{"prompt":"Lunch?"}`)}) })
			both.Go(func() { cleared = s.ClearVotes(ctx, poll, Change{Patch: json.RawMessage(`{"showCount":true}`)}) })
			both.Wait()
			config, _, saved, err := s.Config(ctx, poll)
			if err := errors.Join(changed, cleared, err); err != nil || !saved || config.Prompt != "Lunch?" || !config.ShowCount {
				t.Fatalf("%s: the prompt is %q, showCount %t, %v", mode, config.Prompt, config.ShowCount, err)
			}
		}
	}
}

// The command that clears the votes reaches another process whole.
func TestClearingIsForwarded(t *testing.T) {
	sent := clearCommand{"p", Change{Config: Config{UserData: json.RawMessage("null")}, Patch: json.RawMessage(`{"prompt":"x"}`), Cleared: true}}
	got := pollRules{}.DecodeCommand(wire.NewReader(sent.appendTo(nil)))
	if diff := cmp.Diff(Command(sent), got, cmp.AllowUnexported(clearCommand{})); diff != "" {
		t.Errorf("command (-sent +read):\n%s", diff)
	}
}
