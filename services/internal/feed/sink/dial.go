package sink

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// NewTransport returns the transport to other systems. The registry names them, and not
// only this program's operator writes that. So unless private addresses are allowed, it
// connects to public ones alone, which it checks after their names are resolved, and only
// with TLS. It obeys no proxy, which would resolve names itself.
func NewTransport(allowPrivate bool) http.RoundTripper {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	transport := &http.Transport{
		DialContext:           dialer.DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          100,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
	if allowPrivate {
		return transport
	}
	dialer.Control = checkAddress
	return secureTransport{transport}
}

// secureTransport refuses requests without TLS.
type secureTransport struct{ *http.Transport }

func (t secureTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" {
		return nil, errPlain
	}
	return t.Transport.RoundTrip(r)
}

var (
	errPlain   = errors.New("plain http is not allowed without --sink-allow-private")
	errPrivate = errors.New("the address is not public, and not allowed without --sink-allow-private")
)

// checkAddress is a net.Dialer.Control: the dialer connects to address.
func checkAddress(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !isPublic(to.Addr()) {
		return errPrivate
	}
	return nil
}

// isPublic reports whether an address belongs to the public internet.
func isPublic(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLinkLocalUnicast() {
		return false
	}
	return !slices.ContainsFunc(reservedPrefixes(), func(p netip.Prefix) bool { return p.Contains(a) })
}

// reservedPrefixes returns prefixes that netip takes for global and that are not of the public internet:
// IANA's special-purpose registries, IPv6 addresses that stand for IPv4 ones, and the
// address at which Azure's hosts answer their machines.
func reservedPrefixes() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("168.63.129.16/32"),
		netip.MustParsePrefix("192.0.0.0/24"), netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("192.88.99.0/24"),
		netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24"),
		netip.MustParsePrefix("240.0.0.0/4"),
		netip.MustParsePrefix("::/96"), netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"),
		netip.MustParsePrefix("100::/64"), netip.MustParsePrefix("2001::/23"), netip.MustParsePrefix("2001:db8::/32"),
		netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("3fff::/20"), netip.MustParsePrefix("fec0::/10"),
	}
}
