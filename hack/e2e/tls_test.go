package e2e_test

import (
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// ofPods is the label of what reaches pods by their addresses, as the network of
// hack/cluster lets it.
const ofPods = "pods"

// sealed is the name of a Backend whose services serve their API with TLS.
const sealed = "sealed"

// sealedDatabase is the name of the database of that Backend, and of the Secret with its URI,
// its certificate and the authority of that, which no system trusts.
const sealedDatabase = sealed + "-database"

// sealing has a Backend serve its API with TLS, over a database with TLS. The operator is a
// client that trusts the authority of the Secret, and no other.
func sealing(w *world) {
	Context("with a certificate", func() {
		var (
			trusted, ofDatabase *authority
			secret, database    *corev1.Secret
		)
		BeforeAll(func(ctx SpecContext) {
			trusted = newAuthority()
			secret = &corev1.Secret{ObjectMeta: w.named(sealed), Data: trusted.issue(w.serviceNames(sealed), 1)}
			Expect(w.Create(ctx, secret)).To(Succeed())
			ofDatabase = newAuthority()
			database = &corev1.Secret{ObjectMeta: w.named(sealedDatabase), Data: ofDatabase.issue([]string{sealedDatabase}, 1)}
			database.Data["uri"] = []byte("mongodb://" + sealedDatabase + ":27017/acclaim?tls=true&tlsCAFile=/etc/acclaim-database/ca.crt")
			Expect(w.Create(ctx, database)).To(Succeed())
			w.provideDatabase(ctx, sealedDatabase, sealedDatabase)
			b := smallBackend(w.named(sealed), "", "")
			b.Spec.MongoDB, b.Spec.TLSSecretName, b.Spec.Services.Voting.Replicas = v1alpha1.SecretKeyReference{Name: sealedDatabase, Key: "uri"}, secret.Name, new(int32(2))
			Expect(w.Create(ctx, b)).To(Succeed())
			w.ready(ctx, sealed, b.Spec.Image)
		}, NodeTimeout(5*time.Minute))

		It("speaks TLS with services whose authority it trusts", func(ctx SpecContext) {
			voting := &corev1.Service{ObjectMeta: w.named(sealed + "-voting")}
			Expect(w.Get(ctx, client.ObjectKeyFromObject(voting), voting)).To(Succeed())
			Expect(voting.Spec.Ports[0].Name).To(Equal("https"))
			p := poll(w.named(sealed))
			p.Spec.BackendRef.Name, p.Spec.DeletionPolicy = sealed, v1alpha1.DeletionDelete
			Expect(w.Create(ctx, p)).To(Succeed())
			w.pollReady(ctx, p.Name)

			secret.Data["ca.crt"] = newAuthority().encode()
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

			secret.Data["ca.crt"] = trusted.encode()
			Expect(w.Update(ctx, secret)).To(Succeed())
			w.pollReady(ctx, p.Name)
		}, SpecTimeout(8*time.Minute))

		It("exchanges the certificate without a failed request", Label(ofPods), func(ctx SpecContext) {
			pods := w.dialPods(ctx, sealed, trusted)
			known(ctx, entrance{pods.api(w), &w.keys}.backend(), "/vote?id=none")
			l := startLoad(ctx, "certificate", []string{"/vote?id=certificate"}, entrance{pods.api(w), &w.keys})
			defer l.stop()
			l.counted(ctx, 100)
			Expect(pods.serve(1)).To(BeTrue())
			began := time.Now()
			secret.Data = trusted.issue(w.serviceNames(sealed), 2)
			Expect(w.Update(ctx, secret)).To(Succeed())
			Eventually(ctx, func() bool { return pods.serve(2) }).Should(BeTrue())
			w.report.took("a renewed certificate to every pod", began)
			l.counted(ctx, 100)
			l.finish(ctx, w, "a certificate exchanged")
			l.expectNoFailure()
			Expect(pods.serve(2)).To(BeTrue())
		}, SpecTimeout(8*time.Minute))

		It("trusts a further authority of its database after its pods are replaced", func(ctx SpecContext) {
			before := w.votingPods(ctx, sealed)
			database.Data["ca.crt"] = append(newAuthority().encode(), ofDatabase.encode()...)
			Expect(w.Update(ctx, database)).To(Succeed())
			Eventually(ctx, func() []string { return w.votingPods(ctx, sealed) }).Should(And(HaveLen(2), Not(ContainElements(BeElementOf(before)))))
			w.ready(ctx, sealed, os.Getenv("ACCLAIM_E2E_IMAGE"))
			p := poll(w.named("sealed-later"))
			p.Spec.BackendRef.Name, p.Spec.DeletionPolicy = sealed, v1alpha1.DeletionDelete
			Expect(w.Create(ctx, p)).To(Succeed())
			w.pollReady(ctx, p.Name)
		}, SpecTimeout(5*time.Minute))

		AfterAll(func(ctx SpecContext) {
			for _, o := range []client.Object{
				&v1alpha1.Poll{ObjectMeta: w.named("sealed-later")}, &v1alpha1.Poll{ObjectMeta: w.named(sealed)}, &v1alpha1.Backend{ObjectMeta: w.named(sealed)}, secret,
			} {
				Expect(client.IgnoreNotFound(w.Delete(ctx, o))).To(Succeed())
				w.gone(ctx, o)
			}
			w.removeDatabase(ctx, sealedDatabase)
		}, NodeTimeout(3*time.Minute))
	})
}

// votingPods returns the names of the pods of a Backend's voting service.
func (w *world) votingPods(ctx context.Context, backend string) []string {
	GinkgoHelper()
	pods, err := w.pods(ctx, serviceOf(backend, "voting"))
	Expect(err).NotTo(HaveOccurred())
	var names []string
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	return names
}

// serviceNames returns the names for which the certificate of a Backend has to be valid.
func (w *world) serviceNames(backend string) []string {
	var names []string
	for _, service := range []string{"voting", "accumulation", "ranking", "state"} {
		names = append(names, fmt.Sprintf("%s-%s.%s.svc", backend, service, w.namespace))
	}
	return names
}

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         ed25519.PrivateKey
}

