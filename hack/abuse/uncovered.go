package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// rightsTable is the part of api/rights.yaml that names the operations of the program.
type rightsTable struct {
	Areas []struct {
		Face string
		Rows []struct{ Op string }
	}
}

// listUncovered returns the operations of the program, in the checkout at root, that no attack
// uses: those whose path, or whose target over GameLink, the attacks' source does not name.
func listUncovered(root string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(root, "api", "rights.yaml"))
	if err != nil {
		return nil, err
	}
	var table rightsTable
	if err := yaml.Unmarshal(text, &table); err != nil {
		return nil, err
	}
	attacks, err := readAttacks(root)
	if err != nil {
		return nil, err
	}
	var uncovered []string
	for _, area := range table.Areas {
		for _, row := range area.Rows {
			if !usesOperation(attacks, area.Face, row.Op) && !slices.Contains(uncovered, row.Op) {
				uncovered = append(uncovered, row.Op)
			}
		}
	}
	return uncovered, nil
}

// readAttacks returns the source of the attacks and the victims.
func readAttacks(root string) ([]byte, error) {
	files, err := filepath.Glob(filepath.Join(root, "hack", "abuse", "*.go"))
	if err != nil {
		return nil, err
	}
	var all bytes.Buffer
	for _, file := range files {
		if name := filepath.Base(file); strings.HasSuffix(name, "_test.go") || name == "defences.go" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		all.Write(text)
	}
	return all.Bytes(), nil
}

func usesOperation(attacks []byte, face, operation string) bool {
	words := strings.Fields(operation)
	if len(words) == 0 {
		return true
	}
	name := words[len(words)-1]
	switch face {
	case "http", "admin", "maintenance":
		return regexp.MustCompile(regexp.QuoteMeta(name) + `[?" ]`).Match(attacks)
	case "gamelink":
		return bytes.Contains(attacks, []byte(`"`+name+`"`))
	}
	return true // what is received, or needs several processes
}
