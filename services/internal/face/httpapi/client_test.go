package httpapi

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

func TestClientOf(t *testing.T) {
	proxies := TrustedProxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fc00::/7")}
	for _, test := range []struct {
		peer      string
		forwarded []string
		want      string // "" where no client is named
	}{
		{"203.0.113.9:1", nil, "203.0.113.9/32"},
		{"203.0.113.9:1", []string{"198.51.100.1"}, "203.0.113.9/32"}, // not trusted
		{"[::ffff:203.0.113.9]:1", nil, "203.0.113.9/32"},
		{"[2001:db8:1:2:3::9]:1", nil, "2001:db8:1:2::/64"},
		{"10.1.1.1:1", nil, ""},
		{"10.1.1.1:1", []string{"nonsense"}, ""},
		{"10.1.1.1:1", []string{"198.51.100.1"}, "198.51.100.1/32"},
		{"[fc00::1]:1", []string{"2001:db8::1"}, "2001:db8::/64"},
		{"[::ffff:10.1.1.1]:1", []string{"198.51.100.1"}, "198.51.100.1/32"},
		{"10.1.1.1:1", []string{"6.6.6.6, 198.51.100.1"}, "198.51.100.1/32"}, // the first is the client's own word
		{"10.1.1.1:1", []string{"6.6.6.6", "198.51.100.1, 10.2.2.2"}, "198.51.100.1/32"},
		{"10.1.1.1:1", []string{"10.3.3.3, 10.2.2.2"}, "10.3.3.3/32"},
		{"10.1.1.1:1", []string{"nonsense, 10.2.2.2"}, "10.2.2.2/32"},
		{"pipe", nil, ""},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.RemoteAddr, r.Header["X-Forwarded-For"] = test.peer, test.forwarded
		got := ""
		if client, ok := proxies.clientOf(r); ok {
			got = ClientNetwork(client).String()
		}
		if got != test.want {
			t.Errorf("%s forwarding %q: %s, want %s", test.peer, test.forwarded, got, test.want)
		}
	}
}
