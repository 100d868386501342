package verifiable

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Config is the public part of a poll's configuration. The members are in the order of RFC 8785.
type Config struct {
	Disabled               bool     `json:"disabled"`
	DistinctOptionsPerUser int64    `json:"distinctOptionsPerUser,string"`
	EndsAt                 int64    `json:"endsAt,string"`            // Unix seconds, 0: none
	Entries                string   `json:"entries,omitzero"`         // live or never; empty: after the close
	KeepDays               int64    `json:"keepDays,omitzero,string"` // 0: 30
	LoggedInOnly           bool     `json:"loggedInOnly"`
	MinVoters              int64    `json:"minVoters,omitzero,string"` // 0: 50
	NoReceipts             bool     `json:"noReceipts,omitzero"`
	Options                []string `json:"options"`
	Prompt                 string   `json:"prompt"`
	ResultsVisibility      string   `json:"resultsVisibility"`
	ShowCount              bool     `json:"showCount"`
	StartsAt               int64    `json:"startsAt,string"`
	TieBreak               *int64   `json:"tieBreak,omitzero,string"` // the option that staff chose after a tie
	TotalVotesPerUser      int64    `json:"totalVotesPerUser,string"`
	UserIDVoting           bool     `json:"userIDVoting"`
	Version                int64    `json:"version,string"`
	VotesPerOption         int64    `json:"votesPerOption,string"`
}

// Bounds of a configuration.
const (
	maxConfigText = 32 << 10
	maxTotalVotes = 1024
	maxDistinct   = 258
	maxMinVoters  = 1_000_000
	maxKeepDays   = 365
)

// When the entries of a list are public.
const (
	entriesAfterClose, entriesLive, entriesNever = "close", "live", "never"
)

// Encode returns the configuration in the form of RFC 8785, or an error for one that no poll with
// verifiable votes may have.
func (c *Config) Encode() ([]byte, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	data, err := jsonv2.Marshal(c)
	if err != nil {
		return nil, err
	}
	text := jsontext.Value(data)
	if err := text.Canonicalize(); err != nil {
		return nil, err
	}
	if len(text) > maxConfigText {
		return nil, errTooLarge
	}
	return text, nil
}

// ParseConfig decodes what [Config.Encode] writes, and nothing else.
func ParseConfig(text []byte) (Config, error) {
	var c Config
	if err := jsonv2.Unmarshal(text, &c, jsonv2.RejectUnknownMembers(true)); err != nil {
		return Config{}, fmt.Errorf("configuration: %w", err)
	}
	if again, err := c.Encode(); err != nil {
		return Config{}, fmt.Errorf("configuration: %w", err)
	} else if !bytes.Equal(again, text) {
		return Config{}, errors.New("configuration: the JSON is not in the form of RFC 8785, or lacks a member")
	}
	return c, nil
}

func (c *Config) check() error {
	within := func(n, most int64) bool { return n >= 1 && n <= most }
	if !within(c.DistinctOptionsPerUser, maxDistinct) || !within(c.TotalVotesPerUser, maxTotalVotes) || c.VotesPerOption < 1 {
		return errors.New("a limit of votes is out of range")
	}
	if c.MinVoters < 0 || c.MinVoters > maxMinVoters || c.KeepDays < 0 || c.KeepDays > maxKeepDays {
		return errors.New("minVoters or keepDays is out of range")
	}
	switch c.Entries {
	case "", entriesLive, entriesNever:
	default:
		return fmt.Errorf("entries %q is unknown", c.Entries)
	}
	switch c.ResultsVisibility {
	case "always", "afterVote", "afterClose":
		return nil
	}
	return fmt.Errorf("resultsVisibility %q is unknown", c.ResultsVisibility)
}

// promise has the rules of a configuration for publishing a list.
type promise struct {
	entries             string
	minVoters, keepDays int64
	noReceipts          bool
}

func (c *Config) promise() promise {
	return promise{cmp.Or(c.Entries, entriesAfterClose), cmp.Or(c.MinVoters, 50), cmp.Or(c.KeepDays, 30), c.NoReceipts}
}

// isMultiVote reports whether votes are added to a voter's ballot, not set.
func (c *Config) isMultiVote() bool { return c.TotalVotesPerUser > 1 }

// asksAnother reports whether the two configurations ask different questions.
func (c *Config) asksAnother(d *Config) bool {
	if c.Prompt != d.Prompt || len(c.Options) != len(d.Options) {
		return true
	}
	for i, option := range c.Options {
		if option != d.Options[i] {
			return true
		}
	}
	return false
}
