package httpapi

import (
	"net/http"

	"github.com/acclaim-dev/acclaim/services/state"
)

// configRoutes returns the routes of section 4.5, those of the hosted service's overview
// pages included.
func configRoutes() (routes []Route) {
	for _, path := range []string{"/config", "/all_config"} {
		routes = append(routes, Route{Method: http.MethodGet, Path: path, access: anyone(), handle: (*API).getConfig})
	}
	for _, path := range []string{"/config/channel", "/channel_config"} {
		routes = append(routes, documentRoutes(path, state.ChannelConfig, anyone(), allowRoles(Admin, Broadcaster))...)
	}
	for _, path := range []string{"/config/extension", "/extension_config"} {
		routes = append(routes, documentRoutes(path, state.ExtensionConfig, anyone(), allowRoles(Admin))...)
	}
	return routes
}

func (a *API) getConfig(w http.ResponseWriter, r *apiRequest) error {
	return a.readTogether(w, r, []string{"channel", "extension"}, state.ChannelConfig, state.ExtensionConfig)
}
