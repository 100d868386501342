package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"testing"
	"time"
)

// A process answers no one who lacks the certificate of a member, not even that it is there.
func TestRightsOfPeers(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	startProgram(t, t.TempDir(), "serve", "--mongodb-uri", databases["server"](t), "--peer-listen", address)
	callers := map[string]*tls.Config{
		"without a certificate": {},
		"another certificate":   {Certificates: []tls.Certificate{newCertificate(t)}},
		"TLS 1.2":               {Certificates: []tls.Certificate{newCertificate(t)}, MaxVersion: tls.VersionTLS12},
	}
	for _, row := range loadRights(t).rows("peer") {
		for caller, cell := range row.cells {
			config := callers[caller]
			if config == nil {
				continue // a member: every test of several programs is one
			}
			config.InsecureSkipVerify = true // members have certificates of their own making
			if answer := askPeer(t, address, config); (answer == "") != (cell == "refused") {
				t.Errorf("%s as %s: %q, want %s", row.title(), caller, answer, cell)
			}
		}
	}
}

// askPeer sends a request to a process as another one would, and returns what it answers.
func askPeer(t *testing.T, address string, config *tls.Config) string {
	t.Helper()
	plain, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close() //nolint:errcheck // it was read
	conn := tls.Client(plain, config)
	// With TLS 1.3 a server refuses a certificate after the client's side of the handshake.
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: peer\r\n\r\n")
	answer := make([]byte, 1)
	n, _ := conn.Read(answer)
	return string(answer[:n])
}

// newCertificate returns a certificate that its holder has signed.
func newCertificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
}
