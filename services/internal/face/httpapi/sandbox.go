package httpapi

import (
	"net/http"

	"github.com/acclaim-dev/acclaim/services/internal/operation"
	"github.com/acclaim-dev/acclaim/services/sandbox"
)

func (a *API) postAuthToken(w http.ResponseWriter, r *apiRequest) error {
	body := operation.DecodeObject(r.Sent)
	in := sandbox.Request{
		ExtensionID: body.Text("extension_id"),
		AppID:       body.Text("app_id"),
		ChannelID:   body.Text("channel_id"),
		UserID:      body.Text("user_id"),
		Role:        body.Text("role"),
		UserIDs:     body.Texts("user_ids"),
	}
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
