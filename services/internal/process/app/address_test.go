package app

import (
	"net"
	"testing"
)

func TestCompleteAddress(t *testing.T) {
	listener := &net.TCPAddr{IP: net.IPv6unspecified, Port: 7400}
	for given, want := range map[string]string{
		"":                 "",
		"10.0.0.1":         "10.0.0.1:7400",
		"fd00::1":          "[fd00::1]:7400",
		"10.0.0.1:7500":    "10.0.0.1:7500",
		"[fd00::1]:7500":   "[fd00::1]:7500",
		"peer.example:443": "peer.example:443",
	} {
		if got := completeAddress(given, listener); got != want {
			t.Errorf("%q is advertised as %q, want %q", given, got, want)
		}
	}
}
