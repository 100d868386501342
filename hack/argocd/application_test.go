package argocd_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
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

// readApplication returns the Application of the GitOps example, the first document of
// its file.
func readApplication(t *testing.T) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(gitops, "application.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	application, _, _ := bytes.Cut(content, []byte("\n---\n"))
	return application
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
	var schema apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(definition.Spec.Versions[0].Schema.OpenAPIV3Schema, &schema, nil); err != nil {
		t.Fatal(err)
	}
	validator, _, err := validation.NewSchemaValidator(&schema)
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := yaml.UnmarshalStrict(readApplication(t), &object); err != nil {
		t.Fatal(err)
	}
	if problems := validation.ValidateCustomResource(nil, object, validator); len(problems) > 0 {
		t.Error(problems.ToAggregate())
	}
	var application v1alpha1.Application
	if err := yaml.UnmarshalStrict(readApplication(t), &application); err != nil {
		t.Error(err)
	}
	if application.APIVersion != definition.Spec.Group+"/"+definition.Spec.Versions[0].Name || application.Kind != definition.Spec.Names.Kind {
		t.Errorf("it is a %s of %s", application.Kind, application.APIVersion)
	}
}

// The folder that the example names renders to the files that the test of the operator
// applies and prunes in random orders, and to no others.
func TestApplicationSource(t *testing.T) {
	var application v1alpha1.Application
	if err := yaml.UnmarshalStrict(readApplication(t), &application); err != nil {
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
