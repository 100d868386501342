package main

import (
	"context"
	"fmt"
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
	if r.Heap, err = liveHeap(ctx, p); err != nil {
		return nil, err
	}
	metrics, err := harness.ReadMetrics(ctx, p.client.admin)
	r.Streams = metrics.Sum("acclaim_stream_resident_streams", `domain="voting"`)
	r.Resident = metrics.Sum("acclaim_stream_resident_bytes", `domain="voting"`)
	r.Process = metrics["process_resident_memory_bytes"]
	return r, err
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
