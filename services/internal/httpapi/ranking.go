package httpapi

import (
	"context"
	"net/http"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/ranking"
)

// Ranking is what the ranking routes need of package ranking.
type Ranking interface {
	Submit(ctx context.Context, q ranking.Question, identity, key string) (ranking.Answer, error)
	Top(ctx context.Context, q ranking.Question, limit int) ([]ranking.Score, error)
	Clear(ctx context.Context, q ranking.Question) error
}

// rankingRoutes are those of section 4.3.
func (a *API) rankingRoutes() []Route {
	if a.config.Ranking == nil {
		return nil
	}
	return []Route{
		{Method: http.MethodPost, Path: "/rank", access: anyone(), handle: a.postRank},
		{Method: http.MethodGet, Path: "/rank", access: staff(), handle: a.getRank, compress: true},
		{Method: http.MethodDelete, Path: "/rank", access: staff(), handle: a.deleteRank},
	}
}

func (r *request) question() (ranking.Question, error) {
	id, err := r.id()
	return ranking.Question{
		Environment: string(r.caller.Environment),
		Extension:   r.caller.Extension.ClientID,
		Channel:     r.caller.ChannelID,
		ID:          id,
	}, err
}

type answer struct {
	Accepted bool    `json:"accepted"`
	Original *string `json:"original,omitempty"`
}

func (a *API) postRank(w http.ResponseWriter, r *request) error {
	question, err := r.question()
	if err != nil {
		return err
	}
	body := decodeObject(r.body)
	key := body.text("key")
	if body.err != nil {
		return body.err
	}
	got, err := a.config.Ranking.Submit(r.Context(), question, r.caller.identity(), key)
	if err != nil {
		return err
	}
	return encode(w, answer{got.Accepted, got.Original})
}

type score struct {
	Key   string `json:"key"`
	Score int64  `json:"score"`
}

// defaultTop is how many entries GET /rank returns unless asked for more.
const defaultTop = 100

func (a *API) getRank(w http.ResponseWriter, r *request) error {
	question, err := r.question()
	if err != nil {
		return err
	}
	limit, err := r.positive("limit")
	if err != nil {
		return err
	}
	switch {
	case limit == 0:
		limit = defaultTop
	case limit > ranking.MaxLimit:
		return fault.New(fault.Invalid, "Malformed limit parameter")
	}
	top, err := a.config.Ranking.Top(r.Context(), question, limit)
	if err != nil {
		return err
	}
	list := newList(w, r, "data")
	for _, entry := range top {
		if err := list.add(score{entry.Key, entry.Score}); err != nil {
			return err
		}
	}
	return list.end("")
}

func (a *API) deleteRank(w http.ResponseWriter, r *request) error {
	question, err := r.question()
	if err != nil {
		return err
	}
	return done(w, a.config.Ranking.Clear(r.Context(), question))
}
