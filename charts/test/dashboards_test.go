package test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// dashboard is the part of a dashboard of Grafana that tests look at.
type dashboard struct {
	UID, Title string
	Templating struct {
		List []struct {
			Name, Type, Query string
			Datasource        datasource
		}
	}
	Panels []dashboardPanel
}

type dashboardPanel struct {
	ID          int
	Type, Title string
	Datasource  datasource
	GridPos     struct{ X, Y, W, H int }
	FieldConfig struct{ Defaults struct{ Unit string } }
	Targets     []struct {
		RefID, Expr, LegendFormat string
		Datasource                datasource
	}
}

type datasource struct{ Type, UID string }

// chosen is the source of data that the reader of a dashboard chooses.
var chosen = datasource{"prometheus", "${datasource}"}

// units are those of Grafana that the dashboards may use: none, a number, a share of one,
// seconds, and so many requests, operations or votes a second.
var units = []string{"none", "short", "percentunit", "s", "reqps", "ops", "cps"}

// Each panel has a title, a unit and a place of its own, and everything in a dashboard asks the
// source of data that its reader chooses.
func TestDashboards(t *testing.T) {
	files, err := filepath.Glob("../acclaim/files/*.json")
	if err != nil || len(files) < 2 {
		t.Fatalf("the dashboards are %v, %v", files, err)
	}
	seen := map[string]bool{}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var d dashboard
			if err := json.Unmarshal(content, &d); err != nil {
				t.Fatal(err)
			}
			if d.UID == "" || d.Title == "" || seen[d.UID] || seen[d.Title] {
				t.Errorf("the dashboard %q has the uid %q", d.Title, d.UID)
			}
			seen[d.UID], seen[d.Title] = true, true
			checkVariables(t, d)
			for i, p := range d.Panels {
				checkPanel(t, p)
				if slices.ContainsFunc(d.Panels[:i], func(q dashboardPanel) bool { return q.ID == p.ID || q.Title == p.Title || overlap(p, q) }) {
					t.Errorf("%s: its id, title or place is that of another panel", p.Title)
				}
			}
		})
	}
}

// checkVariables checks that a dashboard lets its reader choose a source of data first, and
// that each other variable is filled from it and used.
func checkVariables(t *testing.T, d dashboard) {
	t.Helper()
	var queries strings.Builder
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			queries.WriteString(target.Expr + "\n")
		}
	}
	for i, v := range d.Templating.List {
		switch {
		case i == 0:
			if v.Name != "datasource" || v.Type != "datasource" || v.Query != chosen.Type {
				t.Errorf("the first variable is %+v", v)
			}
		case v.Datasource != chosen:
			t.Errorf("the variable %s asks %v", v.Name, v.Datasource)
		case !regexp.MustCompile(`\$` + v.Name + `\b`).MatchString(queries.String()):
			t.Errorf("no panel uses the variable %s", v.Name)
		}
	}
}

func checkPanel(t *testing.T, p dashboardPanel) {
	t.Helper()
	unit := p.FieldConfig.Defaults.Unit
	if p.Title == "" || !slices.Contains(units, unit) || p.Datasource != chosen || len(p.Targets) == 0 {
		t.Errorf("the panel %q has the unit %q, asks %v, and has %d queries", p.Title, unit, p.Datasource, len(p.Targets))
	}
	if g := p.GridPos; g.W < 1 || g.H < 1 || g.X < 0 || g.X+g.W > 24 {
		t.Errorf("%s: it is at %+v", p.Title, g)
	}
	var ids []string
	for _, target := range p.Targets {
		if target.Datasource != chosen || target.RefID == "" || slices.Contains(ids, target.RefID) {
			t.Errorf("%s: the query %q asks %v", p.Title, target.RefID, target.Datasource)
		}
		ids = append(ids, target.RefID)
		checkQuery(t, target.Expr, target.LegendFormat, unit)
	}
}

// isRate reports whether a node is a function of the growth of a counter.
func isRate(node parser.Node) bool {
	call, ok := node.(*parser.Call)
	return ok && (call.Func.Name == "rate" || call.Func.Name == "increase")
}

// checkQuery checks that the labels in the legend of a query are those that it keeps, that
// counters have a rate, and nothing else has one, and that the unit says so.
func checkQuery(t *testing.T, query, legend, unit string) {
	t.Helper()
	filled := regexp.MustCompile(`\$\w+`).ReplaceAllStringFunc(query, func(name string) string {
		if name == "$__rate_interval" {
			return "5m"
		}
		return "any"
	})
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(filled)
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	share := strings.Contains(query, " / ")
	rate, ratio := false, share
	parser.Inspect(expr, func(node parser.Node, path []parser.Node) error {
		switch node := node.(type) {
		case *parser.AggregateExpr:
			kept = append(kept, node.Grouping...)
		case *parser.VectorSelector:
			counter := regexp.MustCompile(`_(total|count|sum|bucket)$`).MatchString(node.Name)
			if counter != slices.ContainsFunc(path, isRate) {
				t.Errorf("%s: counters have a rate and nothing else, and %s is a counter: %v", query, node.Name, counter)
			}
		case *parser.Call:
			rate = rate || node.Func.Name == "rate" || node.Func.Name == "deriv"
			ratio = ratio || node.Func.Name == "histogram_quantile"
		}
		return nil
	})
	for _, label := range regexp.MustCompile(`{{\s*(\w+)\s*}}`).FindAllStringSubmatch(legend, -1) {
		if !slices.Contains(kept, label[1]) {
			t.Errorf("%s: the legend has %s, which the query does not keep", query, label[1])
		}
	}
	if share != (unit == "percentunit") {
		t.Errorf("%s: the unit of a share is %s", query, unit)
	}
	if perSecond := slices.Contains([]string{"reqps", "ops", "cps"}, unit); perSecond != (rate && !ratio) {
		t.Errorf("%s: the unit is %s", query, unit)
	}
}

// overlap reports whether two panels share a place.
func overlap(p, q dashboardPanel) bool {
	a, b := p.GridPos, q.GridPos
	return a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H
}
