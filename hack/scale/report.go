package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"
)

// report holds the measurements.
type report struct {
	options
	declared, allReady time.Duration
	created            metricsReading // until all were ready
	reported           metricsReading // in one interval of reports

	idle, busy []time.Duration // how long new Polls took to be ready, sorted
	woken      struct {
		latency []time.Duration
		looks   float64
	}

	resync   time.Duration
	resynced metricsReading
}

func (r report) write(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	each := func(n float64) float64 { return n / float64(r.polls) }
	all := func(c counts) {
		for _, what := range slices.Sorted(maps.Keys(c)) {
			fmt.Fprintf(t, "  %s\t%.0f\t%.3f each\n", what, c[what], each(c[what]))
		}
	}
	c := r.created
	where := "in one namespace"
	if r.shared {
		where += ", of a Backend in another"
	}
	fmt.Fprintf(t, "%d Polls of %d Extensions %s\n", r.polls, r.extensions, where)
	fmt.Fprintf(t, "declared in\t%v\n", r.declared.Round(time.Millisecond))
	fmt.Fprintf(t, "all ready in\t%v\t%.0f/s\n", r.allReady.Round(time.Millisecond), float64(r.polls)/r.allReady.Seconds())
	fmt.Fprintf(t, "times looked at\t%.0f\t%.3f each\n", c.looks, each(c.looks))
	fmt.Fprintln(t, "requests to the API server")
	all(c.api)
	fmt.Fprintf(t, "  of these writes\t%.0f\t%.3f each\n", c.api.filter(isWrite).sum(), each(c.api.filter(isWrite).sum()))
	fmt.Fprintln(t, "requests to the voting service")
	all(c.voting)
	fmt.Fprintf(t, "the operator's CPU time\t%v\t%.2f ms each\n", c.cpu, each(float64(c.cpu.Milliseconds())))
	fmt.Fprintf(t, "the operator's memory\t%d MiB\tat most %d MiB\n", c.resident>>20, c.peak>>20)
	if r.reportInterval > 0 {
		fmt.Fprintf(t, "requests to the API server in %v of reports\n", r.reportInterval)
		all(r.reported.api)
		fmt.Fprintln(t, "requests to the voting service")
		all(r.reported.voting)
		fmt.Fprintf(t, "the operator's CPU time\t%v\t%.2f ms each\n", r.reported.cpu, each(float64(r.reported.cpu.Milliseconds())))
		return t.Flush()
	}
	fmt.Fprintf(t, "a new Poll is ready in\t%s\n", formatSpread(r.idle))
	fmt.Fprintf(t, "while the Backend changed\t%s\t%.0f Polls looked at for it\n", formatSpread(r.woken.latency), r.woken.looks)
	fmt.Fprintf(t, "while all are looked at\t%s\n", formatSpread(r.busy))
	fmt.Fprintf(t, "all looked at again in\t%v\t%v of CPU time, at most %d MiB\n", r.resync.Round(time.Millisecond), r.resynced.cpu, r.resynced.peak>>20)
	fmt.Fprintf(t, "  writes to the API server\t%.0f\n", r.resynced.written.sum())
	fmt.Fprintf(t, "  writes to the voting service\t%.0f\tof %.0f requests\n", r.resynced.voting.filter(isWrite).sum(), r.resynced.voting.sum())
	return t.Flush()
}

// formatSpread describes the distribution of sorted durations.
func formatSpread(sorted []time.Duration) string {
	if len(sorted) == 0 {
		return "not measured"
	}
	at := func(share float64) time.Duration {
		return sorted[int(share*float64(len(sorted)-1))].Round(100 * time.Microsecond)
	}
	return fmt.Sprintf("median %v, 99 of 100 %v, at most %v", at(.5), at(.99), at(1))
}
