package httpapi

import (
	"net/http"

	"github.com/acclaim-dev/acclaim/services/internal/operation"
)

func (a *API) getStore(w http.ResponseWriter, r *apiRequest) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	found, err := a.ReadNamedDocument(r.Context(), &r.Call, id)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, operation.BodyOf(found))
	return nil
}

func (a *API) postStore(w http.ResponseWriter, r *apiRequest) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	return writeDone(w, a.WriteNamedDocument(r.Context(), &r.Call, id, r.Sent))
}
