package test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
)

// namespaces is a cluster with the namespace kube-system and these, some of them being
// deleted.
type namespaces map[string]bool

// GetClientFor returns a client for namespaces, and one of no objects for another kind.
func (n namespaces) GetClientFor(_, kind string) (dynamic.NamespaceableResourceInterface, bool, error) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, false, err
	}
	if err := rbacv1.AddToScheme(scheme); err != nil {
		return nil, false, err
	}
	if kind != "Namespace" {
		return fake.NewSimpleDynamicClient(scheme).Resource(rbacv1.SchemeGroupVersion.WithResource("clusterrolebindings")), false, nil
	}
	objects := []runtime.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system"}}}
	for name, goes := range n {
		o := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if goes {
			o.DeletionTimestamp = new(metav1.Now())
		}
		objects = append(objects, o)
	}
	return fake.NewSimpleDynamicClient(scheme, objects...).Resource(corev1.SchemeGroupVersion.WithResource("namespaces")), false, nil
}

// boundIn returns the namespaces of the operator's RoleBindings.
func boundIn(t *testing.T, documents []string) (bound []string) {
	t.Helper()
	for _, object := range decode(t, documents) {
		if b, ok := object.(*rbacv1.RoleBinding); ok && b.RoleRef.Kind == "ClusterRole" {
			bound = append(bound, b.Namespace)
		}
	}
	return slices.Sorted(slices.Values(bound))
}

// Helm fails with an object in a namespace that does not exist or is being deleted; nothing
// of the chart is in one.
func TestNamespacesThatAreGone(t *testing.T) {
	values := readValues(t, "testdata/trial")
	values["operator"] = map[string]any{"namespaces": []any{"gone", "leaving", "team"}}
	for name, test := range map[string]struct {
		cluster namespaces
		want    []string
		notes   int
	}{
		"some are gone": {namespaces{"live": false, "leaving": true, "team": false}, []string{"live", "team"}, 2},
		"all are there": {namespaces{"live": false, "gone": false, "leaving": false, "team": false}, []string{"gone", "leaving", "live", "team"}, 0},
		"even that of the release is yet to be created": {namespaces{}, []string{"live"}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			files, err := renderOver(t, values, test.cluster)
			if err != nil {
				t.Fatal(err)
			}
			var documents []string
			notes := ""
			for file, content := range files {
				if strings.HasSuffix(file, "NOTES.txt") {
					notes = content
					continue
				}
				for document := range strings.SplitSeq(content, "\n---\n") {
					if strings.Contains(document, "kind: ") {
						documents = append(documents, document)
					}
				}
			}
			if diff := cmp.Diff(test.want, boundIn(t, documents)); diff != "" {
				t.Errorf("RoleBindings (-want +got):\n%s", diff)
			}
			if n := strings.Count(notes, "the operator leaves it out"); n != test.notes {
				t.Errorf("the notes name %d namespaces:\n%s", n, notes)
			}
			if !strings.Contains(strings.Join(slices.Collect(maps.Values(files)), ""), "--namespaces=gone,leaving,live,team") {
				t.Error("the operator is to watch fewer namespaces")
			}
		})
	}
}

// Without a cluster to look at, as in `helm template`, every namespace counts.
func TestNamespacesWithoutACluster(t *testing.T) {
	values := readValues(t, "testdata/trial")
	values["operator"] = map[string]any{"namespaces": []any{"team"}}
	r, err := render(values)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"live", "team"}, boundIn(t, manifests(r))); diff != "" {
		t.Errorf("RoleBindings (-want +got):\n%s", diff)
	}
}

// The hook before an uninstallation has rights in the release's namespace alone: one in
// another could not be granted once that is gone.
func TestUninstallNeedsNoOtherNamespace(t *testing.T) {
	r, err := render(readValues(t, "testdata/everything"))
	if err != nil {
		t.Fatal(err)
	}
	for _, hook := range r.Hooks {
		if strings.Contains(hook.Manifest, "kind: ClusterRole") || !strings.Contains(hook.Manifest, "namespace: live\n") || strings.Contains(hook.Manifest, "namespace: quiz\n") {
			t.Errorf("a hook is not in the release's namespace:\n%s", hook.Manifest)
		}
	}
}

// Which namespaces have the label decides where the operator works, and a RoleBinding that an
// administrator applies whether it may.
func TestNamespaceSelector(t *testing.T) {
	values := readValues(t, "testdata/trial")
	values["operator"] = map[string]any{"namespaceSelector": "acclaim.dev/tenant=true", "team": "team-a"}
	r, err := render(values)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"live", "team-a"}, boundIn(t, manifests(r))); diff != "" {
		t.Errorf("RoleBindings (-want +got):\n%s", diff)
	}
	if !strings.Contains(r.Manifest, "- --namespace-selector=acclaim.dev/tenant=true\n") {
		t.Error("the operator does not know the selector")
	}
	for _, object := range decode(t, manifests(r)) {
		role, ok := object.(*rbacv1.ClusterRole)
		if !ok || len(role.Labels["rbac.authorization.k8s.io/aggregate-to-view"]+role.Labels["rbac.authorization.k8s.io/aggregate-to-edit"]) > 0 || role.Name == "live-acclaim-operator" {
			continue
		}
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				if !slices.Contains([]string{"backends", "extensions", "polls", "backends/status", "extensions/status", "polls/status", "namespaces", "leases", "ingressclasses"}, resource) {
					t.Errorf("the operator has a right to %s in all namespaces", resource)
				}
			}
		}
	}
	values["operator"] = map[string]any{"namespaceSelector": "a=b", "allNamespaces": true}
	if _, err := render(values); err == nil {
		t.Error("it watches all namespaces, and those with a label")
	}
}

// The operator of a single tenant reads the Secrets that are named, and those of the chart.
func TestSecretNames(t *testing.T) {
	values := readValues(t, "testdata/trial")
	values["operator"] = map[string]any{"secretNames": []any{"quiz"}}
	r, err := render(values)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(r.Manifest, "- --secrets-by-name\n") {
		t.Error("the operator would watch Secrets")
	}
	for _, object := range decode(t, manifests(r)) {
		role, ok := object.(*rbacv1.ClusterRole)
		if !ok {
			continue
		}
		for _, rule := range role.Rules {
			if !slices.Contains(rule.Resources, "secrets") || slices.Equal(rule.Verbs, []string{"create"}) {
				continue
			}
			want := []string{"acclaim-production-mongodb", "default-registry", "quiz"}
			if diff := cmp.Diff(want, rule.ResourceNames); diff != "" || !slices.Equal(rule.Verbs, []string{"get", "patch"}) {
				t.Errorf("%v (-want +got):\n%s", rule.Verbs, diff)
			}
		}
	}
}
