package argocd_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// readFluxDefinitions returns the resource definitions of Flux by kind, from the types of
// its API: the modules of these do not have the definitions themselves.
func readFluxDefinitions(t *testing.T) map[string]apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	generate := exec.CommandContext(t.Context(), "go", "tool", "-modfile=../tools/controller-gen/go.mod", "controller-gen", "crd",
		"paths=github.com/fluxcd/kustomize-controller/api/v1", "paths=github.com/fluxcd/source-controller/api/v1", "output:stdout")
	generate.Stderr = os.Stderr
	content, err := generate.Output()
	if err != nil {
		t.Fatal(err)
	}
	definitions := map[string]apiextensionsv1.CustomResourceDefinition{}
	for document := range bytes.SplitSeq(content, []byte("\n---\n")) {
		var definition apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(document, &definition); err != nil {
			t.Fatal(err)
		}
		definitions[definition.Spec.Names.Kind] = definition
	}
	return definitions
}

// An API server with Flux's resource definitions accepts the example, Flux knows every
// field of it, and its objects fit together.
func TestFluxIsValid(t *testing.T) {
	definitions := readFluxDefinitions(t)
	var (
		source        sourcev1.GitRepository
		kustomization kustomizev1.Kustomization
	)
	for kind, into := range map[string]any{"GitRepository": &source, "Kustomization": &kustomization} {
		document := readExample(t, kind)
		checkSchema(t, definitions[kind], document)
		if err := yaml.UnmarshalStrict(document, into); err != nil {
			t.Error(err)
		}
	}
	if ref := kustomization.Spec.SourceRef; ref.Kind != source.Kind || ref.Name != source.Name || source.Namespace != kustomization.Namespace {
		t.Errorf("the source is %s, the example has %s/%s", ref.String(), source.Namespace, source.Name)
	}
	if path := filepath.Clean(kustomization.Spec.Path); path != filepath.Base(gitops) {
		t.Errorf("the path is %s, the example %s", path, filepath.Base(gitops))
	}
}
