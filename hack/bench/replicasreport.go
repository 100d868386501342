package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// replicasReport holds the figures of several programs over one database. Targets
// stand beside their figures.
type replicasReport struct {
	Loads []replicasResult `json:"loads"`
	// Usual counts the votes a second of the usual way: one upsert and one aggregation
	// each.
	Usual float64 `json:"usualPerSecond"`
}

// replicasResult is a load on a number of programs, with the medians of its
// rounds.
type replicasResult struct {
	Load              string  `json:"load"`
	Replicas          string  `json:"replicas"`
	Connections       int     `json:"connections"`
	RequestsPerSecond float64 `json:"requestsPerSecond"`
	// ToOne is the throughput's ratio to that of the first load with this name on
	// replicas with as many processors.
	ToOne     float64 `json:"toOneReplica"`
	P50Micros float64 `json:"p50Micros"`
	P99Micros float64 `json:"p99Micros"`
	MaxMicros float64 `json:"maxMicros"`
	// CPUMicros is the processor time of all programs for each request.
	CPUMicros float64 `json:"cpuMicros"`
	// CPUToOne is its ratio to that of the same load as in ToOne.
	CPUToOne float64 `json:"cpuToOneReplica"`
	// LeastShare and MostShare are those of the programs that answered the least
	// and the most of what they were offered.
	LeastShare float64 `json:"leastShare"`
	MostShare  float64 `json:"mostShare"`
	// Writes and Operations are database commands for each vote.
	Writes     float64 `json:"writesPerVote"`
	Operations float64 `json:"operationsPerVote"`
}

func newReplicasReport(cases []*replicasCase, usual []roundSample) *replicasReport {
	r := &replicasReport{}
	if len(usual) > 0 {
		r.Usual = median(usual, roundSample.throughput)
	}
	type group struct {
		label      string
		processors int
	}
	first := map[group]replicasResult{}
	for _, c := range cases {
		votes := 0.0
		for _, s := range c.samples {
			votes += float64(s.requests)
		}
		figures := medianFigures(c.samples)
		result := replicasResult{
			Load: c.label, Replicas: c.layout.label, Connections: c.connections,
			RequestsPerSecond: figures.RequestsPerSecond,
			P50Micros:         figures.P50Micros,
			P99Micros:         figures.P99Micros,
			MaxMicros:         median(c.samples, func(s roundSample) float64 { return float64(s.latency.Max()) }),
			CPUMicros:         figures.CPUMicros,
			LeastShare:        median(c.samples, func(s roundSample) float64 { return slices.Min(s.shares) }),
			MostShare:         median(c.samples, func(s roundSample) float64 { return slices.Max(s.shares) }),
			Writes:            c.operations["insert"] / math.Max(1, votes),
			Operations:        c.operations["all"] / math.Max(1, votes),
		}
		same := group{c.label, c.layout.processors}
		if _, ok := first[same]; !ok {
			first[same] = result
		}
		result.ToOne = result.RequestsPerSecond / first[same].RequestsPerSecond
		result.CPUToOne = result.CPUMicros / math.Max(1, first[same].CPUMicros)
		r.Loads = append(r.Loads, result)
	}
	return r
}

// replicasCaption explains the figures.
const replicasCaption = `Several programs over one MongoDB database, all on the processors of this machine, with the database and the load generator.
"1 processor" limits each program to one at a time. To one: throughput as a multiple of that of one program with as many processors.
Share: what a program answered of what it was offered. At a rate all are offered the same, and latency counts from when a request was due.
Without a rate each connection asks again when it has its answer, so programs that answer sooner are offered more; shares are then of an even part of all.

`

func (r *replicasReport) write(b *strings.Builder) {
	b.WriteString(replicasCaption)
	columns := newColumns(b)
	fmt.Fprintln(columns, "load\tprograms\tconns\tprograms/s\tto one\tleast share\tmost\tp50\tp99\tmax\tCPU\tto one\twrites/vote\toperations/vote\t")
	for _, l := range r.Loads {
		fmt.Fprintf(columns, "%s\t%s\t%d\t%.0f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.0f\t%.1f\t%.2f\t%.3f\t%.2f\t\n",
			l.Load, l.Replicas, l.Connections, l.RequestsPerSecond, l.ToOne, l.LeastShare, l.MostShare,
			l.P50Micros/1e3, l.P99Micros/1e3, l.MaxMicros/1e3, l.CPUMicros, l.CPUToOne, l.Writes, l.Operations)
	}
	_ = columns.Flush() // a strings.Builder takes everything
	b.WriteByte('\n')
	if r.Usual == 0 {
		return
	}
	fmt.Fprintf(b, "The usual way, an upsert and an aggregation for each vote and no HTTP: %.0f votes/s; one program: %.1f times that.\n\n",
		r.Usual, r.Loads[0].RequestsPerSecond/math.Max(1, r.Usual))
}
