package main

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

var updateRights = flag.Bool("update", false, "write api/rights.md")

// api/rights.md is the table for readers.
func TestRightsDocument(t *testing.T) {
	const file = "../api/rights.md"
	want := loadRights(t).document()
	if *updateRights {
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s is not what go test ./services -run TestRightsDocument -update writes (-):\n%s", file, diff)
	}
}

func (r *rightsTable) document() string {
	var out strings.Builder
	fmt.Fprintf(&out, "# Who may do what\n\n%s\n\n## Callers\n\n| caller | is |\n|---|---|\n", strings.TrimSpace(r.Text))
	for _, caller := range r.Callers {
		fmt.Fprintf(&out, "| %s | %s |\n", caller.Name, caller.Is)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Groups)) {
		if name != "all" {
			fmt.Fprintf(&out, "| %s | all of %s |\n", name, strings.Join(r.Groups[name], ", "))
		}
	}
	out.WriteString("\n## Answers\n\n| cell | means |\n|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(r.Outcomes)) {
		fmt.Fprintf(&out, "| %s | %s |\n", name, r.Outcomes[name])
	}
	out.WriteString("\n## Credentials that are not in force\n\nEvery caller that sends a credential gets the same for each operation when the credential is one of these:\n\n" +
		"| the credential | HTTP | `authenticate` of GameLink | what is open |\n|---|---|---|---|\n")
	for _, again := range r.Again {
		fmt.Fprintf(&out, "| %s | %s | %s | %s |\n", again.Is, again.HTTP, again.GameLink, cmp.Or(again.Open, "-"))
	}
	for a := range r.Areas {
		r.describe(&out, &r.Areas[a])
	}
	return out.String()
}

// describe writes the table of an area. Callers with equal cells share a column.
func (r *rightsTable) describe(out *strings.Builder, area *rightsArea) {
	fmt.Fprintf(out, "\n## %s\n\n", area.Name)
	if area.Text != "" {
		out.WriteString(strings.TrimSpace(area.Text) + "\n\n")
	}
	var columns [][]string
	for _, caller := range r.callersOf(area) {
		i := slices.IndexFunc(columns, func(c []string) bool { return area.sameCells(c[0], caller.Name) })
		if i < 0 {
			columns = append(columns, []string{caller.Name})
		} else {
			columns[i] = append(columns[i], caller.Name)
		}
	}
	out.WriteString("| |")
	for _, column := range columns {
		fmt.Fprintf(out, " %s |", r.title(column))
	}
	out.WriteString("\n|---|" + strings.Repeat("---|", len(columns)) + "\n")
	for i := range area.Rows {
		row := &area.Rows[i]
		title := "`" + row.Op + "`"
		if row.Case != "" {
			title += ": " + row.Case
		}
		fmt.Fprintf(out, "| %s |", title)
		for _, column := range columns {
			fmt.Fprintf(out, " %s |", row.cells[column[0]])
		}
		out.WriteString("\n")
	}
}

func (a *rightsArea) sameCells(one, other string) bool {
	return !slices.ContainsFunc(a.Rows, func(row rightsRow) bool { return row.cells[one] != row.cells[other] })
}

// title names callers, by their groups where it can.
func (r *rightsTable) title(callers []string) string {
	if len(callers) == len(r.Callers) {
		return "everyone"
	}
	rest := slices.Clone(callers)
	var names []string
	groups := slices.Collect(maps.Keys(r.Groups))
	slices.SortFunc(groups, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(r.Groups[b]), len(r.Groups[a])), strings.Compare(a, b))
	})
	for _, group := range groups {
		members := r.Groups[group]
		if slices.ContainsFunc(members, func(m string) bool { return !slices.Contains(rest, m) }) {
			continue
		}
		names = append(names, group)
		rest = slices.DeleteFunc(rest, func(name string) bool { return slices.Contains(members, name) })
	}
	return strings.Join(append(names, rest...), ", ")
}
