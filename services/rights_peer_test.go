package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/sandbox"
)

// A process answers no one who lacks the certificate of a member, not even that it is there, and a
// member's commands for each kind of streams.
func TestRightsOfPeers(t *testing.T) {
	t.Parallel()
	address, uri := freeAddress(t), databases["server"](t)
	args := []string{"--mongodb-uri", uri, "--result-log-key", newResultLogKey(t), "--result-log-origin", "votes.example/acclaim", "--peer-listen"}
	first := startProgram(t, t.TempDir(), "serve", append(args, address)...)
	member := startProgram(t, t.TempDir(), "serve", append(args, freeAddress(t))...)
	callers := map[string]*tls.Config{
		"without a certificate": {},
		"another certificate":   {Certificates: []tls.Certificate{newCertificate(t)}},
		"TLS 1.2":               {Certificates: []tls.Certificate{newCertificate(t)}, MaxVersion: tls.VersionTLS12},
	}
	for _, row := range loadRights(t).rows("peer") {
		for caller, cell := range row.cells {
			config := callers[caller]
			if config == nil {
				if _, kind, ok := strings.Cut(row.Op, " "); ok {
					awaitForwarded(t, kind, first, member)
				}
				continue // the other frames are answers, without which nothing is forwarded
			}
			config.InsecureSkipVerify = true // members have certificates of their own making
			if answer := askPeer(t, address, config); (answer == "") != (cell == "refused") {
				t.Errorf("%s as %s: %q, want %s", row.title(), caller, answer, cell)
			}
		}
	}
}

// awaitForwarded sends commands for streams of a kind to two processes until one has forwarded some to
// the other.
func awaitForwarded(t *testing.T, kind string, members ...*process) {
	t.Helper()
	request := map[string]struct{ domain, path, body string }{
		key.Poll:     {"voting", "/vote?id=%d", `{"value":1}`},
		key.Buffer:   {"accumulation", "/accumulate?id=%d", `{}`},
		key.Question: {"ranking", "/rank?id=%d", `{"key":"a"}`},
		key.Feed:     {"message", "/broadcast?%d", `{"event":"hello","data":1}`},
		key.Roster:   {"roster", "/viewer_state?%d", `{}`},
		key.Log:      {"resultlog", "/vote?id=listed-%d", `{"value":1}`},
	}[kind]
	forwarded := fmt.Sprintf("acclaim_stream_forwarded_total{domain=%q}", request.domain)
	for i := 0; metric(t, members[0], forwarded)+metric(t, members[1], forwarded) == 0; i++ {
		channel, viewer, p := strconv.Itoa(i+1), strconv.Itoa(1000+i), members[i%2]
		header := signGrant(t, sandbox.Grant{Role: "broadcaster", ChannelID: channel, UserID: viewer, OpaqueID: sandbox.UserOpaqueID(viewer)})
		if kind == key.Log {
			list := fmt.Sprintf(`{"id":"listed-%d","config":{"verifiable":true}}`, i)
			if f, why := send(p, http.MethodPost, "/vote_config", header, list, nil); f != stored {
				t.Fatalf("a poll whose votes are listed: %s", why)
			}
		}
		if f, why := send(p, http.MethodPost, fmt.Sprintf(request.path, i), header, request.body, nil); f != stored {
			t.Fatalf("%s: %s", kind, why)
		}
		if kind == key.Log {
			awaitReceipt(t, p, fmt.Sprintf("/receipt?id=listed-%d", i), header)
		}
	}
}

// awaitReceipt waits until the log of results has a poll: the publisher of a process sends it commands,
// and no caller does.
func awaitReceipt(t *testing.T, p *process, path, header string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		response, err := p.exchange(http.MethodGet, path, header, "")
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return
		}
	}
	t.Fatal("no receipt within a minute")
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
