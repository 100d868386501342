package httpapi

import (
	"net/http"

	"github.com/acclaim-dev/acclaim/services/sandbox"
)

// Sandbox is what the authtoken route needs of package sandbox.
type Sandbox interface {
	Tokens(r sandbox.Request) ([]string, error)
}

// sandboxRoutes is that of section 4.6.
func (a *API) sandboxRoutes() []Route {
	if a.config.Sandbox == nil {
		return nil
	}
	return []Route{{Method: http.MethodPost, Path: "/authtoken", public: true, handle: a.postAuthToken}}
}

func (a *API) postAuthToken(w http.ResponseWriter, r *request) error {
	body := decodeObject(r.body)
	in := sandbox.Request{
		ExtensionID: body.text("extension_id"),
		AppID:       body.text("app_id"),
		ChannelID:   body.text("channel_id"),
		UserID:      body.text("user_id"),
		Role:        body.text("role"),
		UserIDs:     body.texts("user_ids"),
	}
	if body.err != nil {
		return body.err
	}
	tokens, err := a.config.Sandbox.Tokens(in)
	if err != nil {
		return err
	}
	if len(in.UserIDs) > 0 {
		return encode(w, map[string][]string{"tokens": tokens})
	}
	return encode(w, map[string]string{"token": tokens[0]})
}
