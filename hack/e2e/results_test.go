package e2e_test

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

const (
	signed         = "signed" // a Backend that signs the results of polls
	signedDatabase = signed + "-database"
	resultLogKey   = signed + "-key"
)

// results has two pods of a Backend sign the results of a poll, with one mark outside of the
// database.
func results(w *world) {
	It("marks what it signs, and goes on with one log in new pods", func(ctx SpecContext) {
		e := w.provideSigned(ctx)
		Expect(e.broadcaster().post(ctx, "/vote_config", object{"id": signed, "config": object{
			"prompt": "Which colour?", "options": []string{"red", "green"}, "verifiable": true,
		}}, nil)).To(Succeed())
		Expect(e.viewer("U1").post(ctx, "/vote?id="+signed, object{"value": 1}, nil)).To(Succeed())
		began := time.Now()
		origin, size := w.marked(ctx, e, 0)
		w.report.took("a vote to the signed and marked result", began)

		before := w.votingPods(ctx, signed)
		Expect(w.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(w.namespace), serviceOf(signed, "voting"))).To(Succeed())
		Eventually(ctx, func() []string { return w.votingPods(ctx, signed) }).Should(And(HaveLen(2), Not(ContainElements(BeElementOf(before)))))
		e = w.enterSmall(ctx, signed)
		Expect(e.viewer("U2").post(ctx, "/vote?id="+signed, object{"value": 0}, nil)).To(Succeed())
		after, _ := w.marked(ctx, e, size)
		Expect(after).To(Equal(origin), "the new pods began a new log")

		b := &v1alpha1.Backend{ObjectMeta: w.named(signed)}
		Expect(w.Delete(ctx, b)).To(Succeed())
		w.gone(ctx, b)
		Expect(w.Delete(ctx, &corev1.Secret{ObjectMeta: w.named(resultLogKey)})).To(Succeed())
		w.removeDatabase(ctx, signedDatabase)
	}, SpecTimeout(6*time.Minute))
}

// provideSigned returns the entrance of a Backend with a log of results.
func (w *world) provideSigned(ctx context.Context) entrance {
	GinkgoHelper()
	_, key, err := ed25519.GenerateKey(nil)
	Expect(err).NotTo(HaveOccurred())
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	Expect(err).NotTo(HaveOccurred())
	w.provideDatabase(ctx, signedDatabase)
	for name, content := range map[string]map[string]string{
		signedDatabase: {"uri": "mongodb://" + signedDatabase + ":27017/acclaim"},
		resultLogKey:   {"result-log.pem": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}))},
	} {
		Expect(w.Create(ctx, &corev1.Secret{ObjectMeta: w.named(name), StringData: content})).To(Succeed())
	}
	b := smallBackend(w.named(signed), signedDatabase, signed+"."+w.host)
	b.Spec.Services.Voting.Replicas = new(int32(2))
	b.Spec.ResultLog = &v1alpha1.ResultLog{Origin: "votes.example.org/acclaim", KeySecretName: resultLogKey}
	Expect(w.Create(ctx, b)).To(Succeed())
	return w.enterSmall(ctx, signed)
}

// marked waits until the log has more leaves than a size and the mark is the checkpoint that viewers
// get, and returns the origin and the size of that.
func (w *world) marked(ctx context.Context, e entrance, beyond int64) (origin string, size int64) {
	GinkgoHelper()
	public := e.api
	public.base, public.authorization = w.ingress, ""
	Eventually(ctx, func() error {
		shown, err := public.send(ctx, "GET", "/log/checkpoint", nil)
		if err != nil {
			return err
		}
		lines := strings.SplitN(string(shown.body), "\n", 3)
		if shown.status != 200 || len(lines) < 3 {
			return fmt.Errorf("the checkpoint is %d %s", shown.status, shown.body)
		}
		if size, err = strconv.ParseInt(lines[1], 10, 64); err != nil {
			return err
		}
		mark := &corev1.ConfigMap{ObjectMeta: w.named(signed + "-result-log-mark")}
		if err := w.Get(ctx, client.ObjectKeyFromObject(mark), mark); err != nil {
			return err
		}
		origin = lines[0]
		if marked := mark.Data["checkpoint"]; size <= beyond || marked != string(shown.body) {
			return fmt.Errorf("the mark is %q, the checkpoint %q, and more than %d leaves are awaited", marked, shown.body, beyond)
		}
		return nil
	}).Should(Succeed())
	return origin, size
}
