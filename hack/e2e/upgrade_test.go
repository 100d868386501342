package e2e_test

import (
	"os"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// previousRelease is the version before this one.
func previousRelease() version {
	return version{os.Getenv("ACCLAIM_E2E_PREVIOUS_CHART"), os.Getenv("ACCLAIM_E2E_PREVIOUS_IMAGE")}
}

// upgrades bring the release of the version before to this version, give it a Poll of its
// own, and take both back in the end. Other specs run in between. With
// an operator that gives pods no time to drain (drainDelay 0) 5 of 4862 requests
// failed here.
func upgrades(w *world, between ...func(*world)) {
	var l *load
	It("upgrades from the version before without a failed request", func(ctx SpecContext) {
		values := w.values()
		values["polls"] = object{"of-the-release": poll(w.named("")).Spec}
		l = w.start(ctx, "upgrade")
		defer l.stop()
		l.counted(ctx, 100)
		began := time.Now()
		Expect(w.upgrade(ctx, values)).To(Succeed())
		w.running(ctx)
		w.report.took("helm upgrade to every pod replaced", began)
		l.counted(ctx, 100)
		l.finish(ctx, w, "helm upgrade from the version before")
		l.expectNoFailure()
		w.pollReady(ctx, "of-the-release")
	}, SpecTimeout(10*time.Minute))

	for _, specs := range between {
		specs(w)
	}

	It("goes back to the version before without a failed request", func(ctx SpecContext) {
		back := w.start(ctx, "back")
		defer back.stop()
		back.counted(ctx, 100)
		began := time.Now()
		Expect(helm(ctx, nil, "rollback", release, "1", "--namespace", w.namespace)).To(Succeed())
		w.run(ctx, previousRelease())
		w.gone(ctx, &v1alpha1.Poll{ObjectMeta: w.named("of-the-release")})
		w.report.took("helm rollback to every pod replaced", began)
		back.counted(ctx, 100)
		back.finish(ctx, w, "helm rollback to the version before")
		back.expectNoFailure()
		Eventually(ctx, func() ([]record, error) { return w.backend().log(ctx, "upgrade") }).Should(WithTransform(l.contradictions, BeEmpty()), "votes of the upgrade, read by the version before")
	}, SpecTimeout(10*time.Minute))
}
