package v1alpha1_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// TestSamples applies what config/samples holds as it is.
func TestSamples(t *testing.T) {
	files, err := filepath.Glob("../../config/samples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("samples: %v, %v", files, err)
	}
	c := newClient(t)
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
