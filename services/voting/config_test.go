package voting

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/api/contract"
)

// TestConfigBounds is sections 4.1 and 8 of the contract, both sides of each
// bound.
func TestConfigBounds(t *testing.T) {
	tests := map[string]struct {
		id     string
		change func(*Config)
		reason string
	}{
		"id of 64 characters": {strings.Repeat("é", 64), nil, ""},
		"id of 65 characters": {strings.Repeat("i", 65), nil, "id must be at most 64 characters"},
		"id with a dot":       {"a.b", nil, "id must not contain '.'"},
		"global by id":        {"global-x", func(c *Config) { c.Global = true }, ""},
		"global without the id": {"g", func(c *Config) { c.Global = true },
			"id of a global poll must begin with 'global'"},
		"global id alone": {"global", nil, ""},
		"258 distinct options": {"p", func(c *Config) { c.DistinctOptionsPerUser = 258 },
			""},
		"0 distinct options": {"p", func(c *Config) { c.DistinctOptionsPerUser = 0 },
			"distinctOptionsPerUser must be between 1 and 258"},
		"259 distinct options": {"p", func(c *Config) { c.DistinctOptionsPerUser = 259 },
			"distinctOptionsPerUser must be between 1 and 258"},
		"1024 votes": {"p", func(c *Config) { c.TotalVotesPerUser = 1024 }, ""},
		"0 votes": {"p", func(c *Config) { c.TotalVotesPerUser = 0 },
			"totalVotesPerUser must be between 1 and 1024"},
		"1025 votes": {"p", func(c *Config) { c.TotalVotesPerUser = 1025 },
			"totalVotesPerUser must be between 1 and 1024"},
		"any number of votes for an option": {"p", func(c *Config) { c.VotesPerOption = 1 << 62 }, ""},
		"0 votes for an option": {"p", func(c *Config) { c.VotesPerOption = 0 },
			"votesPerOption must be greater than 0"},
		"prompt of 256 bytes": {"p", func(c *Config) { c.Prompt = strings.Repeat("é", 128) }, ""},
		"prompt of 258 bytes": {"p", func(c *Config) { c.Prompt = strings.Repeat("é", 129) },
			"prompt must be at most 256 bytes"},
		"32 options": {"p", func(c *Config) { c.Options = make([]string, 32) }, ""},
		"33 options": {"p", func(c *Config) { c.Options = make([]string, 33) },
			"options must have at most 32 entries"},
		"option of 128 bytes": {"p", func(c *Config) { c.Options = []string{strings.Repeat("é", 64)} }, ""},
		"option of 129 bytes": {"p", func(c *Config) { c.Options = []string{"", strings.Repeat("o", 129)} },
			"each of options must be at most 128 bytes"},
		"userData of 1024 bytes and white space": {"p", func(c *Config) {
			c.UserData = json.RawMessage(` [ "` + strings.Repeat("<", 1020) + "\" ]\n")
		}, ""},
		"userData of 1025 bytes": {"p", func(c *Config) {
			c.UserData = json.RawMessage(`["` + strings.Repeat("x", 1021) + `"]`)
		}, "userData must be at most 1024 bytes"},
		"userData that is not JSON": {"p", func(c *Config) { c.UserData = json.RawMessage(`{`) }, "Invalid body"},
		"negative startsAt": {"p", func(c *Config) { c.StartsAt = -1 },
			"startsAt must not be negative"},
		"start at the end": {"p", func(c *Config) { c.StartsAt, c.EndsAt = 5, 5 }, ""},
		"start after the end": {"p", func(c *Config) { c.StartsAt, c.EndsAt = 6, 5 },
			"startsAt must not be after endsAt"},
		"start after the end that is now": {"p", func(c *Config) { c.StartsAt, c.EndsAt = 1<<62, -1 },
			"startsAt must not be after endsAt"},
		"results after the vote": {"p", func(c *Config) { c.ResultsVisibility = VisibleAfterVote }, ""},
		"results for staff":      {"p", func(c *Config) { c.ResultsVisibility = VisibleToStaff }, ""},
		"results of no known kind": {"p", func(c *Config) { c.ResultsVisibility = "Always" },
			"resultsVisibility must be always, afterVote, afterClose or staff"},
		"entries without a list":       {"p", func(c *Config) { c.Entries = contract.EntriesLive }, errListRules.Error()},
		"least voters without a list":  {"p", func(c *Config) { c.MinVoters = 51 }, errListRules.Error()},
		"days without a list":          {"p", func(c *Config) { c.KeepDays = 1 }, errListRules.Error()},
		"no receipts without a list":   {"p", func(c *Config) { c.NoReceipts = true }, errListRules.Error()},
		"the default rules":            {"p", func(c *Config) { c.Entries, c.MinVoters, c.KeepDays = contract.EntriesAfterClose, 50, 30 }, ""},
		"entries of no known kind":     {"p", func(c *Config) { c.Entries = "Live" }, "entries must be close, live or never"},
		"a negative number of voters":  {"p", func(c *Config) { c.MinVoters = -1 }, "minVoters must be between 1 and 1000000"},
		"more voters than there are":   {"p", func(c *Config) { c.MinVoters = 1000001 }, "minVoters must be between 1 and 1000000"},
		"days before the final result": {"p", func(c *Config) { c.KeepDays = -1 }, "keepDays must be between 1 and 365"},
		"days of more than a year":     {"p", func(c *Config) { c.KeepDays = 366 }, "keepDays must be between 1 and 365"},
		"times beyond any calendar":    {"p", func(c *Config) { c.StartsAt, c.EndsAt = 1<<62, 1<<62 }, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := configureCommand{id: test.id, config: DefaultConfig()}
			if test.change != nil {
				test.change(&c.config)
			}
			p := newPoll()
			if got := p.do(t, c); got != test.reason {
				t.Errorf("reason is %q, want %q", got, test.reason)
			}
			if saved := p.state.config != nil; saved != (test.reason == "") {
				t.Errorf("saved is %v", saved)
			}
		})
	}
}

