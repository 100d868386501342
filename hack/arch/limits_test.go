package arch

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// limitedSchema has the limits in a schema of OpenAPI or of a CRD.
type limitedSchema struct {
	Properties map[string]limitedSchema `json:"properties"`
	Items      *limitedSchema           `json:"items"`
	Minimum    *float64                 `json:"minimum"`
	Maximum    *float64                 `json:"maximum"`
	MaxLength  *float64                 `json:"maxLength"`
	MaxItems   *float64                 `json:"maxItems"`
}

// The rules, OpenAPI, the contract and the Poll resource repeat the limits of a poll's
// configuration. The tests of httpapi compare the rules with the reasons in OpenAPI,
// TestContractHasEveryReason compares those with the contract. This test compares
// OpenAPI's schema with its reasons, and the Poll resource with OpenAPI.
func TestLimitsOfPollsAgree(t *testing.T) {
	var api struct {
		Components struct {
			Schemas map[string]limitedSchema `json:"schemas"`
		} `json:"components"`
	}
	source := readYAML(t, "../../api/openapi.yaml", &api)
	config := api.Components.Schemas["PollConfig"].Properties
	if len(config) == 0 {
		t.Fatal("OpenAPI has no PollConfig")
	}
	for name, property := range config {
		if property.Minimum == nil || property.Maximum == nil {
			continue
		}
		reason := name + " must be between " + formatLimit(property.Minimum) + " and " + formatLimit(property.Maximum)
		if !strings.Contains(source, reason) {
			t.Errorf("OpenAPI: %s has limits, and no operation lists the reason %q", name, reason)
		}
	}

	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema limitedSchema `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	readYAML(t, "../../config/crd/acclaim.dev_polls.yaml", &crd)
	compared := 0
	for name, property := range crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties {
		want, known := config[name]
		if !known {
			continue // of Kubernetes alone
		}
		compared++
		if got, want := property.describe(), want.describe(); got != want {
			t.Errorf("the Poll resource limits %s to %s, OpenAPI to %s", name, got, want)
		}
	}
	if compared == 0 {
		t.Error("the Poll resource shares no field with PollConfig")
	}
}

// describe returns the limits of a schema as text, without a minimum of 0: a time is
// not negative in Kubernetes.
func (s limitedSchema) describe() string {
	text := strings.Join([]string{
		"minimum " + formatLimit(s.Minimum), "maximum " + formatLimit(s.Maximum),
		"length " + formatLimit(s.MaxLength), "items " + formatLimit(s.MaxItems),
	}, ", ")
	if s.Items != nil {
		text += ", each " + s.Items.describe()
	}
	return text
}

func formatLimit(limit *float64) string {
	if limit == nil || *limit == 0 {
		return "-"
	}
	return strconv.FormatFloat(*limit, 'f', -1, 64)
}

// readYAML decodes a file and returns its text.
func readYAML(t *testing.T, name string, into any) string {
	t.Helper()
	source, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(source, into); err != nil {
		t.Fatal(err)
	}
	return string(source)
}
