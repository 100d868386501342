package extension_test

import (
	"bytes"
	"context"
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/hack/envtest/assets"
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
	api      client.WithWatch
	operator *rest.Config
	program  string
)

var _ = BeforeSuite(func(ctx context.Context) {
	folder, err := assets.Find(ctx, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	environment := &envtest.Environment{
		BinaryAssetsDirectory: folder,
		CRDDirectoryPaths:     []string{"../../../../config/crd"},
		ErrorIfCRDPathMissing: true,
	}
	config, err := environment.Start()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(environment.Stop)

	scheme := runtime.NewScheme()
	Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	api, err = client.NewWithWatch(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())

	operator = asOperator(ctx, environment, config)
	program, err = gexec.Build("github.com/acclaim-dev/acclaim/services")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(gexec.CleanupBuildArtifacts)
})

// asOperator returns a configuration for one who may what config/rbac/role.yaml
// says, and no more.
func asOperator(ctx context.Context, environment *envtest.Environment, config *rest.Config) *rest.Config {
	GinkgoHelper()
	content, err := os.ReadFile("../../../../config/rbac/role.yaml")
	Expect(err).NotTo(HaveOccurred())
	var role rbacv1.ClusterRole
	Expect(yaml.Unmarshal(bytes.Split(content, []byte("\n---\n"))[0], &role)).To(Succeed())
	Expect(role.Rules).NotTo(BeEmpty())
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "operator"}},
	}
	Expect(api.Create(ctx, &role)).To(Succeed())
	Expect(api.Create(ctx, binding)).To(Succeed())
	user, err := environment.AddUser(envtest.User{Name: "operator"}, config)
	Expect(err).NotTo(HaveOccurred())
	return user.Config()
}
