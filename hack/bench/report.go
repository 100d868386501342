package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// report is everything that was measured.
type report struct {
	Machine machineInfo  `json:"machine"`
	Cases   []caseResult `json:"cases"`
	// Replicas is nil where they were not measured.
	Replicas *replicasReport `json:"replicas,omitempty"`
	// SideBySide is the same over a database that takes inserts side by side.
	SideBySide *replicasReport `json:"sideBySide,omitempty"`
	Listing    *listingReport  `json:"listing,omitempty"`
	Live       *liveReport     `json:"live,omitempty"`
	Updates    []updatesResult `json:"updates,omitempty"`
	Games      []gamesResult   `json:"games,omitempty"`
	Matches    []matchResult   `json:"matches,omitempty"`
	Poll       *pollReport     `json:"poll,omitempty"`
	Peers      []peerResult    `json:"peers,omitempty"`
}

// machineInfo describes the machine, on which absolute figures depend.
type machineInfo struct {
	Go         string  `json:"go"`
	Platform   string  `json:"platform"`
	Processors int     `json:"processors"`
	SyncMicros float64 `json:"syncMicros"` // median of writing 4 KiB and fsync
}

// caseResult is a case with the medians of its rounds.
type caseResult struct {
	Case        string  `json:"case"`
	Label       string  `json:"label"`
	Connections int     `json:"connections"`
	Ceiling     figures `json:"ceiling"`
	Program     figures `json:"program"`
	// Bare has the figures of a net/http handler that only reads the body and answers
	// with as many bytes; nil where it was not measured.
	Bare   *figures `json:"bare,omitempty"`
	Ratio  float64  `json:"ratio"` // of the throughputs above
	Target float64  `json:"target"`
	Met    bool     `json:"met"`
}

type figures struct {
	RequestsPerSecond float64 `json:"requestsPerSecond"`
	P50Micros         float64 `json:"p50Micros"`
	P99Micros         float64 `json:"p99Micros"`
	CPUMicros         float64 `json:"cpuMicrosPerRequest,omitempty"`
}

func newResult(c benchCase, ceiling, program []roundSample) caseResult {
	r := caseResult{Case: c.name, Label: c.label, Connections: c.connections, Target: c.target,
		Ceiling: medianFigures(ceiling), Program: medianFigures(program)}
	r.Ratio = r.Program.RequestsPerSecond / r.Ceiling.RequestsPerSecond
	r.Met = r.Ratio >= r.Target
	return r
}

func medianFigures(samples []roundSample) figures {
	return figures{
		RequestsPerSecond: median(samples, roundSample.throughput),
		P50Micros:         median(samples, func(s roundSample) float64 { return float64(s.latency.ValueAtQuantile(50)) }),
		P99Micros:         median(samples, func(s roundSample) float64 { return float64(s.latency.ValueAtQuantile(99)) }),
		CPUMicros: median(samples, func(s roundSample) float64 {
			return float64(s.cpu.Microseconds()) / float64(max(1, s.requests))
		}),
	}
}

func (s roundSample) throughput() float64 { return float64(s.requests) / s.elapsed.Seconds() }

// median returns the median of a figure of the samples, the mean of the middle
// two when their number is even.
func median[T any](samples []T, figure func(T) float64) float64 {
	var figures []float64
	for _, s := range samples {
		figures = append(figures, figure(s))
	}
	slices.Sort(figures)
	n := len(figures)
	return (figures[(n-1)/2] + figures[n/2]) / 2
}

// describeMachine measures what a write to the disk below dir costs: on a
// memory file system the figures of the program mean little.
func describeMachine(dir string) (m machineInfo, err error) {
	file, err := os.Create(filepath.Join(dir, "sync"))
	if err != nil {
		return machineInfo{}, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	var times []time.Duration
	for range 64 {
		start := time.Now()
		if _, err := file.Write(make([]byte, 4<<10)); err != nil {
			return machineInfo{}, err
		}
		if err := file.Sync(); err != nil {
			return machineInfo{}, err
		}
		times = append(times, time.Since(start))
	}
	return machineInfo{
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Processors: runtime.NumCPU(),
		SyncMicros: median(times, func(d time.Duration) float64 { return float64(d.Microseconds()) }),
	}, nil
}

func (r report) writeJSON(w io.Writer) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(r)
}

