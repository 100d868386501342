package arch

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// pkg holds the facts about a package that the rules are about.
type pkg struct {
	path        string   // below the module
	doc         string   // the first sentence of its comment
	imports     []string // of the project, short names
	testImports []string // of the project, short names
	libraries   []string // all others, without those of tests
	clock       []string // where it asks for the time, without tests
}

// check returns every way in which the packages break the rules, sorted.
func check(r rules, packages []pkg) []string {
	var violations []string
	missing := maps.Clone(r.layers)
	for _, p := range packages {
		l, listed := r.layers[p.path]
		if !listed {
			violations = append(violations, p.path+" is not in the table of layers")
			continue
		}
		delete(missing, p.path)
		violations = slices.Concat(violations, checkLayer(l, r.support, p), checkOwners(r.owners, p), checkTime(r.timeless, p))
	}
	for p := range missing {
		violations = append(violations, p+" is in the table of layers and does not exist")
	}
	slices.Sort(violations)
	return violations
}

// checkUse returns every import that the rules allow and that no package has, so that the table says what
// the house is like.
func checkUse(r rules, packages []pkg) (unused []string) {
	for _, p := range packages {
		for _, name := range r.layers[p.path].imports {
			if !slices.Contains(p.imports, name) {
				unused = append(unused, fmt.Sprintf("%s may import %s, and does not", p.path, name))
			}
		}
	}
	return unused
}

func checkLayer(l layer, support map[string]bool, p pkg) []string {
	var violations []string
	for _, name := range p.imports {
		if !slices.Contains(l.imports, name) {
			violations = append(violations, fmt.Sprintf("%s may not import %s", p.path, name))
		}
		if support[name] && !isSupport(p.path) {
			violations = append(violations, fmt.Sprintf("%s may not import %s, which is for tests", p.path, name))
		}
	}
	inTests := slices.Concat(l.imports, l.tests, []string{path.Base(p.path)})
	for _, name := range p.testImports {
		if !slices.Contains(inTests, name) {
			violations = append(violations, fmt.Sprintf("tests of %s may not import %s", p.path, name))
		}
	}
	return violations
}

// isSupport reports whether a package is for tests and benchmarks alone.
func isSupport(p string) bool { return strings.Contains(p, "/internal/testing/") }

func checkOwners(owners map[string][]string, p pkg) []string {
	var violations []string
	for library, allowed := range owners {
		for _, imported := range p.libraries {
			within := imported == library || strings.HasPrefix(imported, library+"/")
			if within && !slices.Contains(allowed, path.Base(p.path)) {
				violations = append(violations, fmt.Sprintf("%s may not import %s", p.path, imported))
			}
		}
	}
	return violations
}

func checkTime(timeless []string, p pkg) []string {
	if !slices.Contains(timeless, path.Base(p.path)) {
		return nil
	}
	var violations []string
	for _, position := range p.clock {
		violations = append(violations, fmt.Sprintf("%s may not ask for the time: %s", p.path, position))
	}
	return violations
}
