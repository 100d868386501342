package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// reportRow is a finished line of the table.
type reportRow struct {
	rowFigures
	attack   attackCase
	problems []string
}

func (r reportRow) verdict() string {
	switch {
	case len(r.problems) == 0:
		return "pass"
	case r.isUnclear(r.attack):
		return "UNCLEAR"
	}
	return "FAIL"
}

// writeReport writes the table, and below it why rows fail and what the attackers
// did. It returns an error if a row fails.
func writeReport(out io.Writer, rows []reportRow) error {
	var b strings.Builder
	fmt.Fprintf(&b, "limits: %d open files, memory %d MiB and a quarter; p99 as a ratio to calm, at most %d; memory in MiB\n\n", openFiles, memoryBudget>>20, ratioLimit)
	columns := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(columns, "\tcalm: p99 ms\tnew\tevents\tMiB\tfiles\tattack: victims\tp99\tnew\tevents\tMiB\tfiles\tafter 10 s: victims\tp99\tnew\tevents\tMiB\tfiles\t\t")
	for _, r := range rows {
		c := r.calm
		fmt.Fprintf(columns, "%s\t%.1f\t%.1f\t%.1f\t%d\t%d\t%s%s%s\t\n", r.attack.name,
			milliseconds(c.requests), milliseconds(c.connections), milliseconds(c.events), c.resources.resident>>20, c.resources.descriptors,
			formatPhase(r.attack, r.rowFigures.attack, c), formatPhase(attackCase{}, r.after, c), r.verdict())
	}
	_ = columns.Flush() // a strings.Builder takes everything
	b.WriteString("\n")
	failed := 0
	for _, r := range rows {
		for _, problem := range r.problems {
			fmt.Fprintf(&b, "%s: %s\n", r.attack.name, problem)
		}
		fmt.Fprintf(&b, "%s: the attacker counts %s\n", r.attack.name, formatCounts(r.launched))
		switch r.verdict() {
		case "FAIL":
			failed++
		case "UNCLEAR":
			fmt.Fprintf(&b, "%s: UNCLEAR: the host took %.0f %% of the processors away, which alone can make victims wait or miss something\n", r.attack.name, 100*r.mostStolen())
		}
	}
	if _, err := io.WriteString(out, b.String()); err != nil {
		return err
	}
	if failed > 0 {
		return errors.New(fmt.Sprint(failed, " of ", len(rows), " attacks succeed"))
	}
	return nil
}

func formatPhase(may attackCase, p, calm phaseFigures) string {
	return fmt.Sprintf("%.2f %%\t%.1f\t%.1f\t%.1f\t%d\t%d\t", 100*p.success(may),
		ratio(p.requests, calm.requests), ratio(p.connections, calm.connections), ratio(p.events, calm.events), p.resources.resident>>20, p.resources.descriptors)
}

// formatCounts lists at most eight outcomes, the most frequent first.
func formatCounts(counts map[string]int) string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(counts[b]-counts[a], cmp.Compare(a, b)) })
	var parts []string
	for _, name := range names[:min(8, len(names))] {
		parts = append(parts, fmt.Sprintf("%d × %s", counts[name], name))
	}
	return strings.Join(parts, ", ")
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
