package main

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/hack/harness"
)

func TestJudgeSigns(t *testing.T) {
	signs := attackSigns{outcome: "200", times: 10, warning: "much is asked", metrics: []metricBound{{name: "asked_total", least: 10}, {name: "read_total", mostEach: 2}}}
	for _, c := range []struct {
		name   string
		change func(*rowFigures)
		want   []string
		slow   bool
	}{
		{"all are seen", func(*rowFigures) {}, nil, false},
		{"no warning", func(r *rowFigures) { r.warned = false }, []string{"attack: the program does not warn that much is asked"}, false},
		{"the metric stays", func(r *rowFigures) { r.calm.metrics["asked_total"] = 15 },
			[]string{"attack: asked_total grows by 5, at least 10 expected"}, false},
		{"the metric grows too much", func(r *rowFigures) { r.attack.metrics["read_total"] = 46 },
			[]string{"attack: read_total grows by 41, 40 allowed"}, false},
		{"too slow to tell", func(r *rowFigures) { r.launched["200"], r.warned = 9, false }, []string{"attack: it is too slow, with 9 × 200 of 10"}, true},
		{"too slow, and a breach", func(r *rowFigures) { r.launched["200"], r.launched[breachMark+"a viewer is staff"] = 9, 1 },
			[]string{"attack: 1 times a viewer is staff", "attack: it is too slow, with 9 × 200 of 10"}, false},
	} {
		figures := quiet()
		figures.launched, figures.warned = map[string]int{"200": 20}, true
		figures.calm.metrics = harness.Metrics{"asked_total": 3, "read_total": 5}
		figures.attack.metrics = maps.Clone(figures.calm.metrics)
		figures.attack.metrics["asked_total"], figures.attack.metrics["read_total"] = 20, 45
		c.change(&figures)
		if diff := cmp.Diff(c.want, figures.judge(attackCase{signs: signs})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		if got := figures.isOnlySlow(attackCase{signs: signs}); got != c.slow {
			t.Errorf("%s: it is only slow: %t", c.name, got)
		}
	}
}
