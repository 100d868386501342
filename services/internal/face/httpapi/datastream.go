package httpapi

import (
	"bytes"
	"net/http"

	"github.com/acclaim-dev/acclaim/services/internal/operation"
)

// postDatastream keeps the object as it came, but for insignificant white space.
func (a *API) postDatastream(w http.ResponseWriter, r *apiRequest) error {
	body := operation.DecodeObject(r.Sent)
	if body.Err != nil {
		return body.Err
	}
	if err := operation.CheckStored(r.Sent); err != nil {
		return err
	}
	return writeDone(w, a.SendToGames(r.Context(), &r.Call, operation.CompactJSON(bytes.Clone(r.Sent))))
}
