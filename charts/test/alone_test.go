package test

import (
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader"
	"helm.sh/helm/v4/pkg/engine"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
)

// bindings is a cluster that has ClusterRoleBindings.
type bindings []string

// GetClientFor returns a client for a kind that the chart looks up.
func (b bindings) GetClientFor(apiVersion, kind string) (dynamic.NamespaceableResourceInterface, bool, error) {
	if kind == "Namespace" {
		return namespaces{}.GetClientFor(apiVersion, kind)
	}
	scheme := runtime.NewScheme()
	if err := rbacv1.AddToScheme(scheme); err != nil {
		return nil, false, err
	}
	objects := []runtime.Object{&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "unrelated"}}}
	for _, name := range b {
		objects = append(objects, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			"app.kubernetes.io/name": "acclaim", "app.kubernetes.io/component": "operator",
		}}})
	}
	return fake.NewSimpleDynamicClient(scheme, objects...).Resource(rbacv1.SchemeGroupVersion.WithResource("clusterrolebindings")), false, nil
}

// renderOver renders the chart for a cluster in which it looks objects up.
func renderOver(t *testing.T, values map[string]any, cluster engine.ClientProvider) (map[string]string, error) {
	t.Helper()
	loaded, err := loader.Load(chart)
	if err != nil {
		t.Fatal(err)
	}
	options := common.ReleaseOptions{Name: "acclaim", Namespace: "live", IsInstall: true}
	all, err := util.ToRenderValues(loaded, values, options, common.DefaultCapabilities)
	if err != nil {
		t.Fatal(err)
	}
	return engine.RenderWithClientProvider(loaded, all, cluster)
}

// Two operators that watch all namespaces would race for every object.
func TestOneOperatorOfAllNamespaces(t *testing.T) {
	for name, test := range map[string]struct {
		cluster bindings
		all     bool
		want    string // of the error
	}{
		"alone":                             {nil, true, ""},
		"its own upgrade":                   {bindings{"live-acclaim-operator"}, true, ""},
		"beside one of some":                {bindings{"other-second-operator-finalizers"}, true, ""},
		"beside another":                    {bindings{"other-second-operator"}, true, "other-second-operator"},
		"beside one of some namespaces":     {bindings{"other-second-operator-lookups"}, true, ""},
		"in its own namespace, beside that": {bindings{"other-second-operator"}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			values := readValues(t, "testdata/trial")
			operator, _ := values["operator"].(map[string]any)
			if operator == nil {
				operator = map[string]any{}
			}
			operator["allNamespaces"] = test.all
			values["operator"] = operator
			_, err := renderOver(t, values, test.cluster)
			if refused := err != nil; refused != (test.want != "") {
				t.Fatalf("error is %v", err)
			}
			if err != nil && (!strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "namespaces live")) {
				t.Errorf("error is %v, want one about %q", err, test.want)
			}
		})
	}
}
