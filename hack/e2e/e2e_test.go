package e2e_test

import (
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Naming an image asks for the test, so a missing cluster is then a failure.
func TestE2E(t *testing.T) {
	if os.Getenv("ACCLAIM_E2E_IMAGE") == "" {
		t.Skip("ACCLAIM_E2E_IMAGE names no image; `make e2e` does")
	}
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(5 * time.Minute)
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	log.SetLogger(GinkgoLogr)
	RunSpecs(t, "Acclaim in a cluster")
}

// Helm installs no CRDs over those that are there, and the first to come may be the version
// before. They are applied first, as documented.
var _ = SynchronizedBeforeSuite(func(ctx SpecContext) {
	Expect(kubectl(ctx, "apply", "--server-side", "--force-conflicts", "--filename", chart+"/crds")).To(Succeed())
}, func() {}, NodeTimeout(3*time.Minute))

// One release is installed, used, restored and removed, in this order. A spec
// that fails does not keep the next from being tried.
var _ = Describe("Acclaim", Ordered, ContinueOnFailure, func() {
	w := newWorld()
	installation(w)
	charted(w)
	declaration(w)
	plugin(w)
	contract(w)
	polls(w)
	policies(w)
	gateways(w)
	games(w)
	clocks(w)
	schedules(w)
	results(w)
	drill(w)
	removal(w)
	w.reportAll()
})

// Further releases run beside the first, each in a process of its own. This one is
// disturbed, and exchanges keys and certificates.
var _ = Describe("Acclaim, disturbed", Ordered, ContinueOnFailure, func() {
	w := newWorld()
	w.frugal = true
	installation(w)
	declaration(w)
	disturbances(w)
	rotation(w, leaders, sealing)
	tenants(w)
	scopes(w)
	failedRemovals(w)
	orphans(w)
	w.reportAll()
})

// This one is installed by the version before and ends so.
var _ = Describe("Acclaim, upgraded", Ordered, ContinueOnFailure, func() {
	w := newWorld()
	w.frugal, w.installed = true, previousRelease()
	installation(w)
	declaration(w)
	upgrades(w, autoscaling)
	w.reportAll()
})

// No other release runs beside those whose nodes or API server are taken away, and beside
// an operator of all namespaces.
var _ = Describe("Acclaim, alone", Ordered, Serial, ContinueOnFailure, func() {
	w := newWorld()
	w.frugal = true
	installation(w)
	declaration(w, ofNodes)
	nodes(w)
	releases(w)
	outages(w)
	w.reportAll()
})

var _ = ReportAfterSuite("the measurements", func(all Report) {
	r := sumReports(all)
	r.write(os.Stdout)
	r.expectFewFailures()
})
