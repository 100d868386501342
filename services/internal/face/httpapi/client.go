package httpapi

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/acclaim-dev/acclaim/services/internal/limit"
)

// TrustedProxies are the networks of the proxies before this process, which name their
// clients in X-Forwarded-For.
type TrustedProxies []netip.Prefix

// Includes reports whether an address is that of a trusted proxy.
func (t TrustedProxies) Includes(address netip.Addr) bool {
	address = address.Unmap()
	return slices.ContainsFunc(t, func(p netip.Prefix) bool { return p.Contains(address) })
}

// ClientNetwork returns the network that stands for one client in budgets: an address
// of version 4, or the 64 bits that a client of version 6 chooses addresses in.
func ClientNetwork(address netip.Addr) netip.Prefix {
	address = address.Unmap().WithZone("")
	bits := 64
	if address.Is4() {
		bits = 32
	}
	prefix, _ := address.Prefix(bits) // fails for too many bits only
	return prefix
}

// clientOf returns the address of a request's client: the other end of the connection,
// or the last address in X-Forwarded-For that is no trusted proxy. ok is false where a
// trusted proxy names no client.
func (t TrustedProxies) clientOf(r *http.Request) (client netip.Addr, ok bool) {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}, false
	}
	if !t.Includes(peer.Addr()) {
		return peer.Addr(), true
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		address, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			break
		}
		if client, ok = address, true; !t.Includes(client) {
			break
		}
	}
	return client, ok
}

// ClientNetworkOf returns the network that stands for the client of a request in budgets. ok
// is false where a trusted proxy names no client.
func (t TrustedProxies) ClientNetworkOf(r *http.Request) (client netip.Prefix, ok bool) {
	address, ok := t.clientOf(r)
	if !ok {
		return netip.Prefix{}, false
	}
	return ClientNetwork(address), true
}

// takeRequest returns a lease of one request for the address of the client.
func (a *API) takeRequest(r *apiRequest) (*limit.Lease[netip.Prefix], error) {
	if client, ok := a.proxies.clientOf(r.Request); ok {
		r.Client = ClientNetwork(client)
		a.proxyWatch.noteNamed(r.Request, r.Client)
	}
	return a.Config.Budgets.TakeRequest(a.Config.Environment, r.Client)
}

// noteUnnamed notes a request of a viewer whose client a trusted proxy does not name. Staff
// needs no proxy.
func (a *API) noteUnnamed(r *apiRequest) {
	if r.Caller != nil && !r.Caller.IsAudience() {
		return
	}
	if !r.Client.IsValid() {
		a.proxyWatch.noteUnnamed(r.Request)
	}
}
