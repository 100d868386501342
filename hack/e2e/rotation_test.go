package e2e_test

import (
	"context"
	"encoding/base64"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

const secondKey = "the second key of production"

// spread limits the time in which a registry reaches every pod, as the
// documentation of Extensions promises.
const spread = 2 * time.Minute

// rotation exchanges a key as the documentation of Extensions says. Other specs run while
// it reaches every pod, beside viewers whose requests may not fail all the while.
func rotation(w *world, meanwhile ...func(*world)) {
	var (
		l          *load
		activeFrom time.Time
	)
	It("announces a key", func(ctx SpecContext) {
		l = w.start(context.WithoutCancel(ctx), "rotation")
		activeFrom = time.Now().Add(spread)
		edit(ctx, w, &corev1.Secret{ObjectMeta: w.named("quiz")}, func(s *corev1.Secret) {
			s.Data["second"] = []byte(base64.StdEncoding.EncodeToString([]byte(secondKey)))
		})
		edit(ctx, w, &v1alpha1.Extension{ObjectMeta: w.named("quiz")}, func(e *v1alpha1.Extension) {
			e.Spec.Keys = append(e.Spec.Keys, v1alpha1.Key{
				SecretRef:  v1alpha1.SecretKeyReference{Name: "quiz", Key: "second"},
				ActiveFrom: new(metav1.NewTime(activeFrom)),
			})
		})
		l.counted(ctx, 100)
	}, SpecTimeout(2*time.Minute))

	for _, specs := range meanwhile {
		specs(w)
	}

	It("exchanges it without a failed request", func(ctx SpecContext) {
		defer l.stop()
		Eventually(ctx, time.Now).Should(BeTemporally(">", activeFrom.Add(time.Second)))
		w.keys.use(secondKey)
		l.counted(ctx, 200)
		w.measureMemory(ctx, "under load", 11)

		edit(ctx, w, &v1alpha1.Extension{ObjectMeta: w.named("quiz")}, func(e *v1alpha1.Extension) { e.Spec.Keys = e.Spec.Keys[1:] })
		old := w.as(production, sign([]byte(firstKey), "viewer", "", "U1"))
		Eventually(ctx, func() error { return old.get(ctx, "/vote?id=rotation", nil) }).Should(MatchError(ContainSubstring("401")))
		Expect(w.Create(ctx, poll(w.named("after-rotation")))).To(Succeed())
		w.pollReady(ctx, "after-rotation")
		l.finish(ctx, w, "a key exchanged")
		l.expectNoFailure()
	}, SpecTimeout(8*time.Minute))

	AfterAll(func() {
		if l != nil {
			l.stop()
		}
	})
}
