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

// One release is installed, used, disturbed and removed, in this order. A spec
// that fails does not keep the next from being tried.
var _ = Describe("Acclaim", Ordered, ContinueOnFailure, func() {
	w := &world{client: newClient()}

	installation(w)
	contract(w)
	polls(w)
	games(w)
	drill(w)
	disturbances(w)
	nodes(w)
	autoscaling(w)
	upgrades(w)
	rotation(w, gateways, leaders, releases)
	outages(w)
	sealing(w)
	removal(w)

	AfterEach(func(ctx SpecContext) {
		if CurrentSpecReport().Failed() {
			w.report.fail(CurrentSpecReport().LeafNodeText, CurrentSpecReport().FailureMessage())
			AddReportEntry("the namespace when it failed", w.describe(ctx))
		}
	}, NodeTimeout(time.Minute))
	AfterAll(func() {
		w.report.write(os.Stdout)
		w.report.expectFewFailures()
	})
})
