package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/acclaim-dev/acclaim/services/internal/filewatch"
)

// certificateSource has the certificate of the API.
type certificateSource interface {
	// config returns the configuration of a server with the certificate in force.
	config() *tls.Config
	// watch keeps the certificate up to date until ctx is done.
	watch(ctx context.Context, logger *slog.Logger) error
}

// openCertificateSource returns the source of the configured certificate, nil where none is
// configured.
func openCertificateSource(ctx context.Context, c Config) (certificateSource, error) {
	files := c.TLSCert != "" || c.TLSKey != ""
	switch {
	case len(c.Domains) > 0 && files:
		return nil, errors.New("--domain gets a certificate, so that --tls-cert and --tls-key must not be set")
	case len(c.Domains) > 0:
		return newACMECertificate(ctx, c)
	case files:
		return openCertificate(c.TLSCert, c.TLSKey)
	}
	return nil, nil //nolint:nilnil // no certificate is no error
}

// serverCertificate is a certificate in files. It is read again when they change.
type serverCertificate struct {
	certFile, keyFile string
	current           atomic.Pointer[tls.Certificate]
}

// openCertificate returns the certificate in the files.
func openCertificate(certFile, keyFile string) (*serverCertificate, error) {
	if certFile == "" || keyFile == "" {
		return nil, errors.New("--tls-cert and --tls-key must be set together")
	}
	c := &serverCertificate{certFile: certFile, keyFile: keyFile}
	if _, err := c.reload(); err != nil {
		return nil, fmt.Errorf("--tls-cert: %w", err)
	}
	return c, nil
}

// reload puts the certificate in the files in force, if it is another one.
func (c *serverCertificate) reload() (changed bool, err error) {
	read, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return false, err
	}
	old := c.current.Load()
	if old != nil && slices.EqualFunc(old.Certificate, read.Certificate, slices.Equal) {
		return false, nil
	}
	c.current.Store(&read)
	return true, nil
}

// watch reloads the certificate until ctx is done. While the files do not match, as
// between the two steps of a replacement, the last good one stays in force.
func (c *serverCertificate) watch(ctx context.Context, logger *slog.Logger) error {
	failed := func(err error) {
		logger.Error("the TLS certificate was not reloaded; the last good one stays in force", "error", err)
	}
	return filewatch.Watch(ctx, func() {
		switch changed, err := c.reload(); {
		case err != nil:
			failed(err)
		case changed:
			logger.Info("TLS certificate reloaded")
		}
	}, failed, c.certFile, c.keyFile)
}

func (c *serverCertificate) config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil },
	}
}
