package voting

import (
	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/exactjson"
)

// PollView is a configured poll as its viewers see it.
type PollView contract.Poll

// View returns a configuration as viewers see it while the poll with the given id has a
// status.
func (c *Config) View(id string, status contract.Status) PollView {
	v := PollView{
		ID: id, Prompt: c.Prompt, Options: c.Options, UserData: c.UserData,
		Status: status, Disabled: c.Disabled, StartsAt: c.StartsAt, EndsAt: c.EndsAt,
		UserIDVoting: c.UserIDVoting, LoggedInOnly: c.LoggedInOnly,
		DistinctOptionsPerUser: c.DistinctOptionsPerUser, TotalVotesPerUser: c.TotalVotesPerUser, VotesPerOption: c.VotesPerOption,
		Global: isGlobal(id), Strict: c.Strict, PollSettings: c.PollSettings,
		ResultsVisibility: c.ResultsVisibility, ShowCount: c.ShowCount, Hidden: c.HidesResults(status),
		Version: c.Version, QuestionChanged: c.QuestionChanged, TieBreak: c.TieBreak, Pictures: c.Pictures,
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
