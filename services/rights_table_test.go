package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const rightsFile = "../api/rights.yaml"

// rightsTable is api/rights.yaml.
type rightsTable struct {
	Text     string
	Outcomes map[string]string
	Callers  []namedCaller
	Groups   map[string][]string
	Again    []rightsAgain
	Profiles map[string]map[string]string
	Areas    []rightsArea
}

type namedCaller struct {
	Name, Is string
	// Production reports that the sandbox has no such caller.
	Production bool
}

// rightsAgain is a way in which a credential is not in force.
type rightsAgain struct {
	Name, Is string
	// The statuses of HTTP and GameLink.
	HTTP, GameLink string
	// Open describes the end of streams and games that are open.
	Open string
}

type rightsArea struct {
	Name, Face, Text string
	// Callers are those of the area, those of the table where it has none.
	Callers []namedCaller
	Rows    []rightsRow
}

// rightsRow is one request.
type rightsRow struct {
	Op, Case, As string
	But          map[string]string
	Query, Body  string
	// Sees matches the answer to a caller with the outcome ok, and no other.
	Sees string
	// Answer is a status that counts as ok beside 2xx.
	Answer int
	// Named reports that a topic must name the event.
	Named bool
	// Once reports that the request takes long, and that callers do not matter.
	Once bool
	// Production reports that the sandbox has no such operation.
	Production bool
	// Stream reports that the answer does not end, Ends that the request ends the pairings.
	Stream, Ends bool

	cells map[string]string // by caller
}

func (r *rightsRow) method() string { method, _, _ := strings.Cut(r.Op, " "); return method }

func (r *rightsRow) path() string { _, path, _ := strings.Cut(r.Op, " "); return path }

func (r *rightsRow) title() string {
	if r.Case == "" {
		return r.Op
	}
	return r.Op + ": " + r.Case
}

// loadRights reads the table and gives each row its cells.
func loadRights(t *testing.T) *rightsTable {
	t.Helper()
	text, err := os.ReadFile(rightsFile)
	if err != nil {
		t.Fatal(err)
	}
	table := &rightsTable{}
	if err := yaml.UnmarshalStrict(text, table); err != nil {
		t.Fatal(err)
	}
	for a := range table.Areas {
		for i := range table.Areas[a].Rows {
			row := &table.Areas[a].Rows[i]
			if err := table.fill(&table.Areas[a], row); err != nil {
				t.Fatalf("%s: %v", row.title(), err)
			}
		}
	}
	return table
}

// fill computes the cells of a row: the wider group first, what names a caller last.
func (r *rightsTable) fill(area *rightsArea, row *rightsRow) error {
	row.cells = map[string]string{}
	if area.Callers != nil {
		maps.Copy(row.cells, row.But)
	} else {
		profile, ok := r.Profiles[row.As]
		if !ok {
			return fmt.Errorf("no profile %q", row.As)
		}
		if err := cmp.Or(r.apply(row.cells, profile), r.apply(row.cells, row.But)); err != nil {
			return err
		}
	}
	for _, caller := range r.callersOf(area) {
		if _, ok := r.Outcomes[row.cells[caller.Name]]; !ok {
			return fmt.Errorf("%s has %q, which is no outcome", caller.Name, row.cells[caller.Name])
		}
	}
	return nil
}

func (r *rightsTable) callersOf(area *rightsArea) []namedCaller {
	if area.Callers != nil {
		return area.Callers
	}
	return r.Callers
}

// callersIn returns the callers that an environment has.
func (r *rightsTable) callersIn(environment string) []namedCaller {
	return slices.DeleteFunc(slices.Clone(r.Callers), func(c namedCaller) bool { return c.Production && environment != "production" })
}

func (r *rightsTable) apply(cells, part map[string]string) error {
	var keys []string
	for key := range part {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int { return len(r.members(b)) - len(r.members(a)) })
	for _, key := range keys {
		if len(r.members(key)) == 0 {
			return fmt.Errorf("%q is neither a caller nor a group", key)
		}
		for _, name := range r.members(key) {
			cells[name] = part[key]
		}
	}
	return nil
}

// members returns the callers of a group, or the caller of that name.
func (r *rightsTable) members(name string) []string {
	if group, ok := r.Groups[name]; ok {
		return group
	}
	if slices.ContainsFunc(r.Callers, func(c namedCaller) bool { return c.Name == name }) {
		return []string{name}
	}
	return nil
}

// rows returns the rows of a face.
func (r *rightsTable) rows(face string) (rows []*rightsRow) {
	for a := range r.Areas {
		if r.Areas[a].Face == face {
			for i := range r.Areas[a].Rows {
				rows = append(rows, &r.Areas[a].Rows[i])
			}
		}
	}
	return rows
}
