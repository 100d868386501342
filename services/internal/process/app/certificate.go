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

// serverCertificate is the certificate of the API. It is read again when its files change.
type serverCertificate struct {
	certFile, keyFile string
	current           atomic.Pointer[tls.Certificate]
}

// openCertificate returns the certificate in the files, nil where none are named.
func openCertificate(certFile, keyFile string) (*serverCertificate, error) {
	switch {
	case certFile == "" && keyFile == "":
		return nil, nil //nolint:nilnil // no certificate is no error
	case certFile == "" || keyFile == "":
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

// config returns the configuration of a server with the certificate in force.
func (c *serverCertificate) config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil },
	}
}
