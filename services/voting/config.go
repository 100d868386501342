package voting

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/acclaim-dev/acclaim/services/internal/exactjson"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/schedule"
)

// Config is a poll's configuration (section 2.4).
type Config struct {
	UserIDVoting           bool            `json:"userIDVoting"`
	DistinctOptionsPerUser int64           `json:"distinctOptionsPerUser"`
	TotalVotesPerUser      int64           `json:"totalVotesPerUser"`
	VotesPerOption         int64           `json:"votesPerOption"`
	Global                 bool            `json:"global"`
	Disabled               bool            `json:"disabled"`
	Prompt                 string          `json:"prompt"`
	Options                []string        `json:"options"`
	UserData               json.RawMessage `json:"userData"`
	schedule.Schedule

	// The fields below are absent from what is stored, exported and answered unless a
	// configuration uses them.

	ResultsVisibility Visibility `json:"resultsVisibility,omitempty"`
	// ShowCount leaves count visible where the other figures are hidden.
	ShowCount bool `json:"showCount,omitempty"`
	// LoggedInOnly refuses the votes of viewers that are not logged in.
	LoggedInOnly bool `json:"loggedInOnly,omitempty"`
	// Strict refuses votes for no option, and texts and times that are most likely wrong.
	Strict bool `json:"strict,omitempty"`
	// Version rises with each saved configuration of the poll: the Unix milliseconds of
	// its saving or, within one millisecond, the number after. It is 0 for one that an
	// earlier release saved.
	Version int64 `json:"version,omitempty"`
	// QuestionChanged is the version that last changed the question, 0 if none did: votes
	// from before it are for another one. It does not depend on votes, which may be hidden.
	QuestionChanged int64 `json:"questionChanged,omitempty"`
}

// DefaultConfig is in force while a poll has none of its own: one vote for each
// identity, no schedule.
func DefaultConfig() Config {
	return Config{DistinctOptionsPerUser: 1, TotalVotesPerUser: 1, VotesPerOption: 1}
}

func (c *Config) isOpen(at int64) bool { return !c.Disabled && c.StatusAt(at) == schedule.Active }

// isMultiVote reports whether votes add up instead of replacing one another.
func (c *Config) isMultiVote() bool { return c.TotalVotesPerUser > 1 }

// Limits of a configuration (section 8), in bytes where they measure text.
const (
	maxIDLength        = 64 // characters
	maxDistinctOptions = 258
	maxTotalVotes      = 1024
	maxPrompt          = 256
	maxOptions         = 32
	maxOption          = 128
	maxUserData        = 1024
)

// checkLimits returns why the configuration may not be stored for the poll with the
// given id, or nil.
func (c *Config) checkLimits(id string) error {
	for _, rule := range []struct {
		broken bool
		reason string
	}{
		{utf8.RuneCountInString(id) > maxIDLength, "id must be at most 64 characters"},
		{strings.Contains(id, "."), "id must not contain '.'"},
		{c.Global && !isGlobal(id), "id of a global poll must begin with 'global'"},
		{!isWithin(c.DistinctOptionsPerUser, 1, maxDistinctOptions), "distinctOptionsPerUser must be between 1 and 258"},
		{!isWithin(c.TotalVotesPerUser, 1, maxTotalVotes), "totalVotesPerUser must be between 1 and 1024"},
		{c.VotesPerOption < 1, "votesPerOption must be greater than 0"},
		{len(c.Prompt) > maxPrompt, "prompt must be at most 256 bytes"},
		{len(c.Options) > maxOptions, "options must have at most 32 entries"},
		{longestOption(c.Options) > maxOption, "each of options must be at most 128 bytes"},
		{len(c.UserData) > maxUserData, "userData must be at most 1024 bytes"},
		{c.ScheduleProblem() != "", c.ScheduleProblem()},
		{!c.ResultsVisibility.isKnown(), "resultsVisibility must be always, afterVote, afterClose or staff"},
	} {
		if rule.broken {
			return fault.New(fault.Invalid, rule.reason)
		}
	}
	return c.checkStrict()
}

func isWithin(n, low, high int64) bool { return low <= n && n <= high }

func longestOption(options []string) (n int) {
	for _, option := range options {
		n = max(n, len(option))
	}
	return n
}

// compactUserData drops the insignificant white space of userData, which does not count in
// its size, and copies what the caller may change.
func (c *Config) compactUserData() error {
	c.Options = append([]string(nil), c.Options...) // nil when there are none
	if len(c.UserData) == 0 {
		c.UserData = nil
		return nil
	}
	var buf bytes.Buffer
	if err := json.Compact(&buf, c.UserData); err != nil {
		return errInvalidBody
	}
	c.UserData = buf.Bytes()
	return nil
}

// JSON returns the configuration with the names of section 2.4.
func (c *Config) JSON() []byte { return c.encodeJSON() }

// encodeJSON returns the form in which it is stored and forwarded. Equal configurations
// have equal encodings, and userData keeps its bytes.
func (c *Config) encodeJSON() []byte {
	encoded, err := exactjson.Marshal(c)
	if err != nil {
		panic(err) // strings, integers and JSON that compact has accepted
	}
	return encoded
}

func decodeConfig(encoded []byte) (c Config, err error) {
	err = json.Unmarshal(encoded, &c)
	return c, err
}
