package operation_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/acclaim-dev/acclaim/services/internal/operation"
)

// maxLine is the length up to which JSON stays in one line.
const maxLine = 100

// commonResponses are those that nearly every operation has, with their status: the page explains
// them once.
var commonResponses = map[string]string{
	"Unauthenticated": "401", "Forbidden": "403", "RateLimited": "429", "Failed": "500", "WriteFailed": "500", "Unavailable": "503",
}

// referencePage returns the page with a request, a response and the errors of each operation. Its
// values come from the API's description, whose requests the tests of the contract send.
func referencePage(t *testing.T) []byte {
	t.Helper()
	document, err := openapi3.NewLoader().LoadFromFile(documentFile)
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	page.WriteString(`# API reference

Each operation with a request, a response and its errors. The values of responses are samples. The
[contract](contract.md) has the rules, and [operations](operations.md) the list on one page.

This page is written from [openapi.yaml](openapi.yaml) and the table of operations:
` + "`go test ./services/internal/operation -run TestGenerated -update`" + `.

## Common errors

Nearly every operation has these. An error is ` + "`{\"reason\": \"…\"}`" + `. [May I repeat?](../services/docs/build.md#may-i-repeat)
tells what a client does next.

`)
	shown := maps.Clone(commonResponses)
	delete(shown, "Failed") // WriteFailed has its reasons, and more
	writeErrors(&page, document.Components.Responses, shown)
	service := ""
	for _, o := range operation.Table() {
		if o.Service != service {
			service = o.Service
			fmt.Fprintf(&page, "\n## Service %s\n", service)
		}
		writeOperation(t, &page, document, &o)
	}
	return page.Bytes()
}

func writeOperation(t *testing.T, page *bytes.Buffer, document *openapi3.T, o *operation.Definition) {
	t.Helper()
	item := document.Paths.Value(o.Paths[0])
	if item == nil || item.GetOperation(o.Method) == nil {
		t.Fatalf("%s %s is not described", o.Method, o.Paths[0])
	}
	described := item.GetOperation(o.Method)
	fmt.Fprintf(page, "\n### %s %s\n\n%s. %s\n\nFor %s. [Rules](%s)", o.Method, o.Paths[0], described.Summary, strings.TrimSpace(described.Description), o.Audience(), described.ExternalDocs.URL)
	for _, path := range o.Paths[1:] {
		fmt.Fprintf(page, "; also at `%s`", path)
	}
	page.WriteString(".\n\n")
	parameters := slices.Concat(item.Parameters, described.Parameters)
	writeParameters(page, parameters)
	writeRequest(page, o, parameters, described.RequestBody)
	writeResponse(page, described.Responses.Value("200"))
	responses := map[string]*openapi3.ResponseRef{}
	for status, response := range described.Responses.Map() {
		if component := response.Ref[strings.LastIndex(response.Ref, "/")+1:]; status >= "400" && commonResponses[component] == "" {
			responses[status] = response
		}
	}
	if len(responses) == 0 {
		return
	}
	names := map[string]string{}
	for status := range responses {
		names[status] = status
	}
	writeErrors(page, responses, names)
}

func writeParameters(page *bytes.Buffer, parameters openapi3.Parameters) {
	if len(parameters) == 0 {
		return
	}
	page.WriteString("| parameter | in | |\n|---|---|---|\n")
	for _, p := range parameters {
		fmt.Fprintf(page, "| `%s` | %s | %s |\n", p.Value.Name, p.Value.In, cell(p.Value.Description))
	}
	page.WriteString("\n")
}

