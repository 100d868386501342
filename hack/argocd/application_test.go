package argocd_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const gitops = "../../config/samples/gitops"

// readExample returns the object of a kind in the file of the GitOps example for Argo CD and
// Flux.
func readExample(t *testing.T, kind string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(gitops, "application.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for document := range bytes.SplitSeq(content, []byte("\n---\n")) {
		if bytes.Contains(document, []byte("\nkind: "+kind+"\n")) {
			return document
		}
	}
	t.Fatalf("the example has no %s", kind)
	return nil
}

// checkSchema holds an object to the schema of the version that its resource definition
// stores.
func checkSchema(t *testing.T, definition apiextensionsv1.CustomResourceDefinition, document []byte) {
	t.Helper()
	var object map[string]any
	if err := yaml.UnmarshalStrict(document, &object); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(definition.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage })
	if i < 0 {
		t.Fatalf("a %s has no definition", object["kind"])
	}
	stored := definition.Spec.Versions[i]
	if version := definition.Spec.Group + "/" + stored.Name; object["apiVersion"] != version || object["kind"] != definition.Spec.Names.Kind {
		t.Errorf("it is a %s of %s, want one of %s", object["kind"], object["apiVersion"], version)
	}
	var schema apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(stored.Schema.OpenAPIV3Schema, &schema, nil); err != nil {
		t.Fatal(err)
	}
	validator, _, err := validation.NewSchemaValidator(&schema)
	if err != nil {
		t.Fatal(err)
	}
	if problems := validation.ValidateCustomResource(nil, object, validator); len(problems) > 0 {
		t.Error(problems.ToAggregate())
	}
}

// An API server with Argo CD's resource definition accepts the example, and Argo CD knows
// every field of it.
func TestApplicationIsValid(t *testing.T) {
	module, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/argoproj/argo-cd/v3").Output()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(module)), "manifests", "crds", "application-crd.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(content, &definition); err != nil {
		t.Fatal(err)
	}
	checkSchema(t, definition, readExample(t, "Application"))
	var application v1alpha1.Application
	if err := yaml.UnmarshalStrict(readExample(t, "Application"), &application); err != nil {
		t.Error(err)
	}
}

// The folder that the example names renders to the files that the test of the operator
// applies and prunes in random orders, and to no others.
func TestApplicationSource(t *testing.T) {
	var application v1alpha1.Application
	if err := yaml.UnmarshalStrict(readExample(t, "Application"), &application); err != nil {
		t.Fatal(err)
	}
	if path := application.Spec.Source.Path; path != filepath.Base(gitops) {
		t.Errorf("the source is the folder %s, the example %s", path, filepath.Base(gitops))
	}
	rendered, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), gitops)
	if err != nil {
		t.Fatal(err)
	}
	applied := map[string]bool{}
	for _, file := range []string{"namespaces.yaml", "platform.yaml", "team.yaml"} {
		content, err := os.ReadFile(filepath.Join(gitops, file))
		if err != nil {
			t.Fatal(err)
		}
		for document := range bytes.SplitSeq(content, []byte("\n---\n")) {
			applied[encode(t, document)] = true
		}
	}
	for _, resource := range rendered.Resources() {
		content, err := resource.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		if o := encode(t, content); !applied[o] {
			t.Errorf("the folder has an object that no test applies:\n%s", o)
		} else {
			delete(applied, o)
		}
	}
	for o := range applied {
		t.Errorf("the folder lacks an object that a test applies:\n%s", o)
	}
}

// encode returns the one form of a YAML document.
func encode(t *testing.T, document []byte) string {
	t.Helper()
	var object map[string]any
	err := yaml.UnmarshalStrict(document, &object)
	if err == nil {
		document, err = yaml.Marshal(object)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(document)
}
