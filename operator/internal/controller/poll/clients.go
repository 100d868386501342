package poll

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"

	lru "github.com/hashicorp/golang-lru/v2"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
	"github.com/acclaim-dev/acclaim/operator/internal/status"
)

// authoritiesKept limits the certificate authorities for which connections stay open.
const authoritiesKept = 64

// Clients holds the HTTP clients for voting services, one for each certificate authority.
// It is safe for concurrent use.
type Clients struct {
	newClient func(*tls.Config) *http.Client
	plain     *http.Client
	trusting  *lru.Cache[string, *http.Client] // by the authority's certificates
}

// NewClients returns clients that newClient makes, with a nil configuration for services
// without TLS. Their timeout is that of a request.
func NewClients(newClient func(*tls.Config) *http.Client) *Clients {
	trusting, err := lru.NewWithEvict(authoritiesKept, func(_ string, c *http.Client) { c.CloseIdleConnections() })
	if err != nil {
		panic(err) // the size is positive
	}
	return &Clients{newClient: newClient, plain: newClient(nil), trusting: trusting}
}

// trustOnly returns a client that trusts one certificate authority, nil where that has no
// certificate.
func (c *Clients) trustOnly(authority []byte) *http.Client {
	if known, ok := c.trusting.Get(string(authority)); ok {
		return known
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		return nil
	}
	made := c.newClient(&tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots})
	c.trusting.Add(string(authority), made)
	return made
}

// clientFor returns the client for the voting service of a Backend.
func (r *Reconciler) clientFor(ctx context.Context, b *v1alpha1.Backend) (*http.Client, *status.Problem, error) {
	if b.Spec.TLSSecretName == "" {
		return r.HTTP.plain, nil, nil
	}
	var secret corev1.Secret
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: b.Spec.TLSSecretName}, &secret)
	if client.IgnoreNotFound(err) != nil {
		return nil, nil, err
	}
	if found := r.HTTP.trustOnly(secret.Data[desired.AuthorityKey]); found != nil {
		return found, nil, nil
	}
	problem := newBackendProblem(v1alpha1.ReasonTLSSecretMissing,
		"Secret %q with an entry %q, the authority of the services' certificate, does not exist", b.Spec.TLSSecretName, desired.AuthorityKey)
	problem.Retry = errors.New(problem.Message) // its creation does not wake the controller
	return nil, problem, nil
}

// isUntrusted reports whether a service was not asked because of its certificate.
func isUntrusted(err error) bool {
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	return untrusted
}
