package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sync/errgroup"
)

// grace limits the time an answer may take beyond the end of a round.
const grace = 30 * time.Second

// fleet is a number of connections that together send one sequence of requests,
// each connection the next one whenever it has its answer, or at a fixed rate.
type fleet struct {
	conns    []*rawConn
	programs int // connection i goes to program i%programs
	load     workload
	sent     atomic.Int64
	// rate is the number of requests that fall due in a second, spread evenly over the
	// connections; 0 for as many as the program answers. A connection sends a request
	// late that falls due before the answer to the one before it.
	rate float64
}

// roundSample holds the measurements of one round. Latencies are in microseconds; at a
// rate they begin when a request falls due.
type roundSample struct {
	requests int64
	elapsed  time.Duration
	cpu      time.Duration // of the servers; 0 where it cannot be known
	latency  *hdrhistogram.Histogram
	shares   []float64 // answers of each program for each request that it was offered
}

// newFleet connects to programs in turns.
func newFleet(ctx context.Context, conns int, load workload, addresses ...string) (*fleet, error) {
	f := &fleet{load: load, programs: len(addresses)}
	for i := range conns {
		c, err := dialConn(ctx, addresses[i%len(addresses)])
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

// driveLoad sends requests for a time, but no more than limit in all the fleet's
// life. When it returns without an error, every request sent was answered with 200.
func (f *fleet) driveLoad(ctx context.Context, d time.Duration, limit int64) (roundSample, error) {
	start := time.Now()
	end := start.Add(d)
	// For an answer that never comes. Not under the group's context: that ends with
	// the round, and a late call would cut off the next one.
	defer context.AfterFunc(ctx, func() { f.setDeadline(start) })()
	group, ctx := errgroup.WithContext(ctx)
	f.setDeadline(end.Add(grace))
	latencies := make([]*hdrhistogram.Histogram, len(f.conns))
	for i := range f.conns {
		latencies[i] = newHistogram()
		group.Go(func() error { return f.driveConnection(ctx, i, end, limit, latencies[i]) })
	}
	if err := group.Wait(); err != nil {
		return roundSample{}, err
	}
	s := roundSample{elapsed: time.Since(start), latency: newHistogram()}
	for _, h := range latencies {
		s.latency.Merge(h)
	}
	s.requests = s.latency.TotalCount()
	s.shares = f.answeredShares(latencies, cmp.Or(f.rate*d.Seconds(), float64(s.requests)))
	return s, nil
}

// answeredShares returns the part of the requests offered to each program that it
// answered. All were offered the same for each connection. Without a rate the
// requests that all answered count as offered, and faster programs get more.
func (f *fleet) answeredShares(latencies []*hdrhistogram.Histogram, offered float64) []float64 {
	shares := make([]float64, f.programs)
	conns := make([]float64, f.programs)
	for i, h := range latencies {
		shares[i%f.programs] += float64(h.TotalCount())
		conns[i%f.programs]++
	}
	for i := range shares {
		shares[i] /= math.Max(1, offered*conns[i]/float64(len(latencies)))
	}
	return shares
}

func (f *fleet) driveConnection(ctx context.Context, i int, end time.Time, limit int64, latency *hdrhistogram.Histogram) error {
	c := f.conns[i]
	due := f.newSchedule(i)
	for start := due(ctx); time.Now().Before(end) && ctx.Err() == nil; start = due(ctx) {
		n := f.sent.Add(1) - 1
		if n >= limit {
			f.sent.Add(-1)
			return nil
		}
		c.out = f.load.request(c.out[:0], i, n)
		a, err := c.exchange()
		if err != nil {
			return err
		}
		if a.status != 200 {
			return fmt.Errorf("answer %d: %.200s", a.status, a.body)
		}
		if err := latency.RecordValue(time.Since(start).Microseconds()); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// newSchedule returns what waits until the next request of a connection falls due
// and returns when that was: at once, unless there is a rate. The connections
// take turns.
func (f *fleet) newSchedule(i int) func(context.Context) time.Time {
	if f.rate == 0 {
		return func(context.Context) time.Time { return time.Now() }
	}
	interval := time.Duration(float64(time.Second) * float64(len(f.conns)) / f.rate)
	next := time.Now().Add(interval * time.Duration(i) / time.Duration(len(f.conns)))
	return func(ctx context.Context) time.Time {
		due := next
		next = next.Add(interval)
		timer := time.NewTimer(time.Until(due))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		return due
	}
}

func (f *fleet) setDeadline(at time.Time) {
	for _, c := range f.conns {
		c.setDeadline(at)
	}
}

// newHistogram returns one for a microsecond to ten minutes, within one percent.
func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, (10 * time.Minute).Microseconds(), 2)
}
