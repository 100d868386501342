package v1alpha1_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// A protected object is not deleted, alone or with others of its kind.
func testProtection(t *testing.T, c client.Client) {
	ctx := t.Context()
	content, err := os.ReadFile("../../config/operator/protection.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(content), "\n---\n") {
		var o unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			t.Fatal(err)
		}
		create(ctx, t, c, &o)
	}
	protect := func(kind string) *unstructured.Unstructured {
		o := object(kind, "protected", nil)
		o.SetAnnotations(map[string]string{v1alpha1.ProtectedAnnotation: "true"})
		o.SetLabels(map[string]string{"protected": "true"})
		return o
	}
	for _, kind := range []string{"Poll", "Extension", "Backend"} {
		o := protect(kind)
		create(ctx, t, c, o)
		// The API server reads policies a moment after they are stored.
		err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
			if err := c.Delete(ctx, o); err != nil {
				return strings.Contains(err.Error(), "is protected"), nil
			}
			return false, c.Create(ctx, protect(kind))
		})
		if err != nil {
			t.Fatal(err)
		}
		refused(t, c.Delete(ctx, o), "remove the annotation acclaim.dev/protected first")
		refused(t, c.DeleteAllOf(ctx, o, client.InNamespace("default"), client.MatchingLabels{"protected": "true"}), "is protected")
		if err := c.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			t.Fatal(err)
		}
		o.SetAnnotations(nil)
		if err := c.Update(ctx, o); err != nil {
			t.Fatal(err)
		}
		if err := c.Delete(ctx, o); err != nil {
			t.Errorf("no longer protected: %v", err)
		}
	}
}

func testBackendName(t *testing.T, c client.Client) {
	ctx := t.Context()
	for _, name := range []string{strings.Repeat("a", 51), "a.b", "1a"} {
		refused(t, c.Create(ctx, object("Backend", name, nil)), `metadata: Invalid value: the name is part of the names of Services`)
	}
	for _, name := range []string{strings.Repeat("a", 50), "a", "a-1"} {
		create(ctx, t, c, object("Backend", name, nil))
	}
}
