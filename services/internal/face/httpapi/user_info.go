package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

type userInfo struct {
	ServerTime      int64  `json:"server_time"` // Unix milliseconds
	IPAddress       string `json:"ip_address"`
	Registered      bool   `json:"registered"`
	VisualizationID string `json:"visualization_id"`
}

func (a *API) getUserInfo(w http.ResponseWriter, r *apiRequest) error {
	id, err := a.ReadSession(r.Context(), &r.Call)
	if err != nil {
		return err
	}
	r.x.notes = nil // the caller is noted
	return writeValue(w, userInfo{
		ServerTime:      a.Config.Now().UnixMilli(),
		IPAddress:       clientAddress(r.Request),
		Registered:      r.Caller.UserID != "",
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
