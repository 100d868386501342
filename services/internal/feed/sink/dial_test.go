package sink

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

func TestIsPublic(t *testing.T) {
	for _, a := range []string{"1.1.1.1", "8.8.8.8", "172.15.255.255", "172.32.0.0", "100.63.0.1", "2606:4700::1111", "2a00:1450::1"} {
		if !isPublic(netip.MustParseAddr(a)) {
			t.Errorf("%s is refused", a)
		}
	}
	for _, a := range []string{
		"127.0.0.1", "127.1.2.3", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1",
		"169.254.169.254", "169.254.170.2", "100.64.0.1", "100.100.100.200", "168.63.129.16", "192.0.0.192", "198.18.0.1",
		"224.0.0.1", "255.255.255.255", "240.0.0.1", "203.0.113.1",
		"::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "ff02::1", "fec0::1", "2001:db8::1",
		"::ffff:127.0.0.1", "::ffff:100.64.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2001::1",
	} {
		if isPublic(netip.MustParseAddr(a)) {
			t.Errorf("%s is taken for public", a)
		}
	}
}

// A request goes to this machine only where that is allowed, by whichever name.
func TestTransportToThisMachine(t *testing.T) {
	reached := 0
	plain := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ }))
	defer plain.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	// A proxy would resolve names where nothing checks them.
	t.Setenv("HTTP_PROXY", plain.URL)
	t.Setenv("HTTPS_PROXY", plain.URL)
	port := netip.MustParseAddrPort(secure.Listener.Addr().String()).Port()
	public := &http.Client{Transport: NewTransport(false)}
	for url, want := range map[string]error{
		plain.URL:  errPlain,
		secure.URL: errPrivate,
		netip.AddrPortFrom(netip.IPv6Loopback(), port).String():                                     errPrivate,
		"localhost:" + netip.AddrPortFrom(netip.IPv4Unspecified(), port).String()[len("0.0.0.0:"):]: errPrivate,
	} {
		if url != plain.URL && url != secure.URL {
			url = "https://" + url
		}
		if _, err := get(t, public, url); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", url, err, want)
		}
	}
	if reached != 0 {
		t.Errorf("%d requests", reached)
	}
	if status, err := get(t, &http.Client{Transport: NewTransport(true)}, plain.URL); err != nil || status != http.StatusOK || reached != 1 {
		t.Errorf("where it is allowed: %d, %v", status, err)
	}
}

func get(t *testing.T, client *http.Client, url string) (status int, err error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	return res.StatusCode, res.Body.Close()
}
