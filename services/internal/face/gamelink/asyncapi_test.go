package gamelink_test

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode"

	"go.yaml.in/yaml/v3"
)

type object = map[string]any

// asyncAPI returns the description of the messages as AsyncAPI 3: the program receives requests,
// replies, and sends pushes. The types of members are those of the examples.
func asyncAPI(t *testing.T, messages []described, pushes map[string]string, members map[string][]string) []byte {
	t.Helper()
	channel := func(of string) object { return object{"$ref": "#/channels/game/messages/" + of} }
	operations, all := object{}, object{}
	for _, m := range messages {
		name := camel(m.name())
		request := decodeExample(t, m.request)
		all[name] = object{"title": m.name(), "summary": m.does, "payload": requestSchema(request, members[m.name()]), "examples": []any{object{"payload": request}}}
		all[name+"Response"] = object{"title": "the response to " + m.name(), "payload": object{"$ref": "#/components/schemas/response"}, "examples": []any{object{"payload": decodeExample(t, m.answer)}}}
		operations[name] = object{
			"action": "receive", "summary": m.does, "channel": object{"$ref": "#/channels/game"}, "messages": []any{channel(name)},
			"reply": object{"channel": object{"$ref": "#/channels/game"}, "messages": []any{channel(name + "Response")}},
		}
	}
	for target, text := range pushes {
		name := camel("push " + target)
		push := decodeExample(t, text)
		all[name] = object{"title": "a push about " + target, "summary": pushDescriptions()[target], "payload": object{"allOf": []any{
			object{"$ref": "#/components/schemas/response"}, object{"properties": object{"data": schemaOf(push["data"])}},
		}}, "examples": []any{object{"payload": push}}}
		operations[name] = object{"action": "send", "summary": pushDescriptions()[target], "channel": object{"$ref": "#/channels/game"}, "messages": []any{channel(name)}}
	}
	integer, text := object{"type": "integer"}, object{"type": "string"}
	document := object{
		"asyncapi": "3.0.0",
		"info":     object{"title": "Acclaim: GameLink", "version": "1.0.0", "description": "The messages of games. The contract has the rules: contract.md, section 4.11. Written by TestDescription of services/internal/face/gamelink."},
		"servers":  object{"local": object{"host": "127.0.0.1:8081", "protocol": "ws", "description": "acclaim serve --gamelink-listen 127.0.0.1:8081"}},
		"channels": object{"game": object{
			"address": "/0.0.2/{clientID}", "parameters": object{"clientID": object{"description": "the client id of the extension, or one of its app ids"}},
			"messages": all,
		}},
		"operations": operations,
		"components": object{"schemas": object{"params": object{"type": "object", "properties": object{
			"request_id": object{"type": "integer", "minimum": 0, "maximum": 65535, "default": 65535},
			"target":     object{"type": "string", "default": ""},
			"strict":     object{"type": "boolean", "default": false, "description": "refuse members that the request does not have"},
		}}, "response": object{
			"type": "object", "required": []string{"meta"}, "properties": object{
				"meta":   object{"type": "object", "properties": object{"request_id": integer, "action": text, "target": text, "timestamp": object{"type": "integer", "description": "Unix milliseconds"}}},
				"data":   object{"type": "object"},
				"errors": object{"type": "array", "items": object{"type": "object", "properties": object{"number": integer, "status": integer, "title": text, "detail": text}}},
			},
		}}},
	}
	var tree yaml.Node
	if err := tree.Encode(document); err != nil {
		t.Fatal(err)
	}
	putOnOneLine(&tree)
	var encoded bytes.Buffer
	encoder := yaml.NewEncoder(&encoded)
	encoder.SetIndent(2)
	if err := encoder.Encode(&tree); err != nil {
		t.Fatal(err)
	}
	return encoded.Bytes()
}

// putOnOneLine writes examples as their JSON.
func putOnOneLine(of *yaml.Node) {
	for i, node := range of.Content {
		if of.Kind == yaml.MappingNode && i%2 == 1 && of.Content[i-1].Value == "examples" {
			node.Style = yaml.FlowStyle
		}
		putOnOneLine(node)
	}
}

func decodeExample(t *testing.T, text string) (decoded object) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), &decoded); err != nil { // as YAML, integers stay what they are
		t.Fatal(err, text)
	}
	return decoded
}

// requestSchema returns the schema of a request with the members that its data may have.
func requestSchema(request object, members []string) object {
	params := request["params"].(object)
	data := schemaOf(request["data"])
	slices.Sort(members)
	for _, path := range members {
		within := data
		names := strings.Split(path, ".")
		for _, name := range names[:len(names)-1] {
			within = property(within, name)
			if items, ok := within["items"].(object); ok {
				within = items
			}
		}
		property(within, names[len(names)-1])
	}
	return object{"type": "object", "required": []string{"action"}, "properties": object{
		"action": object{"const": request["action"]},
		"params": object{"allOf": []any{object{"$ref": "#/components/schemas/params"}, object{"properties": object{"target": object{"const": params["target"]}}}}},
		"data":   data,
	}}
}

// property returns the schema of a member, which is added where there is none.
func property(of object, name string) object {
	if of["properties"] == nil {
		of["properties"] = object{}
	}
	all := of["properties"].(object)
	if all[name] == nil {
		all[name] = object{}
	}
	return all[name].(object)
}

// schemaOf returns the schema of a value's type.
func schemaOf(value any) object {
	switch v := value.(type) {
	case string:
		return object{"type": "string"}
	case bool:
		return object{"type": "boolean"}
	case int:
		return object{"type": "integer"}
	case []any:
		if len(v) == 0 {
			return object{"type": "array"}
		}
		return object{"type": "array", "items": schemaOf(v[0])}
	case object:
		s := object{"type": "object"}
		for name, member := range v {
			if name == "mean" || name == "sum" || name == "stddev" {
				property(s, name)["type"] = "number" // whole in the examples
				continue
			}
			maps.Copy(property(s, name), schemaOf(member))
		}
		return s
	}
	return object{}
}

// camel returns a name for an identifier: getPoll of "get poll".
func camel(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return r == ' ' || r == '_' })
	for i, word := range words[1:] {
		letters := []rune(word)
		letters[0] = unicode.ToUpper(letters[0])
		words[i+1] = string(letters)
	}
	return strings.Join(words, "")
}
