package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// userInfoRoutes is the route that browser clients request first.
func userInfoRoutes() []Route {
	return []Route{{Method: http.MethodGet, Path: "/user_info", access: anyone(), handle: (*API).getUserInfo}}
}

type userInfo struct {
	ServerTime      int64  `json:"server_time"` // Unix milliseconds
	IPAddress       string `json:"ip_address"`
	Registered      bool   `json:"registered"`
	VisualizationID string `json:"visualization_id"`
}

func (a *API) getUserInfo(w http.ResponseWriter, r *apiRequest) error {
	id, err := a.config.State.VisualizationID(r.Context(), r.caller.stateCaller())
	if err == nil {
		err = a.noteCaller(r)
	}
	if err != nil {
		return err
	}
	return writeValue(w, userInfo{
		ServerTime:      a.config.Now().UnixMilli(),
		IPAddress:       clientAddress(r.Request),
		Registered:      r.caller.UserID != "",
		VisualizationID: id,
	})
}

// clientAddress returns the address of the client: the first one that a proxy on a
// private network forwards, else the other end of the connection. Only the client
// itself sees it, so forging it gains nothing.
func clientAddress(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	peer, err := netip.ParseAddr(host)
	if err != nil || !peer.IsPrivate() && !peer.IsLoopback() {
		return host
	}
	first, _, _ := strings.Cut(r.Header.Get("X-Forwarded-For"), ",")
	if forwarded, err := netip.ParseAddr(strings.TrimSpace(first)); err == nil {
		return forwarded.String()
	}
	return host
}
