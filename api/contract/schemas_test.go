package contract_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/api/contract"
)

// schema is one of OpenAPI.
type schema struct {
	Type       any
	Ref        string `json:"$ref"`
	Enum       []string
	Default    any
	Required   []string
	Properties map[string]schema
	AllOf      []schema
}

// TestSchemas: the schemas of OpenAPI have the members of the contract's types, with their types,
// values and defaults. They are written by hand, because most of their text says what a member
// means.
func TestSchemas(t *testing.T) {
	var document struct {
		Components struct{ Schemas map[string]schema }
	}
	readYAML(t, openapiFile, &document)
	for name, test := range map[string]struct {
		defaults any      // a value of the type, with the default of each member
		without  []string // members that the schema has not
		answer   bool     // of the service, so that the schema says which members are always there
	}{
		// Versions are in the entity tag.
		"PollConfig": {defaults: contract.DefaultPollConfig(), without: []string{"version", "questionChanged"}},
		"RankConfig": {defaults: contract.DefaultQuestionConfig()},
		"Poll":       {defaults: contract.Poll{}, answer: true},
	} {
		got := document.Components.Schemas[name]
		for _, part := range got.AllOf {
			maps.Copy(got.Properties, part.in(document.Components.Schemas).Properties)
		}
		members, required := membersOf(t, test.defaults)
		for _, member := range test.without {
			delete(members, member)
		}
		for member, value := range members {
			property, ok := got.Properties[member]
			delete(got.Properties, member)
			if property.Ref != "" {
				property.Type = property.in(document.Components.Schemas).Type
			}
			if want := typeOf(value); !ok || want != "" && property.Type != want {
				t.Errorf("%s of %s has the type %v, want %s", member, name, property.Type, want)
			}
			if want := valuesOf(value); !slices.Equal(property.Enum, want) {
				t.Errorf("%s of %s has the values %q, want %q", member, name, property.Enum, want)
			}
			if property.Default != nil && !isDefault(property.Default, value) {
				t.Errorf("%s of %s has the default %v, want %v", member, name, property.Default, value)
			}
		}
		if len(got.Properties) > 0 {
			t.Errorf("%s has %v, which the type has not", name, got.Properties)
		}
		slices.Sort(got.Required)
		if diff := cmp.Diff(required, got.Required); test.answer && diff != "" {
			t.Errorf("members that %s always has (-want +got):\n%s", name, diff)
		}
	}
}

// in returns the schema that s refers to.
func (s *schema) in(schemas map[string]schema) schema {
	return schemas[s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]]
}

// membersOf returns the values of a struct by their names in JSON, and the names of those that its
// encoding always has.
func membersOf(t *testing.T, of any) (values map[string]any, required []string) {
	t.Helper()
	values = map[string]any{}
	structure := reflect.ValueOf(of)
	for _, field := range reflect.VisibleFields(structure.Type()) {
		if field.Anonymous {
			continue
		}
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		values[name] = structure.FieldByIndex(field.Index).Interface()
		if options == "" {
			required = append(required, name)
		}
	}
	slices.Sort(required)
	return values, required
}

// typeOf returns the type of a value in a schema, "" for any.
func typeOf(value any) string {
	if _, ok := value.(json.RawMessage); ok {
		return ""
	}
	return map[reflect.Kind]string{
		reflect.Bool: "boolean", reflect.Int64: "integer", reflect.String: "string", reflect.Slice: "array",
	}[reflect.TypeOf(value).Kind()]
}

// valuesOf returns the values that the type of a member has, nil for any.
func valuesOf(value any) []string {
	switch value.(type) {
	case contract.Visibility:
		return []string{string(contract.VisibleAlways), string(contract.VisibleAfterVote), string(contract.VisibleAfterClose), string(contract.VisibleToStaff)}
	case contract.Status:
		return []string{string(contract.Pending), string(contract.Active), string(contract.Expired)}
	case contract.Normalization:
		return []string{string(contract.ExactAnswers), string(contract.CompatibleAnswers)}
	}
	return nil
}

// isDefault reports whether a schema has the right default. The empty visibility is stored for
// the first one.
func isDefault(got, value any) bool {
	if value == contract.Visibility("") {
		value = contract.VisibleAlways
	}
	want, err := json.Marshal(value)
	text, err2 := json.Marshal(got)
	return err == nil && err2 == nil && string(want) == string(text)
}
