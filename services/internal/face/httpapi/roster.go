package httpapi

import (
	"net/http"
	"strconv"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// listedUser is an element of the answer to GET /user_ids.
type listedUser struct {
	ID string `json:"twitch_id"`
}

func (a *API) getUserIDs(w http.ResponseWriter, r *apiRequest) error {
	var from uint64
	if cursor, _ := r.queryParameter("cursor"); cursor != "" {
		var err error
		if from, err = strconv.ParseUint(cursor, 10, 63); err != nil {
			return fault.New(fault.Invalid, "Malformed cursor parameter")
		}
	}
	page, err := a.ListUserIDs(r.Context(), &r.Call, from)
	if err != nil {
		return err
	}
	answer := struct {
		Next    string       `json:"next"`
		Results []listedUser `json:"results"`
	}{strconv.FormatUint(page.Next, 10), make([]listedUser, len(page.UserIDs))}
	for i, id := range page.UserIDs {
		answer.Results[i].ID = id
	}
	return writeValue(w, answer)
}
