package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sync/errgroup"

	"github.com/acclaim-dev/acclaim/hack/harness"
)

// audienceCommand is the argument with which this program measures public results behind a cache.
const audienceCommand = "audience"

const (
	// audienceConnections is the number of readers, each with one request under way.
	audienceConnections = 64
	// audienceVoteEvery is the time between two votes, so that a result is never the same for long.
	audienceVoteEvery = 10 * time.Millisecond
	audiencePoll      = "audience"
)

// audienceReport describes one poll's public result that many read while votes come.
type audienceReport struct {
	Readers       int     `json:"readers"`
	GetsPerSecond float64 `json:"getsPerSecond"`
	P50Micros     float64 `json:"p50Micros"`
	P99Micros     float64 `json:"p99Micros"`
	// OriginPerSecond counts the requests of the cache to the program.
	OriginPerSecond float64 `json:"originPerSecond"`
	// Oldest is the greatest age of an answer, in seconds: how long before its request a vote
	// was acknowledged that it lacks.
	Oldest float64 `json:"oldestSeconds"`
	// CacheMicros and OriginMicros are processor time for each GET.
	CacheMicros  float64 `json:"cacheMicrosPerGet"`
	OriginMicros float64 `json:"originMicrosPerGet"`
}

// measureAudience reads the public result of a poll through Debian's nginx, as fast as it
// answers, while viewers vote, and checks the age of every answer.
func measureAudience(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	b := &bench{benchOptions: benchOptions{progress: stderr, voters: 50_000}}
	flags := flag.NewFlagSet("bench audience", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.DurationVar(&b.duration, "duration", 10*time.Second, "`length` of the measurement")
	if err := flags.Parse(args); err != nil {
		return err
	}
	remove, err := b.prepare(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	origin, err := b.startServer(ctx, "data", b.binary, "serve")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, origin.stop()) }()
	r, err := b.measureBehindCache(ctx, origin)
	if err != nil {
		return err
	}
	return r.write(stdout)
}

func (b *bench) measureBehindCache(ctx context.Context, origin *program) (r *audienceReport, err error) {
	in, err := newInputs(b.voters)
	if err != nil {
		return nil, err
	}
	config := fmt.Sprintf(`{"id":%q,"config":{"publicResults":true}}`, audiencePoll)
	if err := origin.client.post(ctx, origin.client.credential, "vote_config", config); err != nil {
		return nil, err
	}
	cache, err := startCache(ctx, b.dir, origin.address)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, cache.stop()) }()
	a := &audience{acknowledged: make([]time.Time, 1, 1<<16)}
	b.logf("%d readers for %s", audienceConnections, b.duration)
	asked, err := countPublicReads(ctx, origin.client)
	if err != nil {
		return nil, err
	}
	cacheTime, originTime := harness.TreeTime(cache.process), origin.cpuTime()
	latency, elapsed, err := a.watch(ctx, cache.address, origin.address, in.viewers, b.duration)
	if err != nil {
		return nil, err
	}
	cacheTime, originTime = harness.TreeTime(cache.process)-cacheTime, origin.cpuTime()-originTime
	askedNow, err := countPublicReads(ctx, origin.client)
	gets := float64(latency.TotalCount())
	return &audienceReport{
		Readers: audienceConnections, GetsPerSecond: gets / elapsed.Seconds(), OriginPerSecond: (askedNow - asked) / elapsed.Seconds(), Oldest: a.oldest.Seconds(),
		P50Micros: float64(latency.ValueAtQuantile(50)), P99Micros: float64(latency.ValueAtQuantile(99)),
		CacheMicros: float64(cacheTime.Microseconds()) / gets, OriginMicros: float64(originTime.Microseconds()) / gets,
	}, err
}

// countPublicReads returns how many public results a program has answered.
func countPublicReads(ctx context.Context, c *client) (float64, error) {
	metrics, err := harness.ReadMetrics(ctx, c.admin)
	return metrics.Sum("acclaim_http_request_duration_seconds_count", "/result.json"), err
}

