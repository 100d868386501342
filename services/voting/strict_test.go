package voting

import (
	"errors"
	"testing"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

// strictly returns a strict configuration with options.
func strictly(options ...string) configureCommand {
	return with(func(c *Config) { c.Strict, c.Options = true, options })
}

// TestStrictVotes: section 2.12 rule 1.
func TestStrictVotes(t *testing.T) {
	const none = "value names no option of the poll"
	two := strictly("a", "b")
	tests := map[string]struct {
		config configureCommand
		vote   *voteCommand
		reason string
	}{
		"the first option":                {two, cast(ann, 0), ""},
		"the last option":                 {two, cast(ann, 1), ""},
		"one after the last":              {two, cast(ann, 2), none},
		"below the first":                 {two, cast(ann, -3), none},
		"in the statistics but no option": {two, cast(ann, 31), none},
		"no options":                      {strictly(), cast(ann, -128), ""},
		"not strict":                      {with(func(c *Config) { c.Options = []string{"a", "b"} }), cast(ann, 7), ""},
		"the bounds of all polls first":   {two, cast(ann, 129), "Value out of bounds"},
		"a closed poll first":             {with(func(c *Config) { *c = two.config; c.Disabled = true }), cast(ann, 7), "poll is closed"},
		"the voter afterwards":            {with(func(c *Config) { *c = two.config; c.LoggedInOnly = true }), cast(anon, 7), none},
		"no value":                        {two, cast(ann, NoValue), "value is missing"},
		"no value in a closed poll":       {with(func(c *Config) { *c = two.config; c.Disabled = true }), cast(ann, NoValue), "poll is closed"},
		"no value and no options":         {strictly(), cast(ann, NoValue), ""},
		"into a poll that exists":         {two, &voteCommand{voter: ann, value: 7, times: 1, existing: true}, none},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := newPoll()
			p.accept(t, test.config)
			if got := p.do(t, test.vote); got != test.reason {
				t.Errorf("reason is %q, want %q", got, test.reason)
			}
		})
	}
}

// Votes that were stored before the poll was strict stay.
func TestStrictKeepsStoredVotes(t *testing.T) {
	p := newPoll()
	p.accept(t, cast(ann, 7), strictly("a", "b"))
	p.want(t, ann, figures{Count: "1", Sum: "7", Specific: map[int]string{7: "1"}, Vote: "7"})
}

// TestStrictConfigs: section 2.12 rules 2 and 3.
func TestStrictConfigs(t *testing.T) {
	tests := map[string]struct {
		change func(*Config)
		reason string
	}{
		"good":               {func(c *Config) { c.Options = []string{"a", "A", "a b"} }, ""},
		"an empty option":    {func(c *Config) { c.Options = []string{"a", ""} }, "options of a strict poll must not be empty"},
		"a blank option":     {func(c *Config) { c.Options = []string{"\u00a0 \n"} }, "options of a strict poll must not be empty"},
		"an option twice":    {func(c *Config) { c.Options = []string{"a", "b", "a"} }, "options of a strict poll must differ from each other"},
		"but for blanks":     {func(c *Config) { c.Options = []string{"a", " a"} }, "options of a strict poll must differ from each other"},
		"the end of 2100":    {func(c *Config) { c.StartsAt, c.EndsAt = 4133980799, 4133980799 }, ""},
		"a start in 2101":    {func(c *Config) { c.StartsAt = 4133980800 }, "startsAt of a strict poll must be in seconds and not after the year 2100"},
		"an end in 2101":     {func(c *Config) { c.EndsAt = 4133980800 }, "endsAt of a strict poll must be in seconds and not after the year 2100"},
		"an end in the past": {func(c *Config) { c.EndsAt = 1 }, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := strictly()
			test.change(&c.config)
			if got := newPoll().do(t, c); got != test.reason {
				t.Errorf("reason is %q, want %q", got, test.reason)
			}
			c.config.Strict = false
			if got := newPoll().do(t, c); got != "" {
				t.Errorf("a poll that is not strict is refused: %s", got)
			}
		})
	}
}

// A vote without a value is one for 0 where nothing refuses it, also over the wire.
func TestNoValueIsZero(t *testing.T) {
	p := newPoll()
	p.accept(t, cast(ann, NoValue))
	p.want(t, ann, figures{Count: "1", Sum: "0", Specific: map[int]string{0: "1"}, Vote: "0"})
	if got := *cast(ann, NoValue).answerFrom(p.state).tally.Vote; got != 0 {
		t.Errorf("the answer has the vote %d", got)
	}
}