func TestConfigComesBackAsSaved(t *testing.T) {
	want := Config{
		UserIDVoting: true, DistinctOptionsPerUser: 3, TotalVotesPerUser: 4, VotesPerOption: 5, Global: true,
		Disabled: true, Prompt: "é<>&\u2028\x00", Options: []string{"", "b"}, UserData: json.RawMessage(`{"a":null}`),
		Schedule: contract.Schedule{StartsAt: 7, EndsAt: 8}, ResultsVisibility: VisibleAfterVote, ShowCount: true, LoggedInOnly: true, PollSettings: contract.PollSettings{PublicResults: true},
	}
	p := newPoll()
	p.accept(t, configureCommand{id: "global", config: want})
	want.Version = p.at
	if diff := cmp.Diff(want, p.state.currentConfig()); diff != "" {
		t.Errorf("configuration (-saved +read):\n%s", diff)
	}
}

// TestIdenticalConfigStoresNothing: decisions, "Voting".
func TestIdenticalConfigStoresNothing(t *testing.T) {
	first := with(func(c *Config) {
		c.Options, c.UserData = []string{"<a>"}, json.RawMessage(`{"k": "<"}`)
	})
	tests := map[string]struct {
		second configureCommand
		stored bool
	}{
		"the same":          {with(func(c *Config) { *c = first.config }), false},
		"other white space": {with(func(c *Config) { *c = first.config; c.UserData = json.RawMessage(`{"k":"<"}`) }), false},
		"other userData":    {with(func(c *Config) { *c = first.config; c.UserData = json.RawMessage(`{"k":">"}`) }), true},
		"other limit":       {with(func(c *Config) { *c = first.config; c.VotesPerOption++ }), true},
		"no options":        {with(func(c *Config) { *c = first.config; c.Options = nil }), true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := newPoll()
			p.accept(t, first)
			p.accept(t, test.second)
			if got := len(p.log) == 2; got != test.stored {
				t.Errorf("stored is %v, want %v", got, test.stored)
			}
		})
	}
	p := newPoll()
	p.accept(t, with(func(*Config) {}), with(func(c *Config) { c.Options = []string{} }))
	if len(p.log) != 1 {
		t.Error("no options and an empty list of options are not identical")
	}
}

