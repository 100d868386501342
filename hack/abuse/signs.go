package main

import (
	"bytes"
	"context"
	"os"

	"github.com/acclaim-dev/acclaim/hack/harness"
)

// attackSigns describes how operators of the program notice an attack, or must not notice it.
type attackSigns struct {
	// outcome of the attacker that causes the signs. An attack that has it less than times
	// is too slow to show them.
	outcome string
	times   int
	// warning is a message that the program must log. Empty: none.
	warning string
	metrics []metricBound
}

// metricBound limits by how much a metric grows during an attack.
type metricBound struct {
	name  string
	least float64
	// mostEach is for each outcome of the attacker. 0: no limit.
	mostEach float64
}

// isTooSlow reports whether the attacker has done too little for the signs to show.
func (r rowFigures) isTooSlow(s attackSigns) bool { return r.launched[s.outcome] < s.times }

// judgeSigns complains about what operators do not see, and about too much of it.
func (r rowFigures) judgeSigns(s attackSigns, complain func(string, ...any)) {
	if r.isTooSlow(s) {
		complain("attack: it is too slow, with %d × %s of %d", r.launched[s.outcome], s.outcome, s.times)
		return
	}
	if s.warning != "" && !r.warned {
		complain("attack: the program does not warn that %s", s.warning)
	}
	for _, m := range s.metrics {
		grown := r.attack.metrics.Sum(m.name, "") - r.calm.metrics.Sum(m.name, "")
		if grown < m.least {
			complain("attack: %s grows by %.0f, at least %.0f expected", m.name, grown, m.least)
		}
		if most := m.mostEach * float64(r.launched[s.outcome]); most > 0 && grown > most {
			complain("attack: %s grows by %.0f, %.0f allowed", m.name, grown, most)
		}
	}
}

// hasLogged reports whether a message is in the program's log.
func (p *program) hasLogged(message string) (bool, error) {
	text, err := os.ReadFile(p.log)
	return bytes.Contains(text, []byte(message)), err
}

// readMetrics returns what the admin listener reports.
func (p *program) readMetrics(ctx context.Context) (harness.Metrics, error) {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	return harness.ReadMetrics(ctx, p.admin)
}
