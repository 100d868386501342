// Package testcluster provides the operator's test suites with a real API server
// that knows the project's resources and can be restarted, a user with exactly the
// operator's role, and wires that record and cut requests.
//
// Only tests may import it. It knows no controller.
package testcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/hack/envtest/assets"
)

// Cluster is an API server and its etcd.
type Cluster struct {
	environment *envtest.Environment
	certs       string
	root        string // of the module
	// Scheme has Kubernetes' kinds and the project's.
	Scheme *runtime.Scheme
	// Config connects with all rights.
	Config *rest.Config
	// Client may do anything.
	Client client.WithWatch
	// Operator connects with the role in config/rbac.
	Operator *rest.Config
}

// Start starts a cluster. root is the folder of the module. Builds that it needs
// first are reported to progress.
func Start(ctx context.Context, root string, progress io.Writer) (c *Cluster, err error) {
	c = &Cluster{root: root, Scheme: runtime.NewScheme()}
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(c.Scheme); err != nil {
			return nil, err
		}
	}
	folder, err := assets.Find(ctx, progress)
	if err != nil {
		return nil, err
	}
	// Certificates in a folder of ours outlive a restart of the API server.
	if c.certs, err = os.MkdirTemp("", "acclaim-certs-"); err != nil {
		return nil, err
	}
	c.environment = &envtest.Environment{
		BinaryAssetsDirectory: folder,
		CRDDirectoryPaths:     []string{filepath.Join(root, "config", "crd")},
		ErrorIfCRDPathMissing: true,
	}
	c.environment.ControlPlane.GetAPIServer().CertDir = c.certs
	c.environment.ControlPlane.GetAPIServer().StopTimeout = time.Millisecond
	if c.Config, err = c.environment.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(c.certs))
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Stop(ctx))
		}
	}()
	if c.Client, err = client.NewWithWatch(c.Config, client.Options{Scheme: c.Scheme}); err != nil {
		return nil, err
	}
	return c, c.addOperator(ctx)
}

// Stop stops everything.
func (c *Cluster) Stop(ctx context.Context) error {
	return errors.Join(c.KillAPIServer(ctx), c.environment.Stop(), os.RemoveAll(c.certs))
}

// KillAPIServer ends the API server at once, open watches and all, as when its
// machine fails. Its data stays in etcd.
func (c *Cluster) KillAPIServer(ctx context.Context) error {
	server := c.environment.ControlPlane.GetAPIServer()
	_ = server.Stop() // that it does not stop by itself within StopTimeout
	address := server.SecureServing.URL("https", "").Host
	var dialer net.Dialer
	return wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, time.Minute, true, func(ctx context.Context) (dead bool, err error) {
		connection, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return true, nil //nolint:nilerr // the expected end
		}
		return false, connection.Close()
	})
}

// StartAPIServer starts it again at the same address.
func (c *Cluster) StartAPIServer() error { return c.environment.ControlPlane.GetAPIServer().Start() }

// OperatorOf returns what connects as an operator of that name, NAMESPACE/RELEASE, that
// watches only some namespaces: with the role in these alone, and with the rights and the
// admission policy for what it holds elsewhere. It has no other right to kinds without a
// namespace.
func (c *Cluster) OperatorOf(ctx context.Context, instance string, namespaces ...string) (*rest.Config, error) {
	role, err := c.readRole()
	if err != nil {
		return nil, err
	}
	role.Name = "acclaim-operator-of-" + namespaces[0]
	role.Rules = slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.Resources, "namespaces") || slices.Contains(r.Resources, "ingressclasses")
	})
	if err := c.Client.Create(ctx, role); err != nil {
		return nil, err
	}
	for _, namespace := range namespaces {
		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: role.Name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: role.Name}},
		}
		if err := c.Client.Create(ctx, binding); err != nil {
			return nil, err
		}
	}
	config := rest.CopyConfig(c.Config)
	config.Impersonate.UserName, config.QPS = role.Name, -1
	return config, c.grantFinalizers(ctx, role.Name, instance, namespaces)
}

// grantFinalizers gives an operator the rights of config/rbac/finalizers, bounded by its
// admission policy.
func (c *Cluster) grantFinalizers(ctx context.Context, user, instance string, namespaces []string) error {
	content, err := os.ReadFile(filepath.Join(c.root, "config", "rbac", "finalizers", "finalizers.yaml"))
	if err != nil {
		return err
	}
	text := strings.NewReplacer(
		"acclaim-operator-finalizers", user,
		"finalizers-acclaim-system-acclaim", user,
		"system:serviceaccount:acclaim-system:acclaim-operator", user,
		"acclaim-system/acclaim", instance,
		"[acclaim-system]", "["+strings.Join(namespaces, ", ")+"]",
		"kind: ServiceAccount\n    name: acclaim-operator\n    namespace: acclaim-system", "kind: User\n    name: "+user,
	).Replace(string(content))
	for document := range strings.SplitSeq(text, "\n---\n") {
		var o unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			return err
		}
		if o.GetKind() == "ClusterRole" {
			o.SetName(user + "-finalizers") // user is the other role's
		}
		if o.GetKind() == "ClusterRoleBinding" {
			if err := unstructured.SetNestedField(o.Object, user+"-finalizers", "roleRef", "name"); err != nil {
				return err
			}
		}
		if err := c.Client.Create(ctx, &o); err != nil {
			return err
		}
	}
	return nil
}

// readRole returns the cluster role of the operator.
func (c *Cluster) readRole() (*rbacv1.ClusterRole, error) {
	file := filepath.Join(c.root, "config", "rbac", "role.yaml")
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var role rbacv1.ClusterRole // the first document; the second is for the lease
	if err := yaml.Unmarshal(content, &role); err != nil || role.Name != "acclaim-operator" {
		return nil, fmt.Errorf("%s: the cluster role %q: %w", file, role.Name, err)
	}
	return &role, nil
}

// addOperator makes a user that may do what the cluster role allows.
func (c *Cluster) addOperator(ctx context.Context) error {
	role, err := c.readRole()
	if err != nil {
		return err
	}
	name := role.Name
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	}
	for _, o := range []client.Object{role, binding} {
		if err := c.Client.Create(ctx, o); err != nil {
			return err
		}
	}
	user, err := c.environment.AddUser(envtest.User{Name: name}, &rest.Config{QPS: -1})
	if err != nil {
		return err
	}
	c.Operator = user.Config()
	return nil
}
