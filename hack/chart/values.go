package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"
)

// value is one value of the chart, or a group of them.
type value struct {
	name     string
	text     string         // what its comment says
	node     *yaml.Node     // the default
	children []value        // of a group
	crd      []string       // kind and path of the part of a resource that it is
	schema   map[string]any // what its comment adds
}

// readValues reads values.yaml. A mapping that is neither empty nor part of a
// resource is a group.
func readValues(content []byte) ([]value, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(content, &document); err != nil {
		return nil, err
	}
	return readGroup(document.Content[0])
}

func readGroup(mapping *yaml.Node) ([]value, error) {
	var values []value
	for i := 0; i < len(mapping.Content); i += 2 {
		key, node := mapping.Content[i], mapping.Content[i+1]
		v := value{name: key.Value, node: node}
		if err := v.readComment(key.HeadComment); err != nil {
			return nil, fmt.Errorf("%s: %w", v.name, err)
		}
		if node.Kind == yaml.MappingNode && len(node.Content) > 0 && v.crd == nil {
			var err error
			if v.children, err = readGroup(node); err != nil {
				return nil, fmt.Errorf("%s: %w", v.name, err)
			}
		} else if v.text == "" {
			return nil, fmt.Errorf("%s has no comment", v.name)
		}
		values = append(values, v)
	}
	return values, nil
}

// readComment reads the last paragraph of a comment; earlier ones are about the
// file.
func (v *value) readComment(comment string) error {
	paragraphs := strings.Split(comment, "\n\n")
	var sentences []string
	for line := range strings.Lines(paragraphs[len(paragraphs)-1]) {
		line = strings.TrimSpace(strings.TrimPrefix(line, "#"))
		switch tag, rest, _ := strings.Cut(line, " "); tag {
		case "@crd":
			if v.crd = strings.Fields(rest); len(v.crd) != 2 {
				return fmt.Errorf("%q does not name a kind and a path", line)
			}
		case "@schema":
			if err := json.Unmarshal([]byte(rest), &v.schema); err != nil {
				return fmt.Errorf("%q: %w", line, err)
			}
		default:
			sentences = append(sentences, line)
		}
	}
	v.text = strings.Join(sentences, " ")
	return nil
}

// The table is between these lines.
const (
	tableBegin = "<!-- values, rendered from values.yaml -->\n"
	tableEnd   = "<!-- end of values -->\n"
)

// writeTable renders the values into their place in a file.
func writeTable(file string, values []value) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, begins := strings.Cut(string(content), tableBegin)
	_, after, ends := strings.Cut(rest, tableEnd)
	if !begins || !ends {
		return fmt.Errorf("%s has no place for the values", file)
	}
	table := "| value | default | |\n|---|---|---|\n" + rows("", values)
	return os.WriteFile(file, []byte(before+tableBegin+table+tableEnd+after), 0o644)
}

func rows(prefix string, values []value) string {
	var table strings.Builder
	for _, v := range values {
		if v.children != nil {
			table.WriteString(rows(prefix+v.name+".", v.children))
			continue
		}
		fmt.Fprintf(&table, "| `%s%s` | `%s` | %s |\n", prefix, v.name, v.defaultText(), v.text)
	}
	return table.String()
}

// defaultText returns the default on one line.
func (v value) defaultText() string {
	var decoded any
	if err := v.node.Decode(&decoded); err != nil {
		return ""
	}
	text, err := json.Marshal(decoded)
	if err != nil {
		return ""
	}
	return string(text)
}
