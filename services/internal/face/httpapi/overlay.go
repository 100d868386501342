package httpapi

import (
	"net/http"

	"github.com/acclaim-dev/acclaim/services/internal/operation"
	"github.com/acclaim-dev/acclaim/services/pairing"
)

// newOverlayKey is the answer to the creation of a key. Its credential is in no other
// answer.
type newOverlayKey struct {
	pairing.OverlayKey
	// Credential is the value of the Authorization header, and of access_token.
	Credential string `json:"credential"`
}

func (a *API) postOverlayKey(w http.ResponseWriter, r *apiRequest) error {
	body := operation.DecodeObject(r.Sent)
	key := pairing.OverlayKey{Name: body.Text("name")}
	if body.Has("polls") {
		key.Polls = append([]string{}, body.Texts("polls")...)
	}
	if body.Has("questions") {
		key.Questions = append([]string{}, body.Texts("questions")...)
	}
	if body.Has("expires") {
		key.Expires = max(1, body.Integer("expires", 0)) // 0 is none
	}
	if body.Err != nil {
		return body.Err
	}
	made, credential, err := a.CreateOverlayKey(r.Context(), &r.Call, key)
	if err != nil {
		return err
	}
	return writeValue(w, newOverlayKey{made, credential})
}

func (a *API) getOverlayKeys(w http.ResponseWriter, r *apiRequest) error {
	keys, err := a.ListOverlayKeys(r.Context(), &r.Call)
	if err != nil {
		return err
	}
	return writeValue(w, map[string][]pairing.OverlayKey{"keys": append([]pairing.OverlayKey{}, keys...)})
}

func (a *API) deleteOverlayKey(w http.ResponseWriter, r *apiRequest) error {
	id, _ := r.queryParameter("id")
	return writeDone(w, a.RevokeOverlayKey(r.Context(), &r.Call, id))
}
