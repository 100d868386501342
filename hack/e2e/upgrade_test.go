package e2e_test

import (
	"os"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// upgrades bring the release to the next image, give it a Poll of its own, and take both
// back. With
// an operator that gives pods no time to drain (drainDelay 0) 5 of 4862 requests
// failed here.
func upgrades(w *world) {
	It("upgrades without a failed request", func(ctx SpecContext) {
		next, values := w.nextRelease()
		l := w.start(ctx, "upgrade")
		defer l.stop()
		l.counted(ctx, 100)
		began := time.Now()
		Expect(w.upgrade(ctx, values)).To(Succeed())
		w.ready(ctx, "default", next)
		w.ready(ctx, "sandbox", next)
		w.report.took("helm upgrade to every pod replaced", began)
		w.measureMemory(ctx, "under load, just upgraded", 21)
		l.counted(ctx, 100)
		l.finish(ctx, w, "helm upgrade to another image")
		l.expectNoFailure()
		w.pollReady(ctx, "of-the-release")
	}, SpecTimeout(10*time.Minute))

	It("goes back without a failed request", func(ctx SpecContext) {
		l := w.start(ctx, "back")
		defer l.stop()
		l.counted(ctx, 100)
		began := time.Now()
		Expect(helm(ctx, nil, "rollback", release, "--namespace", w.namespace)).To(Succeed())
		w.running(ctx)
		w.gone(ctx, &v1alpha1.Poll{ObjectMeta: w.named("of-the-release")})
		w.report.took("helm rollback to every pod replaced", began)
		l.counted(ctx, 100)
		l.finish(ctx, w, "helm rollback to the image before")
		l.expectNoFailure()
	}, SpecTimeout(10*time.Minute))
}

// nextRelease returns the image of the next release, and its values.
func (w *world) nextRelease() (image string, values object) {
	image, values = os.Getenv("ACCLAIM_E2E_NEXT_IMAGE"), w.values()
	values["image"].(object)["repository"], values["image"].(object)["tag"] = cutImage(image)
	values["polls"] = object{"of-the-release": poll(w.named("")).Spec}
	return image, values
}
