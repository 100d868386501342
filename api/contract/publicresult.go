package contract

import (
	"encoding/json"
	"path"
	"strings"
)

// AllChannels stands for the channel in the address of the result of a poll of all channels.
const AllChannels = "-"

// BesideBase returns what precedes the paths that stand beside a base path: "" for /v1,
// "/sandbox" for /sandbox/v1.
func BesideBase(base string) string { return strings.TrimSuffix(path.Dir(base), "/") }

// PublicResult is the result of a poll as everyone sees it (section 4.15). Later releases add
// members.
type PublicResult struct {
	Name PublicName `json:"name"`
	// Now is nil where a poll with verifiable votes hides its results.
	Now *PublicNow `json:"now,omitempty"`
}

// PublicName names the poll of a public result.
type PublicName struct {
	Client  string `json:"client"`
	Channel string `json:"channel"` // empty for a poll of all channels
	Poll    string `json:"poll"`
}

// PublicNow describes a poll at the time when it was read.
type PublicNow struct {
	Poll PublicPoll `json:"poll"`
	// Votes are the statistics of section 2.2.
	Votes json.RawMessage `json:"votes"`
	// Size is the number of public entries of a poll with verifiable votes, and At the time of the
	// newest one in Unix milliseconds.
	Size int64 `json:"size,omitempty"`
	At   int64 `json:"at,omitempty"`
	// Signed is false: what is signed stands beside it.
	Signed bool `json:"signed"`
}

// PublicPoll has the members of a poll that a public result shows beside its votes.
type PublicPoll struct {
	Prompt   string   `json:"prompt"`
	Options  []string `json:"options"`
	Status   Status   `json:"status"`
	Disabled bool     `json:"disabled"`
	StartsAt int64    `json:"startsAt"`
	EndsAt   int64    `json:"endsAt"`
	Version  int64    `json:"version"`
	// TieBreak is the value of the option that staff chose after a tie, nil for none.
	TieBreak *int64 `json:"tieBreak,omitempty"`
	// Pictures are the ids of the pictures of the options; empty for an option without one.
	Pictures []string `json:"pictures,omitempty"`
}