// A configuration that uses none of the later fields is stored as it was before there
// were any, but for its version.
func TestUnusedFieldsAreNotStored(t *testing.T) {
	p := newPoll()
	p.accept(t, with(func(c *Config) { c.ResultsVisibility = VisibleAlways }))
	c := p.state.currentConfig()
	c.Version = 0
	encoded := string(c.encodeJSON())
	for _, field := range []string{"resultsVisibility", "showCount", "loggedInOnly", "strict", "publicResults", "verifiable", "deviceVoting", "weightedVotes", "entries", "minVoters", "keepDays", "noReceipts", "questionChanged", "version"} {
		if strings.Contains(encoded, field) {
			t.Errorf("%s is in %s", field, encoded)
		}
	}
}

// The version rises with each configuration that is saved, also within one millisecond.
func TestVersionRises(t *testing.T) {
	p := newPoll()
	versions := []int64{}
	for _, votes := range []int64{1, 2, 2, 3} {
		p.accept(t, with(func(c *Config) { c.VotesPerOption = votes }))
		versions = append(versions, p.state.config.Version-p.at)
	}
	if want := []int64{0, 1, 1, 2}; !slices.Equal(versions, want) {
		t.Errorf("the versions follow the time by %v, want %v", versions, want)
	}
}

// TestHidesResults: section 2.4.
func TestHidesResults(t *testing.T) {
	for visibility, want := range map[Visibility]string{
		"": "", VisibleAlways: "", VisibleAfterVote: "pending active", VisibleAfterClose: "pending active", VisibleToStaff: "pending active expired",
	} {
		for _, status := range []contract.Status{contract.Pending, contract.Active, contract.Expired} {
			c := Config{ResultsVisibility: visibility, Disabled: true}
			if got := c.HidesResults(status); got != strings.Contains(want, string(status)) {
				t.Errorf("%q hides the results while %s: %v", visibility, status, got)
			}
		}
	}
}

// TestLoggedInOnly: section 2.8.
func TestLoggedInOnly(t *testing.T) {
	for voter, want := range map[Voter]string{
		{"U1", ""}: "", {"A1", "1"}: "", {"", "1"}: "", {"U1", "1"}: "",
		{"A1", ""}: "only logged-in viewers may vote", {"u1", ""}: "only logged-in viewers may vote", {}: "only logged-in viewers may vote",
	} {
		p := newPoll()
		p.accept(t, with(func(c *Config) { c.LoggedInOnly = true }))
		if got := p.do(t, cast(voter, 1)); got != want {
			t.Errorf("%+v: %q, want %q", voter, got, want)
		}
	}
}

// TestNegativeEndIsNow: decisions, "Voting".
func TestNegativeEndIsNow(t *testing.T) {
	p := newPoll()
	p.at = start + 999
	p.accept(t, with(func(c *Config) { c.EndsAt = -5 }))
	if got, want := p.state.currentConfig().EndsAt, int64(start/1000); got != want {
		t.Errorf("endsAt is %d, want %d", got, want)
	}
}

func TestConfigIsNotTheCallers(t *testing.T) {
	options, data := []string{"a"}, json.RawMessage(`"a"`)
	p := newPoll()
	d, err := p.Decide(p.state, p.at, with(func(c *Config) { c.Options, c.UserData = options, data }))
	if err != nil {
		t.Fatal(err)
	}
	options[0], data[1] = "b", 'b'
	got := d.Entry.(configEntry).config
	if !slices.Equal(got.Options, []string{"a"}) || string(got.UserData) != `"a"` {
		t.Errorf("the caller changed what is stored: %q %s", got.Options, got.UserData)
	}
}
