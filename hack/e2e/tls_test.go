package e2e_test

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// sealing has the services of the sandbox serve their API with TLS. The operator is the
// client that trusts the authority of the Secret, and no other.
func sealing(w *world) {
	It("speaks TLS with services that have a certificate", func(ctx SpecContext) {
		secret := &corev1.Secret{ObjectMeta: w.named("sandbox-tls"), Data: w.newCertificate("sandbox")}
		authority := secret.Data["ca.crt"]
		Expect(w.Create(ctx, secret)).To(Succeed())
		values := w.values()
		values["sandbox"].(object)["tlsSecretName"] = secret.Name
		Expect(w.upgrade(ctx, values)).To(Succeed())
		voting := &corev1.Service{ObjectMeta: w.named("sandbox-voting")}
		Eventually(ctx, func() (string, error) {
			err := w.Get(ctx, client.ObjectKeyFromObject(voting), voting)
			return voting.Spec.Ports[0].Name, err
		}).Should(Equal("https"))
		w.ready(ctx, "sandbox", os.Getenv("ACCLAIM_E2E_IMAGE"))

		p := poll(w.named("sealed"))
		p.Spec.BackendRef.Name, p.Spec.DeletionPolicy = "sandbox", v1alpha1.DeletionDelete
		Expect(w.Create(ctx, p)).To(Succeed())
		w.pollReady(ctx, p.Name)

		secret.Data["ca.crt"] = w.newCertificate("sandbox")["ca.crt"]
		Expect(w.Update(ctx, secret)).To(Succeed())
		edit(ctx, w, p, func(p *v1alpha1.Poll) { p.Spec.Prompt = "Which colour now?" })
		Eventually(ctx, func() ([]string, error) {
			var reasons []string
			err := w.Get(ctx, client.ObjectKeyFromObject(p), p)
			for _, condition := range p.Status.Conditions {
				reasons = append(reasons, condition.Reason)
			}
			return reasons, err
		}).Should(ContainElement(v1alpha1.ReasonServiceUnreachable))

		secret.Data["ca.crt"] = authority
		Expect(w.Update(ctx, secret)).To(Succeed())
		w.pollReady(ctx, p.Name)
		Expect(w.Delete(ctx, p)).To(Succeed())
		w.gone(ctx, p)
		Expect(w.Delete(ctx, secret)).To(Succeed())
	}, SpecTimeout(8*time.Minute))
}

// newCertificate returns a Secret's entries for the services of a Backend: a certificate
// that is its own authority.
func (w *world) newCertificate(backend string) map[string][]byte {
	GinkgoHelper()
	public, private, err := ed25519.GenerateKey(nil)
	Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	for _, service := range []string{"voting", "accumulation", "ranking", "state"} {
		template.DNSNames = append(template.DNSNames, fmt.Sprintf("%s-%s.%s.svc", backend, service, w.namespace))
	}
	certificate, err := x509.CreateCertificate(nil, template, template, public, private)
	Expect(err).NotTo(HaveOccurred())
	key, err := x509.MarshalPKCS8PrivateKey(private)
	Expect(err).NotTo(HaveOccurred())
	encoded := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
	return map[string][]byte{
		"tls.crt": encoded, "tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), "ca.crt": encoded,
	}
}
