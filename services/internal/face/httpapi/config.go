package httpapi

import (
	"net/http"

	"github.com/acclaim-dev/acclaim/services/state"
)

func (a *API) getConfig(w http.ResponseWriter, r *apiRequest) error {
	return a.readTogether(w, r, []string{"channel", "extension"}, state.ChannelConfig, state.ExtensionConfig)
}
