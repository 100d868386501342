package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/acclaim-dev/acclaim/hack/harness"
)

// cluster has what the program shares with other processes, the members: a database, and the
// polls that each of them may own.
type cluster struct {
	database *harness.Database
	// port is the host:port of the listener for members, whose host members have, too.
	port    string
	binary  builtProgram
	dir     string
	voter   victim
	members []*program
}

// newCluster starts the database.
func newCluster(ctx context.Context, b builtProgram, dir string) (*cluster, error) {
	c := &cluster{binary: b, dir: dir}
	credentials, err := newViewers(1, "Umember")
	if err != nil {
		return nil, err
	}
	c.voter = victim{http: newClient("127.1.0.7", true), credential: credentials[0]}
	if c.port, err = findPort(ctx); err != nil {
		return nil, err
	}
	c.database, err = harness.StartDatabase(ctx, dir, filepath.Join("services", "internal", "testing", "mongotest", "mongoset"))
	return c, err
}

// findPort returns an address that is free: no ready line names that of the listener for members.
func findPort(ctx context.Context) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// join starts another member and votes through it until it reaches all that there are.
func (c *cluster) join(ctx context.Context, s programSettings, deadline time.Time) error {
	number := len(c.members) + 1
	s.flags = []string{"--mongodb-uri", c.database.URI}
	p, err := startProgram(ctx, c.binary, filepath.Join(c.dir, fmt.Sprint("member-", number)), s)
	if err != nil {
		return err
	}
	c.members = append(c.members, p)
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	return c.awaitReach(ctx, p, number+1)
}

// awaitReach votes through a member, each time in another poll, until it forwards votes to their
// owners and reaches all members.
func (c *cluster) awaitReach(ctx context.Context, p *program, members int) error {
	var metrics harness.Metrics
	for n := 0; ; n++ {
		_, err := c.voter.send(ctx, http.MethodPost, fmt.Sprintf("%s/vote?id=shared%d", p.base, n), `{"value":1}`)
		read, problem := p.readMetrics(ctx)
		if problem == nil {
			metrics = read
		}
		alive, unreachable, forwarded := metrics.Sum("acclaim_peers_alive", ""), metrics.Sum("acclaim_peers_unreachable", ""), metrics.Sum("acclaim_stream_forwarded_total", "")
		switch {
		case err == nil && problem == nil && alive >= float64(members) && unreachable == 0 && forwarded > 0:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("it knows %.0f of %d members, does not reach %.0f and has forwarded %.0f votes", alive, members, unreachable, forwarded)
		}
		wait(ctx, samplePause)
	}
}

// close ends the members and the database.
func (c *cluster) close() error {
	var errs []error
	for _, p := range c.members {
		errs = append(errs, p.stop())
	}
	if c.database != nil {
		errs = append(errs, c.database.Stop())
	}
	return errors.Join(errs...)
}

// peerConnection is an outcome of crowdPeers: a connection to the port for members.
const peerConnection = "connected to the port for members"

// crowdPeers connects to the port for members from many addresses that have none. Of three
// connections one sends nothing, one the beginning of a handshake, and one shows a certificate
// of its own.
func crowdPeers(ctx context.Context, a *attacker) {
	own, err := newPeerConfig()
	if err != nil {
		a.count(err.Error())
		return
	}
	a.flood(ctx, manyConnections, func(ctx context.Context, n int64) (string, error) {
		unknown := &attacker{Address: a.Peers, Source: a.from(n%250 + 1).Source}
		conn, err := unknown.dial(ctx)
		if err != nil {
			return "", err
		}
		a.count(peerConnection)
		switch n % 3 {
		case 1:
			_, _ = io.WriteString(conn, "\x16\x03\x01\x02\x00\x01") // its end is seen by the reader
		case 2:
			defer wait(ctx, returnPause)
			return a.askAsMember(conn, own), nil
		}
		return holdUntilClosed(ctx, conn, 0, 0)
	})
}

// newPeerConfig returns the settings of a TLS client with a certificate as a member makes one.
func newPeerConfig() (*tls.Config, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Unix(1<<33, 0)}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{{Certificate: [][]byte{raw}, PrivateKey: key}},
		InsecureSkipVerify: true}, err // any server will do
}

// askAsMember shows a certificate that no member has, which must not be answered.
func (a *attacker) askAsMember(conn *boundConn, own *tls.Config) string {
	defer conn.end()
	secure := tls.Client(conn, own)
	if _, err := io.WriteString(secure, formatHead("GET", "/", "", -1)+"\r\n"); err != nil {
		return "handshake: " + describeError(err)
	}
	line, err := bufio.NewReader(secure).ReadString('\n')
	if err == nil {
		a.breach("the certificate of no member is answered")
		return strings.TrimSpace(line)
	}
	return "certificate: " + describeError(err)
}
