package httpapi

import (
	"net/http"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// codeRoutes returns the routes of game codes. There are none here: clients of the hosted
// service see that they have nothing to redeem.
func codeRoutes() []Route {
	routes := []Route{
		{Method: http.MethodGet, Path: "/codes/redeemed", access: anyone(), handle: answerWith(`{"redeemed":[]}`)},
		{Method: http.MethodPost, Path: "/codes/redeem", access: anyone(), handle: answerWith(`{"all_prizes":[]}`)},
		{Method: http.MethodGet, Path: "/codes", access: adminOrBackend(), handle: answerWith(`{"names":[]}`)},
		{Method: http.MethodDelete, Path: "/codes", access: adminOrBackend(), handle: answerWith(`{"distributed":[]}`)},
		{Method: http.MethodPost, Path: "/codes/mark_from_poll", access: adminOrBackend(), handle: answerWith(`{"marked":0}`)},
		{Method: http.MethodPost, Path: "/codes/mark_from_list", access: adminOrBackend(), handle: answerWith(`{"marked":0}`)},
	}
	for _, path := range []string{"/codes/eligible", "/codes/eligibility"} {
		routes = append(routes, Route{Method: http.MethodGet, Path: path, access: anyone(), handle: answerWith(`{"eligible":[]}`)})
	}
	return routes
}

// triviaRoutes returns the routes of trivia and its teams. There are no questions and
// no teams here.
func triviaRoutes() []Route {
	routes := []Route{
		{Method: http.MethodGet, Path: "/curated_poll", access: anyone(), handle: (*API).getTrivia},
		{Method: http.MethodPost, Path: "/curated_poll", access: anyone(), handle: refuseWith(noTrivia)},
		{Method: http.MethodGet, Path: "/curated_poll_leaderboard", access: anyone(), handle: answerWith(`{"leaderboard":[]}`)},
		{Method: http.MethodGet, Path: "/team_membership", access: anyone(), handle: answerWith(`{"id":""}`)},
		{Method: http.MethodPost, Path: "/team_membership", access: anyone(), handle: answerWith(`{"id":""}`)},
		{Method: http.MethodPost, Path: "/curated_poll_state", access: adminOrBackend(), handle: refuseWith(noTrivia)},
	}
	for _, path := range []string{"/curated_poll_edit", "/curated_poll_edit_option"} {
		for _, method := range []string{http.MethodPost, http.MethodDelete} {
			routes = append(routes, Route{Method: method, Path: path, access: adminOrBackend(), handle: refuseWith(noTrivia)})
		}
	}
	return routes
}

const noTrivia = "This service has no trivia questions"

func (a *API) getTrivia(w http.ResponseWriter, r *apiRequest) error {
	if _, named := r.queryParameter("id"); named {
		return fault.New(fault.Invalid, noTrivia)
	}
	writeJSON(w, http.StatusOK, []byte(`{"questions":[]}`))
	return nil
}

func answerWith(body string) routeHandler {
	return func(_ *API, w http.ResponseWriter, _ *apiRequest) error {
		writeJSON(w, http.StatusOK, []byte(body))
		return nil
	}
}

func refuseWith(reason string) routeHandler {
	return func(*API, http.ResponseWriter, *apiRequest) error { return fault.New(fault.Invalid, reason) }
}
