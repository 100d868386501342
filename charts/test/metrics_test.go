package test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	corev1 "k8s.io/api/core/v1"
)

// Labels that Prometheus gives every metric of a pod, and buckets theirs.
var targetLabels = []string{"namespace", "pod", "service", "endpoint", "job", "instance", "container", "le"}

// The programs export every metric and label that alerts and the dashboards query.
func TestQueries(t *testing.T) {
	have := exported(t)
	asked := queries(t)
	if len(asked) < 10 {
		t.Fatalf("there are only %v", asked)
	}
	for _, query := range asked {
		expr, err := parser.NewParser(parser.Options{}).ParseExpr(query)
		if err != nil {
			t.Errorf("%s: %v", query, err)
			continue
		}
		var metric []string // the labels of those below
		parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
			selector, ok := node.(*parser.VectorSelector)
			if !ok {
				return nil
			}
			known, found := have[base(selector.Name)]
			if !found {
				t.Errorf("%s: no program has %s", query, selector.Name)
			}
			metric = slices.Concat(metric, known)
			for _, m := range selector.LabelMatchers {
				if m.Name != model.MetricNameLabel && !slices.Contains(slices.Concat(known, targetLabels), m.Name) {
					t.Errorf("%s: %s has no label %s", query, selector.Name, m.Name)
				}
			}
			return nil
		})
		parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
			if aggregation, ok := node.(*parser.AggregateExpr); ok {
				for _, label := range aggregation.Grouping {
					if !slices.Contains(slices.Concat(metric, targetLabels), label) {
						t.Errorf("%s: groups by %s, which there is not", query, label)
					}
				}
			}
			return nil
		})
	}
}

// base returns the name under which a series of a histogram is exported.
func base(series string) string {
	for _, suffix := range []string{"_bucket", "_count", "_sum"} {
		series = strings.TrimSuffix(series, suffix)
	}
	return series
}

// exported returns the labels of every metric of the programs, by name. The programs' own
// tests keep the lists true, but that of kube-state-metrics, which has what rules ask for.
func exported(t *testing.T) map[string][]string {
	t.Helper()
	metrics := map[string][]string{}
	for _, list := range []string{"../../services/internal/process/app/testdata/metrics.txt", "../../operator/testdata/metrics.txt", "../../operator/testdata/library-metrics.txt", "testdata/kube-state-metrics.txt"} {
		content, err := os.ReadFile(list)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(content)) {
			name, rest, _ := strings.Cut(strings.TrimSuffix(line, "}\n"), "{")
			metrics[name] = strings.FieldsFunc(rest, func(r rune) bool { return r == ',' })
		}
	}
	return metrics
}

// queries returns all expressions of alerts and of the dashboards.
func queries(t *testing.T) (all []string) {
	t.Helper()
	for _, object := range objects(t, "testdata/everything") {
		switch object := object.(type) {
		case *monitoringv1.PrometheusRule:
			for _, group := range object.Spec.Groups {
				for _, rule := range group.Rules {
					all = append(all, rule.Expr.String())
				}
			}
		case *corev1.ConfigMap:
			for _, dashboard := range object.Data {
				all = append(all, panels(t, dashboard)...)
			}
		}
	}
	return all
}

// panels returns the queries of a dashboard, with Grafana's variables filled in.
func panels(t *testing.T, content string) (all []string) {
	t.Helper()
	var dashboard struct {
		Templating struct {
			List []struct{ Name, Type, Query string }
		}
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal([]byte(content), &dashboard); err != nil {
		t.Fatal(err)
	}
	variables := []string{"$__rate_interval", "5m"}
	values := regexp.MustCompile(`^label_values\((\w+), (\w+)\)$`)
	for _, v := range dashboard.Templating.List {
		variables = append(variables, "$"+v.Name, "any")
		if v.Type == "query" {
			all = append(all, values.ReplaceAllString(v.Query, "count by ($2) ($1)"))
		}
	}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			query := strings.NewReplacer(variables...).Replace(target.Expr)
			if strings.Contains(query, "$") {
				t.Errorf("%s: not a variable of the dashboard", query)
			}
			all = append(all, query)
		}
	}
	return all
}
