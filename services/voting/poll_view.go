package voting

import (
	"encoding/json"

	"github.com/acclaim-dev/acclaim/services/internal/exactjson"
	"github.com/acclaim-dev/acclaim/services/internal/schedule"
)

// PollView is a configured poll as its viewers see it, without its statistics: the answer
// to GET /poll and the data of poll_update (section 2.10). Nothing in it depends on votes.
type PollView struct {
	ID       string          `json:"id"`
	Prompt   string          `json:"prompt"`
	Options  []string        `json:"options"`
	UserData json.RawMessage `json:"userData"`

	Status   schedule.Status `json:"status"`
	Disabled bool            `json:"disabled"`
	StartsAt int64           `json:"startsAt"`
	EndsAt   int64           `json:"endsAt"`

	UserIDVoting           bool  `json:"userIDVoting"`
	LoggedInOnly           bool  `json:"loggedInOnly"`
	DistinctOptionsPerUser int64 `json:"distinctOptionsPerUser"`
	TotalVotesPerUser      int64 `json:"totalVotesPerUser"`
	VotesPerOption         int64 `json:"votesPerOption"`
	Global                 bool  `json:"global"`
	Strict                 bool  `json:"strict,omitempty"`

	ResultsVisibility Visibility `json:"resultsVisibility"`
	ShowCount         bool       `json:"showCount"`
	// Hidden reports that viewers do not see the results while the poll has this status;
	// with VisibleAfterVote, viewers that have not voted.
	Hidden bool `json:"hidden"`

	Version         int64 `json:"version"`
	QuestionChanged int64 `json:"questionChanged,omitempty"`
}

// View returns a configuration as viewers see it while the poll with the given id has a
// status.
func (c *Config) View(id string, status schedule.Status) PollView {
	v := PollView{
		ID: id, Prompt: c.Prompt, Options: c.Options, UserData: c.UserData,
		Status: status, Disabled: c.Disabled, StartsAt: c.StartsAt, EndsAt: c.EndsAt,
		UserIDVoting: c.UserIDVoting, LoggedInOnly: c.LoggedInOnly,
		DistinctOptionsPerUser: c.DistinctOptionsPerUser, TotalVotesPerUser: c.TotalVotesPerUser, VotesPerOption: c.VotesPerOption,
		Global: isGlobal(id), Strict: c.Strict,
		ResultsVisibility: c.ResultsVisibility, ShowCount: c.ShowCount, Hidden: c.HidesResults(status),
		Version: c.Version, QuestionChanged: c.QuestionChanged,
	}
	if v.Options == nil {
		v.Options = []string{}
	}
	if v.ResultsVisibility == "" {
		v.ResultsVisibility = VisibleAlways
	}
	return v
}

// JSON returns the view as one line. Equal views have equal texts.
func (v PollView) JSON() []byte {
	encoded, err := exactjson.Marshal(v)
	if err != nil {
		panic(err) // as in Config.encodeJSON
	}
	return encoded
}
