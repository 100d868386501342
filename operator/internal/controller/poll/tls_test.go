package poll_test

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
)

// encodeAuthority returns a certificate as Secrets have it.
func encodeAuthority(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// strangeAuthority returns a certificate that has signed no other.
func strangeAuthority() []byte {
	GinkgoHelper()
	public, private, err := ed25519.GenerateKey(nil)
	Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(nil, template, template, public, private)
	Expect(err).NotTo(HaveOccurred())
	return encodeAuthority(der)
}

var _ = Describe("A voting service with TLS", func() {
	var (
		w       *world
		p       *v1alpha1.Poll
		backend *v1alpha1.Backend
		server  *httptest.Server
		secret  *corev1.Secret
	)
	BeforeEach(func(ctx SpecContext) {
		w = newWorld(ctx)
		base, err := url.Parse(w.voting.Base())
		Expect(err).NotTo(HaveOccurred())
		server = httptest.NewTLSServer(httputil.NewSingleHostReverseProxy(&url.URL{Scheme: base.Scheme, Host: base.Host}))
		DeferCleanup(server.Close)
		w.reconciler.Endpoint = func(b *v1alpha1.Backend) string {
			return desired.Scheme(b) + "://" + server.Listener.Addr().String() + "/v1"
		}
		backend = w.backend("default")
		backend.Spec.TLSSecretName = "services-tls"
		p = w.poll("sealed")
		secret = &corev1.Secret{ObjectMeta: w.named("services-tls"), Data: map[string][]byte{
			desired.AuthorityKey: encodeAuthority(server.Certificate().Raw),
		}}
		w.create(ctx, backend, p)
	})

	It("is asked once the authority of its certificate is known", func(ctx SpecContext) {
		for _, without := range []*corev1.Secret{nil, {ObjectMeta: w.named("services-tls"), Data: map[string][]byte{"ca.crt": []byte("none")}}} {
			if without != nil {
				w.create(ctx, without)
			}
			_, err := w.reconcile(ctx, p)
			Expect(err).To(MatchError(ContainSubstring(`"services-tls"`)), "which makes the controller try again")
			Expect(p).To(beBecause(v1alpha1.ServicesAvailable, v1alpha1.ReasonTLSSecretMissing))
			Expect(w.config(ctx, p)).To(BeNil())
		}
		change(ctx, w, secret, func(s *corev1.Secret) {
			s.Data = map[string][]byte{desired.AuthorityKey: encodeAuthority(server.Certificate().Raw)}
		})
		w.settle(ctx, p)
		Expect(p).To(beReady())
		Expect(w.config(ctx, p)).NotTo(BeNil())
	})

	It("is not asked when another authority signed its certificate", func(ctx SpecContext) {
		secret.Data[desired.AuthorityKey] = strangeAuthority()
		w.create(ctx, secret)
		for range 2 {
			_, err := w.reconcile(ctx, p)
			Expect(err).To(HaveOccurred())
			Expect(p).To(beBecause(v1alpha1.ServicesAvailable, v1alpha1.ReasonServiceUnreachable))
			Expect(p.Status.Conditions).To(ContainElement(HaveField("Message", ContainSubstring("certificate of the voting service"))))
		}
		Expect(w.config(ctx, p)).To(BeNil())
		change(ctx, w, secret, func(s *corev1.Secret) { s.Data[desired.AuthorityKey] = encodeAuthority(server.Certificate().Raw) })
		w.settle(ctx, p)
		Expect(p).To(beReady())
	})

	It("is still asked when its Backend is gone", func(ctx SpecContext) {
		w.create(ctx, secret)
		w.settle(ctx, p)
		Expect(p).To(beReady())
		w.create(ctx, &corev1.Secret{ObjectMeta: w.named(desired.RegistrySecret("default")), Data: map[string][]byte{}})
		var registry corev1.Secret
		registry.ObjectMeta = w.named(desired.RegistrySecret("default"))
		change(ctx, w, &registry, func(s *corev1.Secret) {
			s.Labels = map[string]string{desired.OperatorLabel: desired.Operator}
			s.Annotations = map[string]string{
				desired.PathAnnotation: "/v1", desired.EnvironmentAnnotation: "production", desired.TLSSecretAnnotation: "services-tls",
			}
		})
		w.delete(ctx, backend, p)
		w.settle(ctx, p)
		Expect(w.gone(ctx, p)).To(BeTrue())
		Expect(w.config(ctx, p)).To(BeNil())
	})
})
