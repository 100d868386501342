package httpapi

import (
	"net/http"

	"github.com/acclaim-dev/acclaim/services/state"
)

// configRoutes are those of section 4.5.
func (a *API) configRoutes() []Route {
	if a.config.State == nil {
		return nil
	}
	routes := []Route{{Method: http.MethodGet, Path: "/config", access: anyone(), handle: a.getConfig}}
	routes = append(routes, a.documentRoutes("/config/channel", state.ChannelConfig, allow(Admin, Broadcaster), allow(Admin, Broadcaster))...)
	return append(routes, a.documentRoutes("/config/extension", state.ExtensionConfig, allow(Admin), allow(Admin))...)
}

func (a *API) getConfig(w http.ResponseWriter, r *request) error {
	return a.readTogether(w, r, []string{"channel", "extension"}, state.ChannelConfig, state.ExtensionConfig)
}
