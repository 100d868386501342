package extension_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/operator/internal/testcluster"
)

func TestExtension(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(time.Minute)
	SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	RunSpecs(t, "Extension")
}

// What all specs share: an API server with the CRDs, an undisturbed client of it,
// what the operator may, and the program of the services.
var (
	cluster  *testcluster.Cluster
	api      client.WithWatch
	operator *rest.Config
	program  string
)

var _ = BeforeSuite(func(ctx context.Context) {
	var err error
	cluster, err = testcluster.Start(ctx, "../../../..", GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(cluster.Stop)
	api, operator = cluster.Client, cluster.Operator

	// Without C, which only the race detector needs, as everything else compiles it.
	program, err = gexec.BuildWithEnvironment("github.com/acclaim-dev/acclaim/services", []string{"CGO_ENABLED=0"})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(gexec.CleanupBuildArtifacts)
})
