package httpapi

import (
	"net/http"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

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

func refuseTrivia(*API, http.ResponseWriter, *apiRequest) error {
	return fault.New(fault.Invalid, noTrivia)
}
