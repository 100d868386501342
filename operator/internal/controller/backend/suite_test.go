package backend_test

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/hack/envtest/assets"
)

func TestBackend(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Backend controller")
}

// cluster is the API server of the suite. It has no controllers: the specs play
// those that make pods of Deployments.
var cluster *envtest.Environment

var _ = BeforeSuite(func(ctx context.Context) {
	ctrl.SetLogger(GinkgoLogr)
	folder, err := assets.Find(ctx, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	cluster = &envtest.Environment{
		BinaryAssetsDirectory: folder,
		CRDDirectoryPaths:     []string{"../../../../config/crd"},
		ErrorIfCRDPathMissing: true,
	}
	config, err := cluster.Start()
	Expect(err).NotTo(HaveOccurred())
	config.QPS = -1 // as fast as it answers
	DeferCleanup(cluster.Stop)
})

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		Expect(add(scheme)).To(Succeed())
	}
	return scheme
}

// installGatewayAPI gives the cluster the HTTPRoutes of the Gateway API for the
// time of a spec.
func installGatewayAPI(ctx context.Context) {
	GinkgoHelper()
	download := exec.CommandContext(ctx, "go", "mod", "download", "-json", "sigs.k8s.io/gateway-api")
	download.Dir = "../../../../hack/envtest/gateway"
	output, err := download.Output()
	Expect(err).NotTo(HaveOccurred())
	var module struct{ Dir string }
	Expect(json.Unmarshal(output, &module)).To(Succeed())
	crds := []string{filepath.Join(module.Dir, "config/crd/standard/gateway.networking.k8s.io_httproutes.yaml")}
	installed, err := envtest.InstallCRDs(cluster.Config, envtest.CRDInstallOptions{Paths: crds})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx context.Context) {
		Expect(envtest.UninstallCRDs(cluster.Config, envtest.CRDInstallOptions{CRDs: installed})).To(Succeed())
		Eventually(ctx, func() bool {
			fresh, err := client.New(cluster.Config, client.Options{})
			Expect(err).NotTo(HaveOccurred())
			return meta.IsNoMatchError(fresh.Get(ctx, client.ObjectKey{Namespace: "default", Name: "any"}, route("default", "any")))
		}, "30s").Should(BeTrue())
	})
}
