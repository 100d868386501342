package v1alpha1_test

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// olderSpecs are specs that versions before accepted and this one refuses, with a change of
// another field that has to go through.
func olderSpecs() []struct {
	kind          string
	older, change spec
} {
	games := spec{"gamelink": spec{}}
	return []struct {
		kind          string
		older, change spec
	}{
		{"Poll", spec{"channel": "1 "}, spec{"prompt": "New"}},
		{"Poll", spec{"id": " "}, spec{"prompt": "New"}},
		{"Poll", spec{"prompt": "a\x00b", "options": []any{"\x00"}}, spec{"disabled": true}},
		{"Poll", spec{"startsAt": "2030-01-01T00:00:00.1Z", "endsAt": "2030-01-01T00:00:00.9Z"}, spec{"prompt": "New"}},
		{"Poll", spec{"backendRef": spec{"name": "a", "namespace": "NO_SUCH"}}, spec{"prompt": "New"}},
		{"Extension", spec{"keys": append(keys(1), keys(1)...)}, spec{"ownerUserID": "1"}},
		{"Backend", spec{"services": spec{"voting": spec{"resources": spec{"limits": spec{"memory": "100Mi"}}}}}, spec{"image": "acclaim:2"}},
		{"Backend", spec{"services": games, "ingress": spec{"host": "a.example", "gameHost": "a.example"}}, spec{"ingress": spec{"host": "a.example", "gameHost": "a.example", "pages": true}}},
		{"Backend", spec{"services": games, "route": spec{"host": "a.example", "gameHost": "a.example", "gateway": spec{"name": "a"}}},
			spec{"route": spec{"host": "a.example", "gameHost": "a.example", "gateway": spec{"name": "b"}}}},
	}
}

// Objects that exist with values that only older versions accept can still be edited.
func testOlder(t *testing.T, c client.Client) {
	ctx := t.Context()
	crds := map[string]*unstructured.Unstructured{}
	for _, name := range []string{"polls", "extensions", "backends"} {
		crds[name] = replaceRules(ctx, t, c, name, func(s spec) { dropRules(s) })
	}
	var objects []*unstructured.Unstructured
	for i, older := range olderSpecs() {
		o := object(older.kind, "older-"+string(rune('a'+i)), older.older)
		objects = append(objects, o)
		await(ctx, t, func() bool { return c.Create(ctx, o) == nil })
	}
	for name, crd := range crds {
		replaceRules(ctx, t, c, name, func(s spec) { s["spec"] = crd.Object["spec"] })
	}
	for i, older := range olderSpecs() {
		o := objects[i]
		await(ctx, t, func() bool {
			return c.Create(ctx, object(older.kind, "newer", older.older), client.DryRunAll) != nil
		})
		lay(o.Object["spec"].(spec), older.change)
		if err := c.Update(ctx, o); err != nil {
			t.Errorf("a change of another field: %v", err)
		}
	}
}

// replaceRules changes a CRD and returns it as it was.
func replaceRules(ctx context.Context, t *testing.T, c client.Client, name string, change func(spec)) *unstructured.Unstructured {
	t.Helper()
	var crd unstructured.Unstructured
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	if err := c.Get(ctx, client.ObjectKey{Name: name + ".acclaim.dev"}, &crd); err != nil {
		t.Fatal(err)
	}
	before := crd.DeepCopy()
	change(crd.Object)
	if err := c.Update(ctx, &crd); err != nil {
		t.Fatal(err)
	}
	return before
}

// dropRules removes the rules in CEL from a schema.
func dropRules(node any) {
	switch node := node.(type) {
	case spec:
		delete(node, "x-kubernetes-validations")
		for _, child := range node {
			dropRules(child)
		}
	case []any:
		for _, child := range node {
			dropRules(child)
		}
	}
}

// await waits until the API server has read a CRD that was changed.
func await(ctx context.Context, t *testing.T, done func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return done(), nil })
	if err != nil {
		t.Fatal(err)
	}
}
