package arch

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// rules are the tables, read. Packages of the project go by their short names.
type rules struct {
	layers   map[string]layer    // by path below the module
	owners   map[string][]string // by library
	timeless []string
	support  map[string]bool // the packages that only tests and their support may import
}

type layer struct {
	imports, tests []string
}

// readRules reads the tables and refuses those that contradict themselves.
func readRules(layers, owners, timeless string) (rules, error) {
	r := rules{layers: map[string]layer{}, owners: map[string][]string{}, timeless: names(timeless), support: map[string]bool{}}
	for _, row := range rows(layers) {
		if len(row) != 3 {
			return rules{}, fmt.Errorf("layers: %q is not a row of three", row)
		}
		r.layers[row[0]] = layer{imports: names(row[1]), tests: names(row[2])}
		if isSupport(row[0]) {
			r.support[path.Base(row[0])] = true
		}
	}
	for _, row := range rows(owners) {
		if len(row) != 2 {
			return rules{}, fmt.Errorf("owners: %q is not a row of two", row)
		}
		r.owners[row[0]] = names(row[1])
	}
	return r, r.checkNames()
}

// checkNames makes sure that a short name means one package, and that no rule
// is about a package that is not listed.
func (r rules) checkNames() error {
	listed := map[string]string{}
	for p := range r.layers {
		if other, taken := listed[path.Base(p)]; taken {
			return fmt.Errorf("layers: %s and %s share a name", min(p, other), max(p, other))
		}
		listed[path.Base(p)] = p
	}
	for _, name := range r.mentioned() {
		if _, ok := listed[name]; !ok {
			return fmt.Errorf("a rule is about %s, which is not in the table of layers", name)
		}
	}
	return nil
}

func (r rules) mentioned() []string {
	all := slices.Clone(r.timeless)
	for _, l := range r.layers {
		all = slices.Concat(all, l.imports, l.tests)
	}
	for _, owners := range r.owners {
		all = append(all, owners...)
	}
	return all
}

// rows returns the cells of each row below the heading, without surrounding space.
func rows(table string) [][]string {
	var rows [][]string
	for line := range strings.Lines(strings.TrimSpace(table)) {
		var row []string
		for cell := range strings.SplitSeq(line, "|") {
			row = append(row, strings.TrimSpace(cell))
		}
		rows = append(rows, row)
	}
	return rows[1:]
}

// names returns the short names in a cell.
func names(cell string) []string {
	return strings.Fields(strings.ReplaceAll(cell, "domains", domains))
}
