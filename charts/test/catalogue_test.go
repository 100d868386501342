package test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// A catalogue of charts shows each CRD that the chart has in the version that it
// stores, and examples that are valid.
func TestCatalogue(t *testing.T) {
	c, err := loader.Load(chart)
	if err != nil {
		t.Fatal(err)
	}
	type kind struct{ Kind, Version, Name string }
	var shown []kind
	if err := yaml.Unmarshal([]byte(c.Metadata.Annotations["artifacthub.io/crds"]), &shown); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(chart + "/crds/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var there []kind
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(content, &crd); err != nil {
			t.Fatal(err)
		}
		there = append(there, kind{crd.Spec.Names.Kind, crd.Spec.Versions[0].Name, crd.Name})
	}
	if diff := cmp.Diff(there, shown); diff != "" {
		t.Errorf("crds (-there +shown):\n%s", diff)
	}
	var examples []json.RawMessage
	if err := yaml.Unmarshal([]byte(c.Metadata.Annotations["artifacthub.io/crdsExamples"]), &examples); err != nil || len(examples) == 0 {
		t.Fatalf("%d examples: %v", len(examples), err)
	}
	for _, example := range examples {
		decode(t, []string{string(example)})
	}
}
