package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/acclaim-dev/acclaim/hack/harness"
)

// pollReport holds the costs of a large single-vote poll. Figures that the program
// does not report are 0 and left out.
type pollReport struct {
	Voters int `json:"voters"`
	// HeapPerVoter is the growth of the live heap when the poll is loaded, in
	// bytes; ResidentPerVoter what the program itself makes of its state.
	HeapPerVoter     float64 `json:"heapBytesPerVoter,omitempty"`
	ResidentPerVoter float64 `json:"residentBytesPerVoter,omitempty"`
	// Ready is the time from the start of the program to its ready line. FirstRead is
	// the time of the first GET /vote after it, Read the part spent in the store and
	// Rebuild the part spent on the state; all in seconds.
	Ready     float64 `json:"readySeconds"`
	FirstRead float64 `json:"firstReadSeconds"`
	Read      float64 `json:"readSeconds,omitempty"`
	Rebuild   float64 `json:"rebuildSeconds,omitempty"`
	// Memory includes many small polls that the program holds as well.
	Memory *memoryReport `json:"memory,omitempty"`
}

// largePoll is the id of the poll that is measured.
const largePoll = "large"

// measurePoll fills a poll, restarts the program and has it load the poll.
func (b *bench) measurePoll(ctx context.Context) (*pollReport, error) {
	if err := b.fillPoll(ctx); err != nil {
		return nil, fmt.Errorf("large poll: %w", err)
	}
	b.logf("large poll: restarting the program and reading it")
	r, err := b.loadPoll(ctx)
	if err != nil {
		return nil, fmt.Errorf("large poll: %w", err)
	}
	return r, nil
}

func (b *bench) fillPoll(ctx context.Context) (err error) {
	b.logf("large poll: signing and voting for %d voters", b.pollSize)
	credentials, err := signAll(b.pollSize, viewerCredential)
	if err != nil {
		return err
	}
	p, err := b.startServer(ctx, "large", b.binary, "serve")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	if err := fillPolls(ctx, p, newVotes(largePoll, 1, credentials), b.pollSize); err != nil {
		return err
	}
	b.logf("large poll: voting in %d small ones beside it", smallPolls)
	return fillSmall(ctx, p, credentials)
}

func (b *bench) loadPoll(ctx context.Context) (r *pollReport, err error) {
	r = &pollReport{Voters: b.pollSize}
	start := time.Now()
	p, err := b.startServer(ctx, "large", b.binary, "serve")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	r.Ready = time.Since(start).Seconds()
	before, err := p.client.liveHeap(ctx)
	if err != nil {
		return nil, err
	}
	start = time.Now()
	var s statistics
	if err := p.client.get(ctx, "vote?id="+pollID(largePoll, 0), decodeInto(&s)); err != nil {
		return nil, err
	}
	r.FirstRead = time.Since(start).Seconds()
	if s.Count != int64(b.pollSize) {
		return nil, fmt.Errorf("not exact: count is %d after the restart, want %d", s.Count, b.pollSize)
	}
	after, err := p.client.liveHeap(ctx)
	if err != nil {
		return nil, err
	}
	r.HeapPerVoter = (after - before) / float64(b.pollSize)
	if err := r.addMetrics(ctx, p); err != nil {
		return nil, err
	}
	b.logf("large poll: reading %d small ones beside it", smallPolls)
	r.Memory, err = measureMemory(ctx, p)
	return r, err
}

func (r *pollReport) addMetrics(ctx context.Context, p *program) error {
	metrics, err := harness.ReadMetrics(ctx, p.client.admin)
	if err != nil {
		return err
	}
	r.ResidentPerVoter = metrics.Sum("acclaim_stream_resident_bytes", "") / float64(r.Voters)
	r.Read = metrics.Sum("acclaim_stream_load_seconds_total", `phase="read"`)
	r.Rebuild = metrics.Sum("acclaim_stream_load_seconds_total", `phase="rebuild"`)
	return nil
}
