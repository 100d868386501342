package httpapi

import (
	"cmp"
	"net/http"
	"strconv"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
	"github.com/acclaim-dev/acclaim/services/ranking"
)

type answer struct {
	Accepted bool    `json:"accepted"`
	Original *string `json:"original,omitempty"`
	Held     bool    `json:"held,omitempty"`
	Reason   string  `json:"reason,omitempty"`
}

func (a *API) postRank(w http.ResponseWriter, r *apiRequest) error {
	id, err := r.anyID()
	if err != nil {
		return err
	}
	body := operation.DecodeObject(r.Sent)
	key := body.Text("key")
	if body.Err != nil {
		return body.Err
	}
	got, err := a.SubmitAnswer(r.Context(), &r.Call, id, key)
	if err != nil {
		return err
	}
	return writeValue(w, answer(got))
}

// topLimit returns the number of answers that GET /rank asks for.
func (r *apiRequest) topLimit() (int, error) {
	limit, err := r.positiveParameter("limit")
	if err == nil && limit > contract.MaxRanking {
		err = fault.New(fault.Invalid, "Malformed limit parameter")
	}
	return cmp.Or(limit, contract.DefaultRanking), err
}

// standing returns the standing of the answers that GET /rank asks for.
func (r *apiRequest) standing() (ranking.Standing, error) {
	state, named := r.queryParameter("state")
	standing, ok := ranking.ParseStanding(state)
	if named && !ok {
		return standing, fault.New(fault.Invalid, "Malformed state parameter")
	}
	return standing, nil
}

func (a *API) getRank(w http.ResponseWriter, r *apiRequest) error {
	id, err := r.anyID()
	if err != nil {
		return err
	}
	if err := r.Caller.CheckReadsQuestion(id); err != nil {
		return err
	}
	limit, err := r.topLimit()
	if err != nil {
		return err
	}
	standing, err := r.standing()
	if err != nil {
		return err
	}
	board, err := a.ReadBoard(r.Context(), &r.Call, id, standing, limit)
	if err != nil {
		return err
	}
	list := newListWriter(w, r, "data")
	for _, entry := range board.Scores {
		if err := list.add(entry); err != nil {
			return err
		}
	}
	return list.end(scheduleMembers(board.Schedule))
}

// scheduleMembers returns the members of an object that name when a question begins and ends.
func scheduleMembers(s contract.Schedule) (members string) {
	if s.StartsAt != 0 {
		members = `,"startsAt":` + strconv.FormatInt(s.StartsAt, 10)
	}
	if s.EndsAt != 0 {
		members += `,"endsAt":` + strconv.FormatInt(s.EndsAt, 10)
	}
	return members
}

func (a *API) deleteRank(w http.ResponseWriter, r *apiRequest) error {
	id, err := r.anyID()
	if err != nil {
		return err
	}
	return writeDone(w, a.ClearQuestion(r.Context(), &r.Call, id))
}

// rankConfigAnswer is the answer to GET /rank_config. Only staff sees the block list.
type rankConfigAnswer struct {
	ranking.Config
	Blocked []string        `json:"blocked,omitempty"`
	Status  contract.Status `json:"status"`
}

func (a *API) getRankConfig(w http.ResponseWriter, r *apiRequest) error {
	id, err := r.anyID()
	if err != nil {
		return err
	}
	config, status, saved, err := a.ReadQuestionConfig(r.Context(), &r.Call, id)
	if err != nil {
		return err
	}
	if !saved {
		return fault.New(fault.NotFound, "The question has no configuration")
	}
	answer := rankConfigAnswer{Config: config, Status: status}
	if !r.Caller.IsAudienceOf(id) {
		answer.Blocked = config.Blocked
		w.Header().Set("ETag", digestTag(config.Digest())) // with which a viewer could guess blocked words
	}
	return writeValue(w, answer)
}

// decodeRankConfig reads a configuration (section 2.11); what was left out has its default.
func decodeRankConfig(in *operation.Object) ranking.Config {
	c := ranking.DefaultConfig()
	if in.Has("normalization") {
		c.Normalization = contract.Normalization(in.Text("normalization"))
	}
	c.MinLength, c.MaxLength = in.Integer("minLength", c.MinLength), in.Integer("maxLength", c.MaxLength)
	c.Blocked = append([]string{}, in.Texts("blocked")...)
	c.AnswersPerViewer = in.Integer("answersPerViewer", c.AnswersPerViewer)
	c.Schedule = operation.DecodeSchedule(in)
	c.HoldAnswers = in.Boolean("holdAnswers")
	return c
}

func (a *API) postRankModeration(w http.ResponseWriter, r *apiRequest) error {
	id, err := r.ownedID()
	if err != nil {
		return err
	}
	body := operation.DecodeObject(r.Sent)
	m := ranking.Moderation{Action: ranking.Action(body.Text("action")), Key: body.Text("key"), Into: body.Text("into")}
	if body.Err != nil {
		return body.Err
	}
	return writeDone(w, a.ModerateAnswers(r.Context(), &r.Call, id, m))
}
