package httpapi

import (
	"net/http"

	"github.com/acclaim-dev/acclaim/services/internal/operation"
	"github.com/acclaim-dev/acclaim/services/pairing"
)

// newStaffKey is the answer to the creation of a key. Its credential is in no other answer.
type newStaffKey struct {
	pairing.StaffKey
	// Credential is the value of the Authorization header, and of access_token.
	Credential string `json:"credential"`
}

func (a *API) postStaffKey(w http.ResponseWriter, r *apiRequest) error {
	body := operation.DecodeObject(r.Sent)
	key := pairing.StaffKey{Name: body.Text("name"), Scopes: body.Texts("scopes")}
	if body.Has("expires") {
		key.Expires = max(1, body.Integer("expires", 0)) // 0 is none
	}
	if body.Err != nil {
		return body.Err
	}
	made, credential, err := a.CreateStaffKey(r.Context(), &r.Call, key)
	if err != nil {
		return err
	}
	return writeValue(w, newStaffKey{made, credential})
}

func (a *API) getStaffKeys(w http.ResponseWriter, r *apiRequest) error {
	keys, err := a.ListStaffKeys(r.Context(), &r.Call)
	if err != nil {
		return err
	}
	return writeValue(w, map[string][]pairing.StaffKey{"keys": append([]pairing.StaffKey{}, keys...)})
}

func (a *API) deleteStaffKey(w http.ResponseWriter, r *apiRequest) error {
	id, _ := r.queryParameter("id")
	return writeDone(w, a.RevokeStaffKey(r.Context(), &r.Call, id))
}

func (a *API) getStaff(w http.ResponseWriter, r *apiRequest) error {
	session, err := a.ReadStaffSession(r.Context(), &r.Call)
	if err != nil {
		return err
	}
	return writeValue(w, session)
}
