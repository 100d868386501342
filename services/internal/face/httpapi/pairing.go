package httpapi

import (
	"encoding/json"
	"net/http"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
	"github.com/acclaim-dev/acclaim/services/pairing"
)

// openPIN is the answer to the routes that create a PIN.
type openPIN struct {
	Token   string `json:"token"`
	PIN     string `json:"pin"`
	Expires int    `json:"expires_in,omitempty"` // seconds
}

func (a *API) postGameToken(w http.ResponseWriter, r *apiRequest) error {
	var asked struct{ Server bool }
	_ = json.Unmarshal(r.Sent, &asked) // any other body asks for the rights of a broadcaster
	pin, err := a.CreatePIN(r.Context(), &r.Call, asked.Server)
	if err != nil {
		return err
	}
	return writeValue(w, openPIN{pin, pin, int(contract.PINLifetime.Seconds())})
}

func (a *API) postPIN(w http.ResponseWriter, r *apiRequest) error {
	body := operation.DecodeObject(r.Sent)
	identifier := body.Text("identifier")
	if body.Err != nil {
		return body.Err
	}
	pin, token, err := a.OpenPIN(r.Context(), &r.Call, identifier)
	if err != nil {
		return err
	}
	return writeValue(w, openPIN{Token: token, PIN: pin})
}

func (a *API) postValidatePIN(w http.ResponseWriter, r *apiRequest) error {
	body := operation.DecodeObject(r.Sent)
	pin := body.Text("pin")
	if body.Err != nil {
		return body.Err
	}
	return writeDone(w, a.ConfirmPIN(r.Context(), &r.Call, pin))
}

func (a *API) getPINTokenExists(w http.ResponseWriter, r *apiRequest) error {
	exists, err := a.HasPIN(r.Context(), &r.Call)
	if err != nil {
		return err
	}
	return writeValue(w, map[string]bool{"exists": exists})
}

// gameList is the answer to GET /gamelink/games.
type gameList struct {
	Games []pairing.Game `json:"games"`
}

func (a *API) getGames(w http.ResponseWriter, r *apiRequest) error {
	games, err := a.ListGames(r.Context(), &r.Call)
	if err != nil {
		return err
	}
	return writeValue(w, gameList{games})
}

func (a *API) deleteGame(w http.ResponseWriter, r *apiRequest) error {
	return writeDone(w, a.EndGame(r.Context(), &r.Call, r.URL.Query().Get("id")))
}

func (a *API) deletePIN(w http.ResponseWriter, r *apiRequest) error {
	return writeDone(w, a.RevokePIN(r.Context(), &r.Call))
}
