package httpapi

import (
	"encoding/json"
	"net/http"

	"github.com/acclaim-dev/acclaim/services/message"
)

// storeRoutes returns the routes of the named documents of a channel.
func storeRoutes() []Route {
	return []Route{
		{Method: http.MethodGet, Path: "/json_store", access: anyone(), handle: (*API).getStore},
		{Method: http.MethodPost, Path: "/json_store", access: staff(), handle: (*API).postStore},
	}
}

func (a *API) getStore(w http.ResponseWriter, r *apiRequest) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	found, err := a.config.State.ReadNamed(r.Context(), r.caller.stateCaller(), id)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, bodyOf(found))
	return nil
}

// storeUpdate is the data of the event that follows each write.
type storeUpdate struct {
	ID    string          `json:"id"`
	Value json.RawMessage `json:"value"`
}

func (a *API) postStore(w http.ResponseWriter, r *apiRequest) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	if err := a.editDocuments(r, 1, func(existing bool) error {
		return a.config.State.WriteNamed(r.Context(), r.caller.stateCaller(), id, r.body, existing)
	}); err != nil {
		return err
	}
	data, err := json.Marshal(storeUpdate{id, compactJSON(r.body)})
	if err != nil {
		return err
	}
	m := message.Message{Name: "json_store_update:" + id, Data: data}
	return writeDone(w, a.config.Messages.Announce(r.Context(), r.caller.feed(), m))
}
