package contract

import (
	"cmp"
	"encoding/json"
	"unicode/utf8"
)

// Limits of a poll's configuration (section 8), in bytes where they measure text.
const (
	MaxPollID          = 64 // characters
	MaxDistinctOptions = 258
	MaxTotalVotes      = 1024
	MaxPrompt          = 256
	MaxOptions         = 32
	MaxOption          = 128
	MaxUserData        = 1024
)

// Bounds of a vote (section 8).
const (
	MinValue = -128
	MaxValue = 128
	MaxCount = 30 // copies of a value in one request

	MaxVotes      = 1000    // of one request that names their voters
	MaxVoter      = 512     // bytes of an identity
	MaxVoteWeight = 100     // of a token
	MaxModifier   = 1 << 53 // the sum of an identity's, the largest that a double holds exactly

	DefaultMinVoters = 50      // of a verifiable poll whose entries are public
	MaxMinVoters     = 1000000 // likewise
	DefaultKeepDays  = 30      // of the entries of a verifiable poll
	MaxKeepDays      = 365     // likewise

	LastStrictYear = 2100
	LastStrictTime = 4133980799 // its end, of the times of a strict poll
)

// Limits of lists and histories of polls (section 4.1).
const (
	MaxPolls      = 1000 // of a page
	DefaultPolls  = 100
	MaxPoints     = 1000 // of a history
	DefaultPoints = 100
)

// PollConfig is a poll's configuration (section 2.4). Services store it and exports contain
// it in this encoding: a new member is left out where a configuration does not use it.
type PollConfig struct {
	UserIDVoting           bool            `json:"userIDVoting"`
	DistinctOptionsPerUser int64           `json:"distinctOptionsPerUser"`
	TotalVotesPerUser      int64           `json:"totalVotesPerUser"`
	VotesPerOption         int64           `json:"votesPerOption"`
	Global                 bool            `json:"global"`
	Disabled               bool            `json:"disabled"`
	Prompt                 string          `json:"prompt"`
	Options                []string        `json:"options"`
	UserData               json.RawMessage `json:"userData"`
	Schedule

	ResultsVisibility Visibility `json:"resultsVisibility,omitempty"`
	// ShowCount leaves count visible where the other figures are hidden.
	ShowCount bool `json:"showCount,omitempty"`
	// LoggedInOnly refuses the votes of viewers that are not logged in.
	LoggedInOnly bool `json:"loggedInOnly,omitempty"`
	// Strict refuses votes for no option, and texts and times that are most likely wrong.
	Strict bool `json:"strict,omitempty"`
	PollSettings
	// Version rises with each saved configuration of the poll: the Unix milliseconds of
	// its saving or, within one millisecond, the number after. It is 0 for one that an
	// earlier release saved, and in requests.
	Version int64 `json:"version,omitempty"`
	// QuestionChanged is the version that last changed the question, 0 if none did: votes
	// from before it are for another one. It does not depend on votes, which may be hidden.
	QuestionChanged int64 `json:"questionChanged,omitempty"`
	// TieBreak is the value of the option that staff chose after a tie, nil for none. It is always
	// one of those that lead: a configuration with which that is not so any more drops it.
	TieBreak *int64 `json:"tieBreak,omitempty"`
	// Pictures are the ids of the pictures of the options, in their order; empty for an option
	// without one.
	Pictures []string `json:"pictures,omitempty"`
}

// PollSettings are the settings that have one name and one type in a configuration, in the view of
// a poll and in the resource Poll, and that a poll has only if it was asked for them. Each is a
// boolean, an int64 or a string whose default is its zero value. The text of a field is that of
// the resource. A new one stands at the end, because sinks store the members in this order.
type PollSettings struct {
	// PublicResults shows the results to everyone, without a credential and from caches,
	// while viewers see them at all.
	PublicResults bool `json:"publicResults,omitempty"`

	// Verifiable lists the votes under pseudonyms, so that viewers can check theirs and
	// everyone can recount the result. It changes only while the poll has no votes. The
	// Backend needs a key of its own for it. A poll that hides its results needs showCount.
	Verifiable bool `json:"verifiable,omitempty"`

	// DeviceVoting lets devices vote through a link, without a credential of a viewer: one vote
	// for each device, which a person with several devices or browsers can have several times.
	DeviceVoting bool `json:"deviceVoting,omitempty"`

	// WeightedVotes lets the vote of a viewer count as often as vote_weight in the viewer's token
	// says. The extension's own server signs such tokens, for subscribers for example.
	WeightedVotes bool `json:"weightedVotes,omitempty"`

	// Entries sets when everyone can read the list of votes of a verifiable poll: close, after
	// the poll is closed; live, while it takes votes, which needs results that viewers always see;
	// or never. By default it is close. This and the three fields below change only while the
	// poll has no votes.
	// +kubebuilder:validation:Enum=close;live;never
	Entries string `json:"entries,omitempty"`

	// MinVoters is the number of voters from which on everyone can read the list of votes of a
	// verifiable poll, 50 by default: among few people, order and time tell who voted for what.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	MinVoters int64 `json:"minVoters,omitempty"`

	// KeepDays is the number of days for which the list of votes of a verifiable poll stays after
	// the final result, 30 by default, whatever the retention.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=365
	KeepDays int64 `json:"keepDays,omitempty"`

	// NoReceipts has a verifiable poll give no receipts, with which voters could prove to others
	// how they voted. Anyone can still recount the result.
	NoReceipts bool `json:"noReceipts,omitempty"`
}

