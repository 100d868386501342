package poll_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/acclaim-dev/acclaim/operator/internal/controller/poll"
	"github.com/acclaim-dev/acclaim/operator/internal/testcluster"
)

// What all specs share. Each has a namespace and a voting service of its own.
var (
	cluster *testcluster.Cluster
	cached  cache.Cache // what the operator sees
)

func TestPoll(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Poll")
}

var _ = BeforeSuite(func() {
	SetDefaultEventuallyTimeout(2 * time.Minute)
	EnforceDefaultTimeoutsWhenUsingContexts() // or a spec could wait without end
	SetDefaultEventuallyPollingInterval(10 * time.Millisecond)
	ctrl.SetLogger(GinkgoLogr)
	ctx, stop := context.WithCancel(context.Background())
	var err error
	cluster, err = testcluster.Start(ctx, "../../../..", GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		stop()
		Expect(cluster.Stop(ctx)).To(Succeed())
	})
	cached, err = cache.New(cluster.Operator, cache.Options{Scheme: cluster.Scheme})
	Expect(err).NotTo(HaveOccurred())
	Expect(poll.AddIndexes(ctx, cached)).To(Succeed())
	go func() {
		defer GinkgoRecover()
		Expect(cached.Start(ctx)).To(Succeed())
	}()
	Expect(cached.WaitForCacheSync(ctx)).To(BeTrue())
})