func newAuthority() *authority {
	GinkgoHelper()
	_, key, err := ed25519.GenerateKey(nil)
	Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	raw, err := x509.CreateCertificate(nil, template, template, key.Public(), key)
	Expect(err).NotTo(HaveOccurred())
	certificate, err := x509.ParseCertificate(raw)
	Expect(err).NotTo(HaveOccurred())
	return &authority{certificate, key}
}

func (a *authority) encode() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
}

// issue returns a Secret's entries for services: a certificate with a key of its own, and
// the authority.
func (a *authority) issue(names []string, serial int64) map[string][]byte {
	GinkgoHelper()
	public, private, err := ed25519.GenerateKey(nil)
	Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour), DNSNames: names}
	certificate, err := x509.CreateCertificate(nil, template, a.certificate, public, a.key)
	Expect(err).NotTo(HaveOccurred())
	key, err := x509.MarshalPKCS8PrivateKey(private)
	Expect(err).NotTo(HaveOccurred())
	return map[string][]byte{
		"tls.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
		"tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
		"ca.crt":  a.encode(),
	}
}

// podDialer connects with the pods of a Backend's voting service, one after the other, and
// notes the certificate that each serves.
type podDialer struct {
	addresses []string
	config    *tls.Config

	mu     sync.Mutex
	dialed int
	served map[string]int64 // serial number of the last certificate, by address
}

// dialPods returns the dialer of the pods that a Backend has now.
func (w *world) dialPods(ctx context.Context, backend string, trusted *authority) *podDialer {
	GinkgoHelper()
	pods, err := w.pods(ctx, serviceOf(backend, "voting"))
	Expect(err).NotTo(HaveOccurred())
	Expect(pods).To(HaveLen(2))
	roots := x509.NewCertPool()
	roots.AddCert(trusted.certificate)
	d := &podDialer{served: map[string]int64{}, config: &tls.Config{RootCAs: roots, ServerName: w.serviceNames(backend)[0]}}
	for _, pod := range pods {
		d.addresses = append(d.addresses, net.JoinHostPort(pod.Status.PodIP, "8080"))
	}
	return d
}

// api returns the API of the pods. Each request has a connection of its own, and so meets
// the certificate that is in force.
func (d *podDialer) api(w *world) api {
	transport := &http.Transport{DialTLSContext: d.dial, DisableKeepAlives: true}
	return api{client: &http.Client{Transport: transport}, base: "https://" + d.config.ServerName + production, host: w.host}
}

func (d *podDialer) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	d.mu.Lock()
	address := d.addresses[d.dialed%len(d.addresses)]
	d.dialed++
	d.mu.Unlock()
	dialer := &tls.Dialer{Config: d.config}
	connection, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	certificate := connection.(*tls.Conn).ConnectionState().PeerCertificates[0]
	d.mu.Lock()
	defer d.mu.Unlock()
	d.served[address] = certificate.SerialNumber.Int64()
	return connection, nil
}

// serve reports whether every pod served the certificate of a serial number last.
func (d *podDialer) serve(serial int64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, address := range d.addresses {
		if d.served[address] != serial {
			return false
		}
	}
	return true
}
