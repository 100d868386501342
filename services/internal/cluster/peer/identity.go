package peer

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"time"
)

// nodeIdentity is the certificate that a process makes for itself when it starts.
type nodeIdentity struct {
	certificate tls.Certificate
	digest      []byte
}

func newIdentity() (nodeIdentity, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nodeIdentity{}, err
	}
	// Nothing in it is checked but its digest.
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Unix(1<<33, 0)}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nodeIdentity{}, err
	}
	return nodeIdentity{tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}, digestOf(raw)}, nil
}

func digestOf(certificate []byte) []byte {
	sum := sha256.Sum256(certificate)
	return sum[:]
}

var errUnknownPeer = errors.New("peer: the certificate is not that of a member")

// tlsConfig returns the settings of a connection's end, which accepts the other
// only if its certificate's digest is accepted.
func (i nodeIdentity) tlsConfig(accept func(digest []byte) bool) *tls.Config {
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{i.certificate},
		ClientAuth:   tls.RequireAnyClientCert,
		// Certificates are self-signed: VerifyConnection takes the place of the
		// usual check, at both ends and for resumed sessions too.
		InsecureSkipVerify: true,
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 || !accept(digestOf(state.PeerCertificates[0].Raw)) {
				return errUnknownPeer
			}
			return nil
		},
	}
}