// audience knows when each vote was acknowledged, by the number of votes then.
type audience struct {
	mu           sync.Mutex
	acknowledged []time.Time
	oldest       time.Duration
}

// watch has readers ask a cache for a time while one voter after the other votes at the origin.
func (a *audience) watch(ctx context.Context, cache, origin string, viewers []string, d time.Duration) (*hdrhistogram.Histogram, time.Duration, error) {
	start := time.Now()
	end := start.Add(d)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return a.vote(ctx, origin, viewers, end) })
	latencies := make([]*hdrhistogram.Histogram, audienceConnections)
	for i := range latencies {
		latencies[i] = newHistogram()
		group.Go(func() error { return a.read(ctx, cache, end, latencies[i]) })
	}
	err := group.Wait()
	all := newHistogram()
	for _, l := range latencies {
		all.Merge(l)
	}
	return all, time.Since(start), err
}

func (a *audience) vote(ctx context.Context, origin string, viewers []string, end time.Time) error {
	c, err := dialConn(ctx, origin)
	if err != nil {
		return err
	}
	defer func() { _ = c.tcp.Close() }() // nothing is under way
	c.setDeadline(end.Add(grace))
	votes := newVotes(audiencePoll, 1, viewers)
	votes.polls[0] = audiencePoll
	ticks := time.NewTicker(audienceVoteEvery)
	defer ticks.Stop()
	for n := int64(0); time.Now().Before(end) && n < int64(len(viewers)); n++ {
		c.out = votes.request(c.out[:0], 0, n)
		response, err := c.exchange()
		if err != nil {
			return err
		}
		if response.status != 200 {
			return fmt.Errorf("vote: answer %d: %.200s", response.status, response.body)
		}
		a.mu.Lock()
		a.acknowledged = append(a.acknowledged, time.Now())
		a.mu.Unlock()
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (a *audience) read(ctx context.Context, cache string, end time.Time, latency *hdrhistogram.Histogram) error {
	c, err := dialConn(ctx, cache)
	if err != nil {
		return err
	}
	defer func() { _ = c.tcp.Close() }()
	c.setDeadline(end.Add(grace))
	c.out = fmt.Appendf(nil, "GET /public/%s/%s/%s/result.json HTTP/1.1\r\nHost: localhost\r\n\r\n", extension, channel, audiencePoll)
	for ctx.Err() == nil {
		sent := time.Now()
		if !sent.Before(end) {
			return nil
		}
		response, err := c.exchange()
		if err != nil {
			return err
		}
		if err := errors.Join(latency.RecordValue(time.Since(sent).Microseconds()), a.check(response, sent)); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// check notes the age of an answer.
func (a *audience) check(response answer, sent time.Time) error {
	_, rest, found := bytes.Cut(response.body, []byte(`"count":`))
	digits := len(rest) - len(bytes.TrimLeft(rest, "0123456789"))
	count, err := strconv.Atoi(string(rest[:digits]))
	if response.status != 200 || !found || err != nil {
		return fmt.Errorf("no result: answer %d: %.200s", response.status, response.body)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if count+1 < len(a.acknowledged) {
		a.oldest = max(a.oldest, sent.Sub(a.acknowledged[count+1]))
	}
	return nil
}

func (r *audienceReport) write(w io.Writer) error {
	_, err := fmt.Fprintf(w, `A public result behind nginx, %d readers that ask again at once, a vote each %s:
  %.0f GET/s, p50 %.2f ms, p99 %.2f ms; CPU %.1f µs a GET for the cache, %.2f for the program, which also counts the votes
  the cache asks %.2f times a second; the oldest answer was %.2f s old
`, r.Readers, audienceVoteEvery, r.GetsPerSecond, r.P50Micros/1e3, r.P99Micros/1e3, r.CacheMicros, r.OriginMicros, r.OriginPerSecond, r.Oldest)
	return err
}
