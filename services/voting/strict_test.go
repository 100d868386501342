package voting

import (
	"testing"
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
		vote   voteCommand
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
		"into a poll that exists":         {two, voteCommand{voter: ann, value: 7, times: 1, existing: true}, none},
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
