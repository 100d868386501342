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
	Machine machine  `json:"machine"`
	Cases   []result `json:"cases"`
	// Replicas is nil where they were not measured.
	Replicas *replicasReport `json:"replicas,omitempty"`
	Poll     *pollReport     `json:"poll,omitempty"`
}

// machine is what the absolute figures depend on.
type machine struct {
	Go         string  `json:"go"`
	Platform   string  `json:"platform"`
	Processors int     `json:"processors"`
	SyncMicros float64 `json:"syncMicros"` // median of writing 4 KiB and fsync
}

// result is a case with the medians of its rounds.
type result struct {
	Case        string  `json:"case"`
	Label       string  `json:"label"`
	Connections int     `json:"connections"`
	Ceiling     figures `json:"ceiling"`
	Program     figures `json:"program"`
	Ratio       float64 `json:"ratio"` // of the throughputs above
	Target      float64 `json:"target"`
	Met         bool    `json:"met"`
}

type figures struct {
	RequestsPerSecond float64 `json:"requestsPerSecond"`
	P50Micros         float64 `json:"p50Micros"`
	P99Micros         float64 `json:"p99Micros"`
	CPUMicros         float64 `json:"cpuMicrosPerRequest,omitempty"`
}

func newResult(c benchCase, ceiling, program []sample) result {
	r := result{Case: c.name, Label: c.label, Connections: c.connections, Target: c.target,
		Ceiling: summarize(ceiling), Program: summarize(program)}
	r.Ratio = r.Program.RequestsPerSecond / r.Ceiling.RequestsPerSecond
	r.Met = r.Ratio >= r.Target
	return r
}

func summarize(samples []sample) figures {
	return figures{
		RequestsPerSecond: median(samples, sample.throughput),
		P50Micros:         median(samples, func(s sample) float64 { return float64(s.latency.ValueAtQuantile(50)) }),
		P99Micros:         median(samples, func(s sample) float64 { return float64(s.latency.ValueAtQuantile(99)) }),
		CPUMicros: median(samples, func(s sample) float64 {
			return float64(s.cpu.Microseconds()) / float64(max(1, s.requests))
		}),
	}
}

func (s sample) throughput() float64 { return float64(s.requests) / s.elapsed.Seconds() }

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
func describeMachine(dir string) (m machine, err error) {
	file, err := os.Create(filepath.Join(dir, "sync"))
	if err != nil {
		return machine{}, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	var times []time.Duration
	for range 64 {
		start := time.Now()
		if _, err := file.Write(make([]byte, 4<<10)); err != nil {
			return machine{}, err
		}
		if err := file.Sync(); err != nil {
			return machine{}, err
		}
		times = append(times, time.Since(start))
	}
	return machine{
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
	if r.Replicas != nil {
		r.Replicas.write(&b)
	}
	if r.Poll != nil {
		r.Poll.write(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r report) writeCases(b *strings.Builder) {
	if len(r.Cases) == 0 {
		return
	}
	columns := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(columns, "load\tconns\tceiling/s\tprogram/s\tratio\ttarget\t\tp50\tp99\tceiling p50\tp99\tCPU\tceiling\t")
	for _, c := range r.Cases {
		verdict := "met"
		if !c.Met {
			verdict = "below"
		}
		fmt.Fprintf(columns, "%s\t%d\t%.0f\t%.0f\t%.2f\t%.2f\t%s\t%.2f\t%.2f\t%.2f\t%.2f\t%.1f\t%.1f\t\n",
			c.Label, c.Connections, c.Ceiling.RequestsPerSecond, c.Program.RequestsPerSecond, c.Ratio, c.Target, verdict,
			c.Program.P50Micros/1e3, c.Program.P99Micros/1e3, c.Ceiling.P50Micros/1e3, c.Ceiling.P99Micros/1e3,
			c.Program.CPUMicros, c.Ceiling.CPUMicros)
	}
	_ = columns.Flush() // a strings.Builder takes everything
	b.WriteByte('\n')
}

func (p *pollReport) write(b *strings.Builder) {
	fmt.Fprintf(b, "A single-vote poll of %d voters:\n", p.Voters)
	fmt.Fprintf(b, "  resident    %.1f bytes a voter by the live heap, %s by the program's own account\n",
		p.HeapPerVoter, known(p.ResidentPerVoter, "%.1f"))
	fmt.Fprintf(b, "  cold start  first read %.3f s after a restart: reading %s s, rebuilding %s s (ready after %.3f s)\n",
		p.FirstRead, known(p.Read, "%.3f"), known(p.Rebuild, "%.3f"), p.Ready)
	if p.Memory != nil {
		p.Memory.write(b)
	}
}

// known formats a figure that the program may not report.
func known(figure float64, format string) string {
	if figure == 0 {
		return "-"
	}
	return fmt.Sprintf(format, figure)
}
