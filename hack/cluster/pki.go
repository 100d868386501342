package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// certificateAuthority is the throw-away certificate authority of one cluster. It writes
// into a folder: NAME.crt, NAME.key and NAME.kubeconfig.
type certificateAuthority struct {
	folder      string
	certificate *x509.Certificate
	key         crypto.Signer
}

// certificateIdentity is the subject of a certificate.
type certificateIdentity struct {
	file         string
	user, group  string   // as Kubernetes reads them
	names        []string // host names and addresses that it serves at
	noKubeconfig bool
}

// lifetime of certificates; a cluster lives for hours.
const lifetime = 30 * 24 * time.Hour

func newAuthority(folder string) (*certificateAuthority, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	a := &certificateAuthority{folder: folder, key: key}
	a.certificate = &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "acclaim-cluster"},
		NotBefore:             time.Now().Add(-time.Minute),
		NotAfter:              time.Now().Add(lifetime),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	return a, a.sign("ca", a.certificate, key)
}

// issueCertificate writes the certificate and the kubeconfig of an identity.
func (a *certificateAuthority) issueCertificate(who certificateIdentity, server string) error {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return err
	}
	certificate := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: who.user},
		NotBefore:    a.certificate.NotBefore,
		NotAfter:     a.certificate.NotAfter,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	if who.group != "" {
		certificate.Subject.Organization = []string{who.group}
	}
	for _, name := range who.names {
		if address := net.ParseIP(name); address != nil {
			certificate.IPAddresses = append(certificate.IPAddresses, address)
		} else {
			certificate.DNSNames = append(certificate.DNSNames, name)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	if err := a.sign(who.file, certificate, key); err != nil || who.noKubeconfig {
		return err
	}
	return a.kubeconfig(who.file, server)
}

// sign writes a certificate and its key.
func (a *certificateAuthority) sign(file string, certificate *x509.Certificate, key crypto.Signer) error {
	signed, err := x509.CreateCertificate(rand.Reader, certificate, a.certificate, key.Public(), a.key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	for _, part := range []struct {
		extension, kind string
		content         []byte
	}{{".crt", "CERTIFICATE", signed}, {".key", "PRIVATE KEY", private}, {".pub", "PUBLIC KEY", public}} {
		block := pem.EncodeToMemory(&pem.Block{Type: part.kind, Bytes: part.content})
		if err := os.WriteFile(a.filePath(file+part.extension), block, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (a *certificateAuthority) kubeconfig(file, server string) error {
	content := map[string][]byte{}
	for _, name := range []string{"ca.crt", file + ".crt", file + ".key"} {
		var err error
		if content[name], err = os.ReadFile(a.filePath(name)); err != nil {
			return err
		}
	}
	const name = "acclaim-cluster"
	config := api.NewConfig()
	config.Clusters[name] = &api.Cluster{Server: server, CertificateAuthorityData: content["ca.crt"]}
	config.AuthInfos[name] = &api.AuthInfo{ClientCertificateData: content[file+".crt"], ClientKeyData: content[file+".key"]}
	config.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	return clientcmd.WriteToFile(*config, a.filePath(file+".kubeconfig"))
}

func (a *certificateAuthority) filePath(name string) string {
	return filepath.Join(a.folder, name)
}
