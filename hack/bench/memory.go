package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/acclaim-dev/acclaim/hack/harness"
)

const (
	smallPolls  = 10_000
	smallVoters = 5 // of each
	// budget is the default limit for resident poll states.
	budget = 512 << 20
)

// memoryReport holds the memory of a program with many small polls and a large
// one, in bytes.
type memoryReport struct {
	SmallPolls int `json:"smallPolls"`
	// Streams counts the resident polls. Resident is the size of their states by the
	// program's own account, which its budget limits.
	Streams  float64 `json:"streams"`
	Resident float64 `json:"residentBytes"`
	Heap     float64 `json:"heapBytes"`    // that survives a collection
	Process  float64 `json:"processBytes"` // as the system counts it
}

// fillSmall lets some voters vote in each of the small polls.
func fillSmall(ctx context.Context, p *program, credentials []string) error {
	votes := min(len(credentials), smallPolls*smallVoters)
	return fillPolls(ctx, p, newVotes(smallPoll, smallPolls, credentials[:votes]), votes)
}

const smallPoll = "small"

// measureMemory has a program that holds the large poll read all the small ones.
func measureMemory(ctx context.Context, p *program) (*memoryReport, error) {
	viewers, err := signAll(1, viewerCredential)
	if err != nil {
		return nil, err
	}
	if err := fillPolls(ctx, p, &tour{prefix: smallPoll, polls: smallPolls, credential: viewers[0]}, smallPolls); err != nil {
		return nil, err
	}
	r := &memoryReport{SmallPolls: smallPolls}
	metrics, err := p.client.collectGarbage(ctx)
	r.Heap = metrics[heapBytes]
	r.Streams = metrics.Sum("acclaim_stream_resident_streams", `domain="voting"`)
	r.Resident = metrics.Sum("acclaim_stream_resident_bytes", `domain="voting"`)
	r.Process = metrics[residentBytes]
	return r, err
}

// Metrics of a program's memory.
const (
	heapBytes     = "go_memstats_heap_alloc_bytes"
	stackBytes    = "go_memstats_stack_inuse_bytes"
	residentBytes = "process_resident_memory_bytes"
)

// collectGarbage has the program collect its garbage, and returns its metrics after that.
func (c *client) collectGarbage(ctx context.Context) (harness.Metrics, error) {
	profile, err := fetch(ctx, c.admin+"/debug/pprof/heap?gc=1", "")
	if err != nil {
		return nil, err
	}
	defer profile.Close()
	if _, err := io.Copy(io.Discard, profile); err != nil {
		return nil, err
	}
	return harness.ReadMetrics(ctx, c.admin)
}

// liveHeap returns the bytes of the heap after a collection.
func (c *client) liveHeap(ctx context.Context) (float64, error) {
	metrics, err := c.collectGarbage(ctx)
	return metrics[heapBytes], err
}

// clientMemory holds the memory that each client of a program takes, in bytes.
type clientMemory struct {
	Live     float64 `json:"liveBytes"`     // of the heap after a collection, and of stacks
	Resident float64 `json:"residentBytes"` // as the system counts it, with the collector's room
}

// memoryOfEach divides what the memory of programs has grown by among their clients.
func memoryOfEach(before, after harness.Metrics, clients int) clientMemory {
	grown := func(name string) float64 { return (after[name] - before[name]) / float64(clients) }
	return clientMemory{Live: grown(heapBytes) + grown(stackBytes), Resident: grown(residentBytes)}
}

func (m clientMemory) String() string {
	return fmt.Sprintf("%.1f KiB each, resident %.1f", m.Live/1024, m.Resident/1024)
}

// tour reads one poll after another.
type tour struct {
	prefix     string
	polls      int
	credential string
}

func (t *tour) request(buf []byte, _ int, n int64) []byte {
	return appendRequest(buf, "GET", "vote?id="+pollID(t.prefix, int(n)%t.polls), t.credential, nil)
}

func (t *tour) verify(context.Context, *client, int64) error { return nil }

func (r *memoryReport) write(b *strings.Builder) {
	const mib = 1 << 20
	fmt.Fprintf(b, "  memory      %.0f polls, %d of them small, in %.0f MiB by the program's own account, of a budget of %d; live heap %.0f MiB, process %s MiB\n",
		r.Streams, r.SmallPolls, r.Resident/mib, budget/mib, r.Heap/mib, formatFigure(r.Process/mib, "%.0f"))
}
