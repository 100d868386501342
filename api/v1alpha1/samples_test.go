package v1alpha1_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// testSamples applies what config/samples holds as it is.
func testSamples(t *testing.T, c client.Client) {
	files, err := filepath.Glob("../../config/samples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("samples: %v, %v", files, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for document := range bytes.SplitSeq(content, []byte("\n---\n")) {
			var o unstructured.Unstructured
			if err := yaml.UnmarshalStrict(document, &o.Object); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			o.SetNamespace("default")
			create(t.Context(), t, c, &o)
		}
	}
}