// TestQuestion: section 2.12 rule 4.
func TestQuestion(t *testing.T) {
	const prompt, options = "prompt", "options"
	config := func(strict bool, prompt string, options ...string) *Config {
		return &Config{Strict: strict, Prompt: prompt, Options: options}
	}
	keep := config(true, "Keep the dog?", "yes", "no")
	tests := map[string]struct {
		now, next *Config
		field     string
	}{
		"the same":              {keep, config(true, "Keep the dog?", "yes", "no"), ""},
		"another prompt":        {keep, config(true, "Sell the dog?", "yes", "no"), prompt},
		"no prompt":             {keep, config(true, "", "yes", "no"), prompt},
		"an option is renamed":  {keep, config(true, "Keep the dog?", "yes", "No"), options},
		"options in turn":       {keep, config(true, "Keep the dog?", "no", "yes"), options},
		"an option less":        {keep, config(true, "Keep the dog?", "yes"), options},
		"an option more":        {keep, config(true, "Keep the dog?", "yes", "no", "later"), ""},
		"an option before":      {keep, config(true, "Keep the dog?", "later", "yes", "no"), options},
		"no longer strict":      {keep, config(false, "Sell the dog?", "yes", "no"), prompt},
		"strict from now on":    {config(false, "Keep?", "yes"), config(true, "Sell?", "yes"), prompt},
		"never strict":          {config(false, "Keep?", "yes"), config(false, "Sell?", "no"), ""},
		"nothing was asked yet": {nil, keep, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			want := map[string]error{"": nil, prompt: errPromptChanges, options: errOptionsChanges}[test.field]
			p := newPoll()
			p.accept(t, modifyCommand{"Uann", 1}) // is no vote
			p.state.config = test.now
			if err := p.state.checkQuestion(test.next, false); err != nil {
				t.Errorf("refused without votes: %v", err)
			}
			fork := p.state.fork()
			p.Apply(fork, p.at, &voteEntry{voter: ann, replace: true, times: 1})
			if err := fork.checkQuestion(test.next, false); !errors.Is(err, want) {
				t.Errorf("after a vote of the same batch: %v, want %v", err, want)
			}
			p.Apply(p.state, p.at, &voteEntry{voter: ann, replace: true, times: 1})
			if err := p.state.fork().checkQuestion(test.next, false); !errors.Is(err, want) {
				t.Errorf("after a vote: %v, want %v", err, want)
			}
			if err := p.state.checkQuestion(test.next, true); err != nil {
				t.Errorf("refused with keepVotes: %v", err)
			}
		})
	}
}

// A missing value is missing in another process, too, and 0 in one of an earlier release.
func TestNoValueIsForwarded(t *testing.T) {
	for _, value := range []int64{NoValue, 0, 5, -64, NoValue + 1} {
		c := &voteCommand{voter: ann, value: value, times: 2, existing: true}
		if got := (pollRules{}).DecodeCommand(wire.NewReader(c.appendTo(nil))); *got.(*voteCommand) != *c {
			t.Errorf("%+v is read as %+v", c, got)
		}
	}
	if r := wire.NewReader(appendValue(nil, NoValue)); r.Varint() != 0 || r.End() != nil {
		t.Error("an earlier release does not read it as 0")
	}
}

// A configuration that changes the question leaves its version, strict or not, whatever votes
// there are.
func TestQuestionChangedIsShown(t *testing.T) {
	for _, votes := range []bool{false, true} {
		p := newPoll()
		ask := func(prompt string, options ...string) int64 {
			t.Helper()
			p.at++
			p.accept(t, with(func(c *Config) { c.Prompt, c.Options = prompt, options }))
			return p.state.config.View("p", contract.Active).QuestionChanged
		}
		if votes {
			p.accept(t, cast(ann, 0))
		}
		if ask("Keep the dog?", "yes") != 0 || ask("Keep the dog?", "yes", "no") != 0 {
			t.Error("the question changed at once, or with another option")
		}
		if got := ask("Sell the dog?", "yes", "no"); got != p.at {
			t.Errorf("the question changed in %d, want %d", got, p.at)
		}
		if got := ask("Sell the dog?", "yes", "no", "later"); got != p.at-1 {
			t.Errorf("another option afterwards makes it %d, want %d", got, p.at-1)
		}
		p.accept(t, resetCommand{})
		if ask("Keep the cat?", "yes") != 0 {
			t.Error("it outlives the poll")
		}
	}
}

// A patch is judged by the configuration that it makes.
func TestPatchOfAStrictPoll(t *testing.T) {
	for name, test := range map[string]struct {
		change Change
		want   error
	}{
		"another prompt":                {Change{Patch: []byte(`{"prompt":"Sell?"}`)}, errPromptChanges},
		"another prompt, not strict":    {Change{Patch: []byte(`{"prompt":"Sell?","strict":false}`)}, errPromptChanges},
		"no options":                    {Change{Patch: []byte(`{"options":null}`)}, errOptionsChanges},
		"another prompt with the votes": {Change{Patch: []byte(`{"prompt":"Sell?"}`), KeepVotes: true}, nil},
		"an end":                        {Change{Patch: []byte(`{"endsAt":-1}`)}, nil},
		"one more option":               {Change{Patch: []byte(`{"options":["yes","no","later"]}`)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPoll()
			c := strictly("yes", "no")
			c.config.Prompt = "Keep?"
			p.accept(t, c, cast(ann, 1))
			if _, err := (changeCommand{"p", test.change}).decideAt(p.state, p.at); !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
		})
	}
}
