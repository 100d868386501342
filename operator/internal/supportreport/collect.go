package supportreport

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
	"github.com/acclaim-dev/acclaim/operator/internal/overview"
)

// own returns the kinds of Acclaim. A cluster may lack the later ones.
func own() (kinds []schema.GroupVersionKind) {
	for _, kind := range []string{"Backend", "Extension", "Poll", "Backup", "ScheduledBackup"} {
		kinds = append(kinds, schema.GroupVersionKind{Group: v1alpha1.Group, Version: v1alpha1.Version, Kind: kind})
	}
	return kinds
}

// made returns the kinds that Backends and operators consist of. Their objects have a label.
func made() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		{Group: "apps", Version: "v1", Kind: "Deployment"},
		{Group: "apps", Version: "v1", Kind: "ReplicaSet"},
		{Version: "v1", Kind: "Pod"},
		{Version: "v1", Kind: "Service"},
		{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
		{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"},
		{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"},
		{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
		{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"},
		{Group: "batch", Version: "v1", Kind: "CronJob"},
		{Group: "batch", Version: "v1", Kind: "Job"},
	}
}

func labelled() client.MatchingLabels {
	return client.MatchingLabels{"app.kubernetes.io/name": "acclaim"}
}

// collect reads the objects of the namespaces, and of those that their objects lead to.
func (c *collection) collect(ctx context.Context, namespace string) error {
	for _, kind := range own() {
		if err := c.list(ctx, kind, client.InNamespace(namespace)); err != nil && kind.Kind == "Backend" {
			return err
		}
	}
	for _, there := range c.namespaces(namespace) {
		for _, kind := range made() {
			_ = c.list(ctx, kind, client.InNamespace(there), labelled()) // noted
		}
		_ = c.list(ctx, schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}, client.InNamespace(there))
	}
	c.objects = slices.DeleteFunc(c.objects, func(o unstructured.Unstructured) bool {
		return o.GetKind() == "Lease" && o.GetName() != overview.OperatorLease
	})
	return nil
}

// list reads the objects of a kind. It notes an error but that of a kind that the cluster
// lacks.
func (c *collection) list(ctx context.Context, kind schema.GroupVersionKind, options ...client.ListOption) error {
	list := &unstructured.UnstructuredList{}
	kind.Kind += "List"
	list.SetGroupVersionKind(kind)
	err := c.Client.List(ctx, list, options...)
	switch {
	case err == nil:
		c.objects = append(c.objects, list.Items...)
	case !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err):
		c.note("%v", err)
	}
	return err
}

// namespaces returns the one to report about, and those of the Backends and operators that
// its objects name: "" alone stands for all.
func (c *collection) namespaces(namespace string) []string {
	if namespace == "" {
		return []string{""}
	}
	all := []string{namespace}
	for _, o := range c.objects {
		holder, _, _ := strings.Cut(o.GetAnnotations()[v1alpha1.OperatorAnnotation], "/")
		all = append(all, holder)
		for _, path := range [][]string{{"spec", "backendRef"}, {"spec", "sandbox", "backendRef"}} {
			named, _, _ := unstructured.NestedString(o.Object, append(path, "namespace")...)
			all = append(all, named)
		}
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(s string) bool { return s == "" })
}

// secretNames returns the Secrets that the objects name, wherever they do.
func (c *collection) secretNames() (names []types.NamespacedName) {
	for _, o := range c.objects {
		add := func(name string) {
			if full := (types.NamespacedName{Namespace: o.GetNamespace(), Name: name}); name != "" && !slices.Contains(names, full) {
				names = append(names, full)
			}
		}
		if o.GetKind() == "Backend" {
			add(desired.RegistrySecret(o.GetName()))
		}
		findSecrets(o.Object, add)
	}
	slices.SortFunc(names, func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	return names
}

// findSecrets calls add with each name of a Secret in a value: a text whose field ends with
// secretName, and the name in a field that refers to a Secret.
func findSecrets(value any, add func(name string)) {
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			findSecrets(element, add)
		}
	case map[string]any:
		for field, member := range v {
			text, _ := member.(string)
			switch lower := strings.ToLower(field); {
			case strings.HasSuffix(lower, "secretname"):
				add(text)
			case strings.HasPrefix(lower, "secret") || lower == "mongodb" || lower == "imagepullsecrets":
				addNames(member, add)
			}
			findSecrets(member, add)
		}
	}
}

func addNames(value any, add func(name string)) {
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			addNames(element, add)
		}
	case map[string]any:
		name, _ := v["name"].(string)
		add(name)
	}
}

// readSecrets describes Secrets by the sizes of their entries, and returns the values, for
// nothing but to find them elsewhere.
func (c *collection) readSecrets(ctx context.Context) (description string, values [][]byte) {
	var b strings.Builder
	for _, name := range c.secretNames() {
		var s corev1.Secret
		if err := c.Client.Get(ctx, name, &s); err != nil {
			fmt.Fprintf(&b, "%s: %v\n", name, err)
			continue
		}
		fmt.Fprintf(&b, "%s: %s\n", name, s.Type)
		var keys []string
		for key, value := range s.Data {
			keys = append(keys, fmt.Sprintf("  %s: %d bytes\n", key, len(value)))
			values = append(values, value)
		}
		slices.Sort(keys)
		b.WriteString(strings.Join(keys, ""))
	}
	return b.String(), values
}
