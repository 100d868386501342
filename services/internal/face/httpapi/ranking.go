package httpapi

import (
	"cmp"
	"context"
	"net/http"

	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/schedule"
	"github.com/acclaim-dev/acclaim/services/ranking"
)

// Ranking is the part of package ranking that its routes use.
type Ranking interface {
	Submit(ctx context.Context, q ranking.Question, identity, key string, keys ...*once.Key) (ranking.Answer, error)
	SubmitExisting(ctx context.Context, q ranking.Question, identity, key string, keys ...*once.Key) (ranking.Answer, error)
	Top(ctx context.Context, q ranking.Question, standing ranking.Standing, limit int) ([]ranking.Score, error)
	Config(ctx context.Context, q ranking.Question) (ranking.Config, schedule.Status, bool, error)
	Change(ctx context.Context, q ranking.Question, c ranking.Change, keys ...*once.Key) (digest string, err error)
	Moderate(ctx context.Context, q ranking.Question, m ranking.Moderation) error
	Clear(ctx context.Context, q ranking.Question) error
}

// rankingRoutes returns the routes of section 4.3.
func rankingRoutes() []Route {
	return []Route{
		{Method: http.MethodPost, Path: "/rank", access: anyone(), handle: (*API).postRank},
		{Method: http.MethodGet, Path: "/rank", access: allowRoles(Broadcaster, Admin, Backend, Overlay), handle: (*API).getRank, compress: true},
		{Method: http.MethodDelete, Path: "/rank", access: staff(), handle: (*API).deleteRank},
		{Method: http.MethodGet, Path: "/rank_config", access: anyone(), handle: (*API).getRankConfig},
		{Method: http.MethodPost, Path: "/rank_config", access: staff(), handle: (*API).postRankConfig},
		{Method: http.MethodPatch, Path: "/rank_config", access: staff(), handle: (*API).patchRankConfig},
		{Method: http.MethodPost, Path: "/rank_moderation", access: staff(), handle: (*API).postRankModeration},
	}
}

func (r *apiRequest) question() (ranking.Question, error) {
	id, err := r.anyID()
	if err == nil && r.caller.Role == Overlay && !r.caller.Key.ShowsQuestion(id) {
		err = errRole()
	}
	return r.caller.question(id), err
}

// question returns the question that the id names for the caller (section 2.1).
func (c *Caller) question(id string) ranking.Question {
	return ranking.Question{
		Environment: string(c.Environment),
		Extension:   c.Extension.ClientID,
		Channel:     c.ChannelID,
		ID:          id,
	}
}

type answer struct {
	Accepted bool    `json:"accepted"`
	Original *string `json:"original,omitempty"`
	Held     bool    `json:"held,omitempty"`
	Reason   string  `json:"reason,omitempty"`
}

func (a *API) postRank(w http.ResponseWriter, r *apiRequest) error {
	question, err := r.question()
	if err != nil {
		return err
	}
	body := decodeObject(r.body)
	key := body.text("key")
	if body.err != nil {
		return body.err
	}
	keys, err := a.requestKeys(r, question.ID)
	if err != nil {
		return err
	}
	var got ranking.Answer
	err = a.addEntry(r, isGlobal(question.ID), func(existing bool) (err error) {
		submit := a.config.Ranking.Submit
		if existing {
			submit = a.config.Ranking.SubmitExisting
		}
		got, err = submit(r.Context(), question, r.caller.identity(), key, keys...)
		return err
	})
	if err != nil {
		return err
	}
	markReplayed(w, keys)
	return writeValue(w, answer(got))
}

// defaultTop is the default limit of GET /rank.
const defaultTop = 100

// topLimit returns the number of answers that GET /rank asks for.
func (r *apiRequest) topLimit() (int, error) {
	limit, err := r.positiveParameter("limit")
	if err == nil && limit > ranking.MaxLimit {
		err = fault.New(fault.Invalid, "Malformed limit parameter")
	}
	return cmp.Or(limit, defaultTop), err
}