func (r report) writeTable(w io.Writer) error {
	var b strings.Builder
	m := r.Machine
	fmt.Fprintf(&b, "%s %s, %d processors, fsync %.2f ms; medians; latency in ms, CPU in µs a request; every count is exact\n\n",
		m.Go, m.Platform, m.Processors, m.SyncMicros/1e3)
	r.writeCases(&b)
	writePeers(&b, r.Peers)
	if r.Replicas != nil {
		r.Replicas.write(&b)
	}
	if r.SideBySide != nil {
		r.SideBySide.write(&b)
	}
	if r.Live != nil {
		r.Live.write(&b)
	}
	writeUpdates(&b, r.Updates)
	writeGames(&b, r.Games)
	writeMatches(&b, r.Matches)
	if r.Listing != nil {
		r.Listing.write(&b)
	}
	if r.Poll != nil {
		r.Poll.write(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// cpuRatio is the processor time of a request in the program as a share of that in
// the ceiling, 0 where it is not known.
func (r caseResult) cpuRatio() float64 {
	if r.Ceiling.CPUMicros == 0 {
		return 0
	}
	return r.Program.CPUMicros / r.Ceiling.CPUMicros
}

// newColumns returns a writer of a table whose columns stand at the right.
func newColumns(w io.Writer) *tabwriter.Writer {
	return tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
}

func (r report) writeCases(b *strings.Builder) {
	if len(r.Cases) == 0 {
		return
	}
	columns := newColumns(b)
	fmt.Fprintln(columns, "load\tconns\tceiling/s\tprogram/s\tratio\ttarget\t\tp50\tp99\tceiling p50\tp99\tCPU\tceiling\tratio\tbare\t")
	for _, c := range r.Cases {
		verdict := "met"
		if !c.Met {
			verdict = "below"
		}
		bare := 0.0
		if c.Bare != nil {
			bare = c.Bare.CPUMicros
		}
		fmt.Fprintf(columns, "%s\t%d\t%.0f\t%.0f\t%.2f\t%.2f\t%s\t%.2f\t%.2f\t%.2f\t%.2f\t%.1f\t%.1f\t%s\t%s\t\n",
			c.Label, c.Connections, c.Ceiling.RequestsPerSecond, c.Program.RequestsPerSecond, c.Ratio, c.Target, verdict,
			c.Program.P50Micros/1e3, c.Program.P99Micros/1e3, c.Ceiling.P50Micros/1e3, c.Ceiling.P99Micros/1e3,
			c.Program.CPUMicros, c.Ceiling.CPUMicros, formatFigure(c.cpuRatio(), "%.2f"), formatFigure(bare, "%.1f"))
	}
	_ = columns.Flush() // a strings.Builder takes everything
	b.WriteByte('\n')
}

func (p *pollReport) write(b *strings.Builder) {
	fmt.Fprintf(b, "A single-vote poll of %d voters:\n", p.Voters)
	fmt.Fprintf(b, "  resident    %.1f bytes a voter by the live heap, %s by the program's own account\n",
		p.HeapPerVoter, formatFigure(p.ResidentPerVoter, "%.1f"))
	fmt.Fprintf(b, "  cold start  first read %.3f s after a restart: reading %s s, rebuilding %s s (ready after %.3f s)\n",
		p.FirstRead, formatFigure(p.Read, "%.3f"), formatFigure(p.Rebuild, "%.3f"), p.Ready)
	if p.Memory != nil {
		p.Memory.write(b)
	}
}

// formatFigure formats a figure that the program may not report.
func formatFigure(figure float64, format string) string {
	if figure == 0 {
		return "-"
	}
	return fmt.Sprintf(format, figure)
}
