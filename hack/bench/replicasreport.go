package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
)

// replicasReport is what several programs over one database reach. Targets are
// written beside the figures they are for.
type replicasReport struct {
	Loads []replicasResult `json:"loads"`
	// Usual is how many votes a second the usual way reaches, one upsert and one
	// aggregation each.
	Usual float64 `json:"usualPerSecond"`
}

// replicasResult is a load on a number of programs, with the medians of its
// rounds.
type replicasResult struct {
	Load              string  `json:"load"`
	Replicas          string  `json:"replicas"`
	Connections       int     `json:"connections"`
	RequestsPerSecond float64 `json:"requestsPerSecond"`
	// ToOne is the throughput's ratio to that of the first load with this name.
	ToOne     float64 `json:"toOneReplica"`
	P50Micros float64 `json:"p50Micros"`
	P99Micros float64 `json:"p99Micros"`
	MaxMicros float64 `json:"maxMicros"`
	// LeastShare and MostShare are those of the programs with the fewest and the
	// most requests, as multiples of an even share.
	LeastShare float64 `json:"leastShare"`
	MostShare  float64 `json:"mostShare"`
	// Writes and Operations are database commands for each vote.
	Writes     float64 `json:"writesPerVote"`
	Operations float64 `json:"operationsPerVote"`
}

func newReplicasReport(cases []*replicasCase, usual []sample) *replicasReport {
	r := &replicasReport{Usual: median(usual, sample.throughput)}
	first := map[string]float64{}
	for _, c := range cases {
		votes := 0.0
		for _, s := range c.samples {
			votes += float64(s.requests)
		}
		figures := summarize(c.samples)
		result := replicasResult{
			Load: c.label, Replicas: c.layout.label, Connections: c.connections,
			RequestsPerSecond: figures.RequestsPerSecond,
			P50Micros:         figures.P50Micros,
			P99Micros:         figures.P99Micros,
			MaxMicros:         median(c.samples, func(s sample) float64 { return float64(s.latency.Max()) }),
			LeastShare:        median(c.samples, func(s sample) float64 { return s.share(slices.Min(s.shares)) }),
			MostShare:         median(c.samples, func(s sample) float64 { return s.share(slices.Max(s.shares)) }),
			Writes:            c.operations["insert"] / math.Max(1, votes),
			Operations:        c.operations["all"] / math.Max(1, votes),
		}
		if first[c.label] == 0 {
			first[c.label] = result.RequestsPerSecond
		}
		result.ToOne = result.RequestsPerSecond / first[c.label]
		r.Loads = append(r.Loads, result)
	}
	return r
}

// share returns how many even shares a number of a sample's requests is.
func (s sample) share(requests int64) float64 {
	return float64(requests) * float64(len(s.shares)) / math.Max(1, float64(s.requests))
}

func (r *replicasReport) write(b *strings.Builder) {
	b.WriteString("Several programs over one MongoDB database; shares are multiples of an even one:\n\n")
	columns := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(columns, "load\tprograms\tconns\tprograms/s\tto one\tleast share\tmost\tp50\tp99\tmax\twrites/vote\toperations/vote\t")
	for _, l := range r.Loads {
		fmt.Fprintf(columns, "%s\t%s\t%d\t%.0f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.0f\t%.3f\t%.2f\t\n",
			l.Load, l.Replicas, l.Connections, l.RequestsPerSecond, l.ToOne, l.LeastShare, l.MostShare,
			l.P50Micros/1e3, l.P99Micros/1e3, l.MaxMicros/1e3, l.Writes, l.Operations)
	}
	_ = columns.Flush() // a strings.Builder takes everything
	fmt.Fprintf(b, "\nThe usual way, an upsert and an aggregation for each vote and no HTTP: %.0f votes/s; one program: %.1f times that.\n\n",
		r.Usual, r.Loads[0].RequestsPerSecond/math.Max(1, r.Usual))
}