// standingOf returns the standing of the answers that GET /rank asks for. The audience of a
// question sees those alone that are visible.
func (r *apiRequest) standingOf(question ranking.Question) (ranking.Standing, error) {
	state, named := r.queryParameter("state")
	standing, ok := ranking.ParseStanding(state)
	if named && !ok {
		return standing, fault.New(fault.Invalid, "Malformed state parameter")
	}
	if r.caller.isAudienceOf(question.ID) && standing != ranking.Visible {
		return standing, errRole()
	}
	return standing, nil
}

func (a *API) getRank(w http.ResponseWriter, r *apiRequest) error {
	question, err := r.question()
	if err != nil {
		return err
	}
	limit, err := r.topLimit()
	if err != nil {
		return err
	}
	standing, err := r.standingOf(question)
	if err != nil {
		return err
	}
	top, err := a.config.Ranking.Top(r.Context(), question, standing, limit)
	if err != nil {
		return err
	}
	list := newListWriter(w, r, "data")
	for _, entry := range top {
		if err := list.add(entry); err != nil {
			return err
		}
	}
	return list.end("")
}

func (a *API) deleteRank(w http.ResponseWriter, r *apiRequest) error {
	question, err := r.question()
	if err != nil {
		return err
	}
	if err := r.caller.checkOwner(question.ID); err != nil {
		return err
	}
	return writeDone(w, a.config.Ranking.Clear(r.Context(), question))
}

// rankConfigAnswer is the answer to GET /rank_config. Only staff sees the block list.
type rankConfigAnswer struct {
	ranking.Config
	Blocked []string        `json:"blocked,omitempty"`
	Status  schedule.Status `json:"status"`
}

func (a *API) getRankConfig(w http.ResponseWriter, r *apiRequest) error {
	question, err := r.question()
	if err != nil {
		return err
	}
	config, status, saved, err := a.config.Ranking.Config(r.Context(), question)
	if err != nil {
		return err
	}
	if !saved {
		return fault.New(fault.NotFound, "The question has no configuration")
	}
	answer := rankConfigAnswer{Config: config, Status: status}
	if !r.caller.isAudienceOf(question.ID) {
		answer.Blocked = config.Blocked
		w.Header().Set("ETag", digestTag(config.Digest())) // with which a viewer could guess blocked words
	}
	return writeValue(w, answer)
}

// decodeRankConfig reads a configuration (section 2.11); what was left out has its default.
func decodeRankConfig(in *jsonObject) ranking.Config {
	c := ranking.DefaultConfig()
	if in.has("normalization") {
		c.Normalization = ranking.Normalization(in.text("normalization"))
	}
	c.MinLength, c.MaxLength = in.integer("minLength", c.MinLength), in.integer("maxLength", c.MaxLength)
	c.Blocked = append([]string{}, in.texts("blocked")...)
	c.AnswersPerViewer = in.integer("answersPerViewer", c.AnswersPerViewer)
	c.Schedule = decodeSchedule(in)
	c.HoldAnswers = in.boolean("holdAnswers")
	return c
}

func (a *API) postRankModeration(w http.ResponseWriter, r *apiRequest) error {
	return a.writeQuestion(w, r, func(body *jsonObject) func(context.Context, ranking.Question) error {
		m := ranking.Moderation{Action: ranking.Action(body.text("action")), Key: body.text("key"), Into: body.text("into")}
		m.Actor = ranking.StaffActor{Role: string(r.caller.Role), ID: r.caller.actor()}
		return func(ctx context.Context, q ranking.Question) error { return a.config.Ranking.Moderate(ctx, q, m) }
	})
}

// writeQuestion runs a write of the owner of a question that decode reads from the body.
func (a *API) writeQuestion(w http.ResponseWriter, r *apiRequest, decode func(*jsonObject) func(context.Context, ranking.Question) error) error {
	id, err := r.ownedID()
	if err != nil {
		return err
	}
	body := decodeObject(r.body)
	write := decode(body)
	if body.err != nil {
		return body.err
	}
	a.favourChannel(r.caller)
	return writeDone(w, write(r.Context(), r.caller.question(id)))
}
