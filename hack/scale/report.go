package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"
)

// report is what was measured.
type report struct {
	options
	declared, allReady time.Duration
	api, voting        counts // requests until all were ready
	reconciles         float64
	cpu                time.Duration
	resident, peak     int64

	idle, busy []time.Duration // how long new Polls took to be ready, sorted
	woken      struct {
		latency    []time.Duration
		reconciles float64
	}

	resync, resyncCPU          time.Duration
	resyncAPI, resyncVoting    counts
	resyncResident, resyncPeak int64
}

func (r report) write(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	per := func(c counts) {
		for _, what := range slices.Sorted(maps.Keys(c)) {
			fmt.Fprintf(t, "  %s\t%.0f\t%.3f each\n", what, c[what], c[what]/float64(r.polls))
		}
	}
	fmt.Fprintf(t, "%d Polls of %d Extensions in one namespace\n", r.polls, r.extensions)
	fmt.Fprintf(t, "declared in\t%v\n", r.declared.Round(time.Millisecond))
	fmt.Fprintf(t, "all ready in\t%v\t%.0f/s\n", r.allReady.Round(time.Millisecond), float64(r.polls)/r.allReady.Seconds())
	fmt.Fprintf(t, "times looked at\t%.0f\t%.3f each\n", r.reconciles, r.reconciles/float64(r.polls))
	fmt.Fprintln(t, "requests to the API server")
	per(r.api)
	fmt.Fprintf(t, "  of these writes\t%.0f\t%.3f each\n", r.api.only(isWrite).sum(), r.api.only(isWrite).sum()/float64(r.polls))
	fmt.Fprintln(t, "requests to the voting service")
	per(r.voting)
	fmt.Fprintf(t, "the operator's CPU time\t%v\t%.2f ms each\n", r.cpu, float64(r.cpu.Microseconds())/1000/float64(r.polls))
	fmt.Fprintf(t, "the operator's memory\t%d MiB\tat most %d MiB\n", r.resident>>20, r.peak>>20)
	fmt.Fprintf(t, "a new Poll is ready in\t%s\n", spread(r.idle))
	fmt.Fprintf(t, "while the Backend changed\t%s\t%.0f Polls looked at for it\n", spread(r.woken.latency), r.woken.reconciles)
	fmt.Fprintf(t, "while all are looked at\t%s\n", spread(r.busy))
	fmt.Fprintf(t, "all looked at again in\t%v\t%v of CPU time, %d MiB, at most %d MiB\n", r.resync.Round(time.Millisecond), r.resyncCPU, r.resyncResident>>20, r.resyncPeak>>20)
	fmt.Fprintf(t, "  writes to the API server\t%.0f\n", r.resyncAPI.sum())
	fmt.Fprintf(t, "  writes to the voting service\t%.0f\tof %.0f requests\n", r.resyncVoting.only(isWrite).sum(), r.resyncVoting.sum())
	return t.Flush()
}

// spread says how sorted durations are distributed.
func spread(sorted []time.Duration) string {
	if len(sorted) == 0 {
		return "not measured"
	}
	at := func(share float64) time.Duration {
		return sorted[int(share*float64(len(sorted)-1))].Round(100 * time.Microsecond)
	}
	return fmt.Sprintf("median %v, 99 of 100 %v, at most %v", at(.5), at(.99), at(1))
}
