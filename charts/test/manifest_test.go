package test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/acclaim-dev/acclaim/charts/test/manifest"
)

// Config installs the same without Helm as the chart does, but for the names of some
// rights, Helm's labels, the CRDs' and the namespace, which Helm does not render.
func TestManifest(t *testing.T) {
	for folder, operator := range map[string]map[string]any{
		"default":        {},
		"all-namespaces": {"allNamespaces": true},
	} {
		t.Run(folder, func(t *testing.T) {
			built, err := manifest.Build("../../config", folder, types.Image{})
			if err != nil {
				t.Fatal(err)
			}
			text, err := built.AsYaml()
			if err != nil {
				t.Fatal(err)
			}
			r, err := renderIn("acclaim-system", map[string]any{"operator": operator, "production": map[string]any{"enabled": false}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(parseObjects(t, renameRights(r.Manifest)), parseObjects(t, string(text))); diff != "" {
				t.Errorf("config/%s (-chart +config):\n%s", folder, diff)
			}
		})
	}
}

// renameRights gives what the chart renders the names that config has.
func renameRights(rendered string) string {
	return strings.NewReplacer(
		"kind: RoleBinding\nmetadata:\n  name: acclaim-system-acclaim-operator\n", "kind: RoleBinding\nmetadata:\n  name: acclaim-operator-namespaced\n",
		"acclaim-system-acclaim-", "acclaim-",
	).Replace(rendered)
}

// parseObjects returns objects by kind and name, without CRDs, namespaces and Helm's labels.
func parseObjects(t *testing.T, text string) map[string]any {
	t.Helper()
	all := map[string]any{}
	for document := range strings.SplitSeq(text, "\n---\n") {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatal(err)
		}
		kind := object["kind"].(string)
		if kind == "CustomResourceDefinition" || kind == "Namespace" {
			continue
		}
		removeLabels(object)
		all[kind+"/"+object["metadata"].(map[string]any)["name"].(string)] = object
	}
	return all
}

// removeLabels removes Helm's labels, and those of the version, wherever they are.
func removeLabels(node any) {
	switch node := node.(type) {
	case map[string]any:
		for _, label := range []string{"app.kubernetes.io/managed-by", "app.kubernetes.io/version", "helm.sh/chart"} {
			delete(node, label)
		}
		for _, child := range node {
			removeLabels(child)
		}
	case []any:
		for _, child := range node {
			removeLabels(child)
		}
	}
}

// The manifest of a release has its image, and the CRDs.
func TestManifestOfRelease(t *testing.T) {
	built, err := manifest.Build("../../config", "default", types.Image{NewName: "registry.example:5000/acclaim", NewTag: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	text, err := built.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"image: registry.example:5000/acclaim:1.2.3\n", "name: polls.acclaim.dev\n", "kind: Namespace\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the manifest lacks %q", want)
		}
	}
}
