package httpapi

import (
	"net/http"

	"github.com/acclaim-dev/acclaim/services/internal/operation"
)

func (a *API) postAuthToken(w http.ResponseWriter, r *apiRequest) error {
	body := operation.DecodeObject(r.Sent)
	in := operation.DecodeTokenRequest(body)
	if body.Err != nil {
		return body.Err
	}
	tokens, err := a.IssueSandboxTokens(&r.Call, in)
	if err != nil {
		return err
	}
	if len(in.UserIDs) > 0 {
		return writeValue(w, map[string][]string{"tokens": tokens})
	}
	return writeValue(w, map[string]string{"token": tokens[0]})
}
