package e2e_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// Many viewers at once, enough for more than two pods by autoscaled, and no more:
// hack/mongod scans all records to read a log, so that the pods of later specs
// wait for what is stored here.
const (
	rushing = 10
	hurry   = 20 * time.Millisecond
)

// autoscaled is a voting service that has two pods under the usual load, and more
// in a rush: 80 m of a processor each is three times what the one takes at most, and
// half of the other.
func autoscaled() object {
	return object{
		"autoscaling": object{"minReplicas": 2, "maxReplicas": 4, "targetCPU": 80},
		"resources":   object{"requests": object{"cpu": "100m"}},
	}
}

// autoscaling needs a cluster that measures the CPU of pods.
func autoscaling(w *world) {
	It("follows the load by its autoscaler, without a failed request", Label("autoscaler"), func(ctx SpecContext) {
		l := w.start(ctx, "autoscaler")
		defer l.stop()
		values := w.values()
		services := w.services()
		services["voting"] = autoscaled()
		values["production"].(object)["services"] = services
		Expect(w.upgrade(ctx, values)).To(Succeed())
		w.running(ctx)
		l.counted(ctx, 100)

		rush, calm := context.WithCancel(ctx)
		defer calm()
		began := time.Now()
		l.viewers(rush, "R", rushing, hurry)
		replicas := func() (int, error) {
			pods, err := w.pods(ctx, service("voting"))
			return len(pods), err
		}
		Eventually(ctx, replicas).Should(BeNumerically(">", 2))
		w.report.took("many more votes to a third pod", began)
		calm()
		began = time.Now()
		w.running(ctx)
		l.counted(ctx, 200)
		most, err := replicas()
		Expect(err).NotTo(HaveOccurred())
		w.report.add("voting pods in a rush", fmt.Sprint(most))

		w.serving(ctx, 2)
		w.report.took("the rush's end to two pods again", began)
		Expect(w.upgrade(ctx, w.values())).To(Succeed())
		w.running(ctx)
		l.counted(ctx, 100)
		l.finish(ctx, w, "scaled up and down by the autoscaler")
		l.expectNoFailure()
	}, SpecTimeout(10*time.Minute))
}
