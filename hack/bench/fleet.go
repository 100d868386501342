package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sync/errgroup"
)

// grace is how long an answer may take beyond the end of a round.
const grace = 30 * time.Second

// fleet is a number of connections that together send one sequence of requests,
// each connection the next one whenever it has its answer.
type fleet struct {
	conns    []*conn
	programs int // connection i goes to program i%programs
	load     workload
	sent     atomic.Int64
}

// sample is what one round measured. Latencies are in microseconds.
type sample struct {
	requests int64
	elapsed  time.Duration
	cpu      time.Duration // of the server; 0 where it cannot be known
	latency  *hdrhistogram.Histogram
	shares   []int64 // requests of each program
}

// newFleet connects to programs in turns.
func newFleet(ctx context.Context, conns int, load workload, addresses ...string) (*fleet, error) {
	f := &fleet{load: load, programs: len(addresses)}
	for i := range conns {
		c, err := dial(ctx, addresses[i%len(addresses)])
		if err != nil {
			f.close()
			return nil, err
		}
		f.conns = append(f.conns, c)
	}
	return f, nil
}

func (f *fleet) close() {
	for _, c := range f.conns {
		_ = c.tcp.Close() // nothing is under way
	}
}

// drive sends requests for a time, but no more than limit in all the fleet's
// life. When it returns without an error, every request sent was answered with 200.
func (f *fleet) drive(ctx context.Context, d time.Duration, limit int64) (sample, error) {
	start := time.Now()
	end := start.Add(d)
	// For an answer that never comes. Not under the group's context: that ends with
	// the round, and a late call would cut off the next one.
	defer context.AfterFunc(ctx, func() { f.deadline(start) })()
	group, ctx := errgroup.WithContext(ctx)
	f.deadline(end.Add(grace))
	latencies := make([]*hdrhistogram.Histogram, len(f.conns))
	for i := range f.conns {
		latencies[i] = newHistogram()
		group.Go(func() error { return f.work(ctx, i, end, limit, latencies[i]) })
	}
	if err := group.Wait(); err != nil {
		return sample{}, err
	}
	s := sample{elapsed: time.Since(start), latency: newHistogram(), shares: make([]int64, f.programs)}
	for i, h := range latencies {
		s.latency.Merge(h)
		s.shares[i%f.programs] += h.TotalCount()
	}
	s.requests = s.latency.TotalCount()
	return s, nil
}

func (f *fleet) work(ctx context.Context, i int, end time.Time, limit int64, latency *hdrhistogram.Histogram) error {
	c := f.conns[i]
	for start := time.Now(); start.Before(end) && ctx.Err() == nil; {
		n := f.sent.Add(1) - 1
		if n >= limit {
			f.sent.Add(-1)
			return nil
		}
		c.out = f.load.request(c.out[:0], i, n)
		start = time.Now()
		a, err := c.exchange()
		if err != nil {
			return err
		}
		if a.status != 200 {
			return fmt.Errorf("answer %d: %.200s", a.status, a.body)
		}
		done := time.Now()
		if err := latency.RecordValue(done.Sub(start).Microseconds()); err != nil {
			return err
		}
		start = done
	}
	return ctx.Err()
}

func (f *fleet) deadline(at time.Time) {
	for _, c := range f.conns {
		c.deadline(at)
	}
}

// newHistogram returns one for a microsecond to ten minutes, within one percent.
func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, (10 * time.Minute).Microseconds(), 2)
}
