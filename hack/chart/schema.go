package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	k8syaml "sigs.k8s.io/yaml"
)

// writeSchema writes the JSON schema of the values.
func writeSchema(file string, values []value, crds string) error {
	schema, err := groupSchema(values, crds)
	if err != nil {
		return err
	}
	definitions := map[string]any{}
	for _, kind := range []string{"extension", "poll"} {
		if definitions[kind], err = crdSchema(crds, kind+"s", "spec"); err != nil {
			return err
		}
	}
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	schema["$defs"] = definitions
	// What Helm adds to the values of a chart that is a dependency of another.
	schema["properties"].(map[string]any)["global"] = map[string]any{"type": "object"}
	content, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(content, '\n'), 0o644)
}

// groupSchema returns the schema of an object that has these values and no
// others.
func groupSchema(values []value, crds string) (map[string]any, error) {
	properties := map[string]any{}
	for _, v := range values {
		schema, err := v.jsonSchema(crds)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v.name, err)
		}
		properties[v.name] = schema
	}
	return map[string]any{"type": "object", "properties": properties, "additionalProperties": false}, nil
}

func (v value) jsonSchema(crds string) (map[string]any, error) {
	if v.children != nil {
		return groupSchema(v.children, crds)
	}
	schema := map[string]any{"type": map[string]string{
		"!!str": "string", "!!bool": "boolean", "!!int": "integer", "!!seq": "array", "!!map": "object",
	}[v.node.Tag]}
	if v.crd != nil {
		part, err := crdSchema(crds, v.crd[0], v.crd[1])
		if err != nil {
			return nil, err
		}
		// An empty default means that the part is left out, so nothing of it is required.
		if v.node.Kind == yaml.MappingNode && part["required"] != nil {
			part = map[string]any{"anyOf": []any{map[string]any{"maxProperties": 0}, part}}
		}
		schema = part
	}
	maps.Copy(schema, v.schema)
	schema["description"] = v.text
	return schema, nil
}

// crdSchema returns the schema of a part of a resource, which takes no property
// that the resource does not have.
func crdSchema(crds, plural, path string) (map[string]any, error) {
	content, err := os.ReadFile(filepath.Join(crds, "acclaim.dev_"+plural+".yaml"))
	if err != nil {
		return nil, err
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := k8syaml.UnmarshalStrict(content, &crd); err != nil {
		return nil, err
	}
	part := *crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	for name := range strings.SplitSeq(path, ".") {
		next, found := part.Properties[name]
		if !found {
			return nil, fmt.Errorf("%s has no %s", plural, path)
		}
		part = next
	}
	text, err := json.Marshal(part)
	if err != nil {
		return nil, err
	}
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		return nil, err
	}
	plain(schema)
	return schema, nil
}

// plain makes plain JSON schema of one of Kubernetes: without extensions, and
// closed where it names properties.
func plain(schema any) {
	switch schema := schema.(type) {
	case []any:
		for _, element := range schema {
			plain(element)
		}
	case map[string]any:
		maps.DeleteFunc(schema, func(name string, _ any) bool {
			return strings.HasPrefix(name, "x-kubernetes-") && name != "x-kubernetes-preserve-unknown-fields"
		})
		if _, named := schema["properties"].(map[string]any); named && schema["type"] == "object" {
			schema["additionalProperties"] = false
		}
		for _, element := range schema {
			plain(element)
		}
	}
}