// DefaultPollConfig is in force while a poll has none of its own: one vote for each
// identity, no schedule.
func DefaultPollConfig() PollConfig {
	return PollConfig{DistinctOptionsPerUser: 1, TotalVotesPerUser: 1, VotesPerOption: 1}
}

// PollIDBound bounds the id of a poll with a configuration, in the member of that name.
func PollIDBound(member, id string) Bound {
	return Bound{member, Characters, int64(utf8.RuneCountInString(id)), 0, MaxPollID}
}

// Bounds returns the limits of the members, with the sizes that c has.
func (c *PollConfig) Bounds() []Bound {
	return []Bound{
		{"distinctOptionsPerUser", Between, c.DistinctOptionsPerUser, 1, MaxDistinctOptions},
		{"totalVotesPerUser", Between, c.TotalVotesPerUser, 1, MaxTotalVotes},
		{"votesPerOption", Positive, c.VotesPerOption, 1, 0},
		{"minVoters", Between, cmp.Or(c.MinVoters, DefaultMinVoters), 1, MaxMinVoters},
		{"keepDays", Between, cmp.Or(c.KeepDays, DefaultKeepDays), 1, MaxKeepDays},
		{"prompt", Bytes, int64(len(c.Prompt)), 0, MaxPrompt},
		{"options", Entries, int64(len(c.Options)), 0, MaxOptions},
		{"options", EachBytes, longest(c.Options), 0, MaxOption},
		{"userData", Bytes, int64(len(c.UserData)), 0, MaxUserData},
	}
}

// The times from which on everyone can read the entries of a verifiable poll. The empty one, which is
// stored, is EntriesAfterClose.
const (
	EntriesAfterClose = "close"
	EntriesLive       = "live"
	EntriesNever      = "never"
)

// Visibility decides when viewers see the results of a poll. Staff always does.
type Visibility string

// The visibilities of section 2.4. The empty one, which is stored, is VisibleAlways.
const (
	VisibleAlways     Visibility = "always"
	VisibleAfterVote  Visibility = "afterVote"
	VisibleAfterClose Visibility = "afterClose"
	VisibleToStaff    Visibility = "staff"
)

// Poll is a configured poll as its viewers see it, without its statistics: the answer
// to GET /poll and the data of poll_update (section 2.10). Nothing in it depends on votes.
// The order of its members is part of what sinks store.
type Poll struct {
	ID       string          `json:"id"`
	Prompt   string          `json:"prompt"`
	Options  []string        `json:"options"`
	UserData json.RawMessage `json:"userData"`

	Status   Status `json:"status"`
	Disabled bool   `json:"disabled"`
	StartsAt int64  `json:"startsAt"`
	EndsAt   int64  `json:"endsAt"`

	UserIDVoting           bool  `json:"userIDVoting"`
	LoggedInOnly           bool  `json:"loggedInOnly"`
	DistinctOptionsPerUser int64 `json:"distinctOptionsPerUser"`
	TotalVotesPerUser      int64 `json:"totalVotesPerUser"`
	VotesPerOption         int64 `json:"votesPerOption"`
	Global                 bool  `json:"global"`
	Strict                 bool  `json:"strict,omitempty"`
	PollSettings

	ResultsVisibility Visibility `json:"resultsVisibility"`
	ShowCount         bool       `json:"showCount"`
	// Hidden reports that viewers do not see the results while the poll has this status;
	// with VisibleAfterVote, viewers that have not voted.
	Hidden bool `json:"hidden"`

	Version         int64 `json:"version"`
	QuestionChanged int64 `json:"questionChanged,omitempty"`
	// VotedVersion is the version under which the caller has voted, where it is known and another
	// one. Lists and events, which many see, leave it out.
	VotedVersion int64 `json:"votedVersion,omitempty"`
	// TieBreak is the value of the option that staff chose after a tie, nil for none.
	TieBreak *int64 `json:"tieBreak,omitempty"`
	// Pictures are the ids of the pictures of the options, as in PollConfig.
	Pictures []string `json:"pictures,omitempty"`
}
