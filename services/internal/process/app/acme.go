package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
)

// acmeTimeout limits a request to the authority.
const acmeTimeout = 30 * time.Second

// acmeCertificate is a certificate that an authority issues to the process by ACME (RFC 8555),
// again before it expires. The authority connects to port 443 of the name to see that the
// process has it (RFC 8737).
type acmeCertificate struct {
	manager *autocert.Manager
	domains []string
}

// newACMECertificate returns the source of certificates of the configured names. It keeps them
// beside the data folder, so that a start asks for none that is there. Once ctx is done it
// sends no request.
func newACMECertificate(ctx context.Context, c Config) (*acmeCertificate, error) {
	for _, domain := range c.Domains {
		if net.ParseIP(domain) != nil || strings.ContainsAny(domain, "/:*@ ") || !strings.Contains(strings.Trim(domain, "."), ".") {
			return nil, fmt.Errorf("--domain must be a name such as votes.example.org, not %q", domain)
		}
	}
	send := func(r *http.Request) (*http.Response, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return http.DefaultTransport.RoundTrip(r)
	}
	return &acmeCertificate{domains: c.Domains, manager: &autocert.Manager{
		Prompt:     autocert.AcceptTOS,
		Cache:      autocert.DirCache(c.Store.DataDir + ".certificates"),
		HostPolicy: autocert.HostWhitelist(c.Domains...),
		Client: &acme.Client{
			DirectoryURL: c.ACMEDirectory,
			HTTPClient:   &http.Client{Transport: roundTripFunc(send), Timeout: acmeTimeout},
		},
	}}, nil
}

// roundTripFunc is an [http.RoundTripper] that is a function.
type roundTripFunc func(*http.Request) (*http.Response, error)

// RoundTrip implements [http.RoundTripper].
func (f roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (a *acmeCertificate) config() *tls.Config {
	config := a.manager.TLSConfig()
	config.MinVersion = tls.VersionTLS12
	return config
}

// watch asks for the certificates before the first client does, and reports what became of
// it. The manager renews them.
func (a *acmeCertificate) watch(ctx context.Context, logger *slog.Logger) error {
	type outcome struct {
		domain  string
		expires time.Time
		err     error
	}
	outcomes := make(chan outcome, len(a.domains))
	for _, domain := range a.domains {
		go func() { // ends soon after ctx, with its requests
			certificate, err := a.manager.GetCertificate(&tls.ClientHelloInfo{
				ServerName:       domain,
				SignatureSchemes: []tls.SignatureScheme{tls.ECDSAWithP256AndSHA256},
				SupportedCurves:  []tls.CurveID{tls.CurveP256},
				CipherSuites:     []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256},
			})
			if err == nil && certificate.Leaf == nil {
				err = errors.New("the certificate was not parsed")
			}
			if err != nil {
				outcomes <- outcome{domain: domain, err: err}
				return
			}
			outcomes <- outcome{domain: domain, expires: certificate.Leaf.NotAfter}
		}()
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case o := <-outcomes:
			if o.err != nil {
				logger.Error("there is no TLS certificate; the next connection asks for it again", "domain", o.domain, "error", o.err)
			} else {
				logger.Info("TLS certificate in force", "domain", o.domain, "expires", o.expires)
			}
		}
	}
}