// writeRequest writes a request with the parameters that it must have or that have an example.
func writeRequest(page *bytes.Buffer, o *operation.Definition, parameters openapi3.Parameters, body *openapi3.RequestBodyRef) {
	path, base := o.Paths[0], "/v1"
	query := url.Values{}
	for _, p := range parameters {
		value := p.Value.Example
		if value == nil && p.Value.Required {
			value = sample(p.Value.Schema)
		}
		switch text := fmt.Sprint(value); {
		case value == nil || p.Value.In == "header":
		case p.Value.In == "path":
			path = strings.ReplaceAll(path, "{"+p.Value.Name+"}", text)
		default:
			query.Set(p.Value.Name, text)
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	if o.Shared {
		base = ""
	}
	fmt.Fprintf(page, "```http\n%s %s%s HTTP/1.1\n", o.Method, base, path)
	if !o.Public {
		page.WriteString("Authorization: <client id> <token>\n")
	}
	if body != nil {
		media := body.Value.Content["application/json"]
		page.WriteString("\n" + bodySample(media) + "\n")
	}
	page.WriteString("```\n\n")
}

// bodySample returns the first example of a body, by name, or one that its schema allows.
func bodySample(media *openapi3.MediaType) string {
	if media.Example != nil {
		return marshal(media.Example)
	}
	for _, name := range slices.Sorted(maps.Keys(media.Examples)) {
		return marshal(media.Examples[name].Value.Value)
	}
	return marshal(sample(media.Schema))
}

func writeResponse(page *bytes.Buffer, response *openapi3.ResponseRef) {
	if response == nil {
		return
	}
	media := response.Value.Content["application/json"]
	fmt.Fprintf(page, "200: %s\n\n", oneLine(*response.Value.Description))
	if media != nil {
		page.WriteString("```json\n" + bodySample(media) + "\n```\n\n")
	}
}

// writeErrors writes a table of responses that have a name and a status, by status.
func writeErrors(page *bytes.Buffer, responses map[string]*openapi3.ResponseRef, statuses map[string]string) {
	page.WriteString("| status | meaning | reasons |\n|---|---|---|\n")
	names := slices.SortedFunc(maps.Keys(statuses), func(a, b string) int { return strings.Compare(statuses[a], statuses[b]) })
	for _, name := range names {
		response := responses[name].Value
		var reasons []string
		all, _ := response.Extensions["x-reasons"].([]any)
		for _, reason := range all {
			reasons = append(reasons, "`"+fmt.Sprint(reason)+"`")
		}
		fmt.Fprintf(page, "| %s | %s | %s |\n", statuses[name], cell(*response.Description), strings.Join(reasons, ", "))
	}
}

// sample returns a value that a schema allows: its first example, or the simplest one.
func sample(ref *openapi3.SchemaRef) any {
	if ref == nil || ref.Value == nil {
		return map[string]any{}
	}
	s := ref.Value
	switch {
	case s.Example != nil:
		return s.Example
	case len(s.Examples) > 0:
		return s.Examples[0]
	case s.Const != nil:
		return s.Const
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Default != nil:
		return s.Default
	case len(s.AnyOf)+len(s.OneOf) > 0:
		return sample(slices.Concat(s.AnyOf, s.OneOf)[0])
	case s.Type.Is("array"):
		return []any{sample(s.Items)}
	case s.Type.Is("string"):
		return "…"
	case s.Type.Is("boolean"):
		return false
	case s.Type.Is("integer"), s.Type.Is("number"):
		return max(0, valueOr(s.Min, 0))
	}
	return objectSample(s)
}

// objectSample returns the properties that an object must have, or all if it must have none.
func objectSample(s *openapi3.Schema) map[string]any {
	object := map[string]any{}
	for _, part := range s.AllOf {
		if merged, ok := sample(part).(map[string]any); ok {
			maps.DeleteFunc(merged, func(name string, _ any) bool {
				return len(s.Required) > 0 && len(part.Value.Required) == 0 && !slices.Contains(s.Required, name)
			})
			maps.Copy(object, merged)
		}
	}
	for name, property := range s.Properties {
		if len(s.Required) == 0 || slices.Contains(s.Required, name) {
			object[name] = sample(property)
		}
	}
	if s.AdditionalProperties.Schema != nil && len(object) == 0 {
		object["…"] = sample(s.AdditionalProperties.Schema)
	}
	return object
}

func valueOr(p *float64, otherwise float64) float64 {
	if p == nil {
		return otherwise
	}
	return *p
}

var numbers = regexp.MustCompile(`\[\s+(-?\d+(?:,\s+-?\d+)*)\s+\]`)

// marshal returns JSON in one line where it is short, with lists of numbers in one line in any case.
func marshal(value any) string {
	encode := func(indent string) string {
		var out bytes.Buffer
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", indent)
		if err := encoder.Encode(value); err != nil {
			return err.Error()
		}
		return strings.TrimSpace(out.String())
	}
	if line := encode(""); len(line) <= maxLine {
		return line
	}
	return numbers.ReplaceAllStringFunc(encode("  "), oneLine)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// cell returns a text for a cell of a table.
func cell(text string) string { return strings.ReplaceAll(oneLine(text), "|", `\|`) }
