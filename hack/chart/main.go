// Command chart brings charts/acclaim up to date with what it comes from: the resource
// definitions and the role that are generated from code, and values.yaml, whose
// comments become the table in README.md and the schema in values.schema.json.
// `make generate` runs it.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run("."); err != nil {
		fmt.Fprintf(os.Stderr, "chart: %v\n", err)
		os.Exit(1)
	}
}

// run works on the module in a folder.
func run(root string) error {
	chart := filepath.Join(root, "charts", "acclaim")
	crds := filepath.Join(root, "config", "crd")
	if err := os.RemoveAll(filepath.Join(chart, "crds")); err != nil {
		return err
	}
	definitions, err := filepath.Glob(filepath.Join(crds, "acclaim.dev_*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range definitions {
		if err := copyFile(file, filepath.Join(chart, "crds", filepath.Base(file))); err != nil {
			return err
		}
	}
	if err := copyFile(filepath.Join(root, "config", "rbac", "role.yaml"), filepath.Join(chart, "files", "role.yaml")); err != nil {
		return err
	}
	content, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
	if err != nil {
		return err
	}
	values, err := readValues(content)
	if err != nil {
		return fmt.Errorf("values.yaml: %w", err)
	}
	if err := writeSchema(filepath.Join(chart, "values.schema.json"), values, crds); err != nil {
		return err
	}
	return writeTable(filepath.Join(chart, "README.md"), values)
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o644)
}
