package v1alpha1_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// installPolicies creates the policies of the API server that come with the operator.
func installPolicies(t *testing.T, c client.Client) {
	t.Helper()
	content, err := os.ReadFile("../../config/operator/protection.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(content), "\n---\n") {
		var o unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			t.Fatal(err)
		}
		if err := c.Create(t.Context(), &o); client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
	}
}

// A protected object is not deleted, alone or with others of its kind.
func testProtection(t *testing.T, c client.Client) {
	ctx := t.Context()
	installPolicies(t, c)
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

// A drain may take the only pod of a service: the API server warns of such a Backend.
func testDrainWarning(t *testing.T, c client.Client, config *rest.Config) {
	ctx := t.Context()
	installPolicies(t, c)
	heard := &warnings{}
	config = rest.CopyConfig(config)
	config.WarningHandlerWithContext = heard
	warned, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	one, two := spec{"replicas": int64(1)}, spec{"replicas": int64(2)}
	const warning = "one pod runs voting, state: requests fail for seconds while its node is drained"
	lonely := object("Backend", "drained", spec{"services": spec{
		"voting": one, "ranking": two, "accumulation": spec{"disabled": true, "replicas": int64(1)}, "state": spec{"autoscaling": spec{"minReplicas": int64(1), "maxReplicas": int64(3)}},
	}})
	await(ctx, t, func() bool {
		if err := warned.Create(ctx, lonely.DeepCopy(), client.DryRunAll); err != nil {
			t.Fatal(err)
		}
		return strings.Contains(heard.take(), warning)
	})
	for _, quiet := range []spec{nil, {"services": spec{"voting": two}}, {"services": spec{"state": spec{"autoscaling": spec{"maxReplicas": 3}}}}} {
		if err := warned.Create(ctx, object("Backend", "quiet", quiet), client.DryRunAll); err != nil {
			t.Fatal(err)
		}
		if got := heard.take(); got != "" {
			t.Errorf("%v: warning %q", quiet, got)
		}
	}
	create(ctx, t, warned, lonely)
	heard.take()
	lonely.SetAnnotations(map[string]string{"a": "b"})
	if err := warned.Update(ctx, lonely); err != nil || heard.take() != "" {
		t.Errorf("a change of the metadata alone: %v, or a warning", err)
	}
	lay(lonely.Object["spec"].(spec), spec{"image": "acclaim:2"})
	if err := warned.Update(ctx, lonely); err != nil || !strings.Contains(heard.take(), warning) {
		t.Errorf("a change of the spec: %v, or no warning", err)
	}
}

// warnings collects the warnings of an API server.
type warnings struct{ texts []string }

// HandleWarningHeaderWithContext implements [rest.WarningHandlerWithContext].
func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	w.texts = append(w.texts, text)
}

// take returns the warnings since it was called last.
func (w *warnings) take() string {
	texts := strings.Join(w.texts, "\n")
	w.texts = nil
	return texts
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
