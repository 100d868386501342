package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// liveReport holds the costs of events.
type liveReport struct {
	// Listeners counts the subscribers in one channel.
	Listeners int          `json:"listeners"`
	Listener  clientMemory `json:"listenerMemory"`
	// Games counts the games that are connected over GameLink.
	Games int          `json:"games"`
	Game  clientMemory `json:"gameMemory"`
	// ToGame is the delay from a vote to its update in one of them.
	ToGame delaySample `json:"toGame"`
	// Delays of a message to all of them, in microseconds from before it is sent.
	PublishP50 float64 `json:"publishP50Micros"`
	PublishP99 float64 `json:"publishP99Micros"`
	PublishMax float64 `json:"publishMaxMicros"`
	// Votes a second with and without loadListeners who listen to the poll.
	With    float64 `json:"votesPerSecondWithListeners"`
	Without float64 `json:"votesPerSecondWithout"`
	Ratio   float64 `json:"ratio"`
	Target  float64 `json:"target"`
	// Sinks holds the costs of sinks, with the same target.
	Sinks *sinksReport `json:"sinks,omitempty"`
	// Here and There are delays from a vote to its update on the program that took
	// it, and on another over the same database, in microseconds.
	Here  delaySample  `json:"here"`
	There *delaySample `json:"there,omitempty"`
	// Operations are the database commands a second that a subscription to a channel
	// of listenedPolls polls takes while no viewer votes.
	Operations float64 `json:"operationsPerSecond,omitempty"`
}

type delaySample struct {
	P50 float64 `json:"p50Micros"`
	P99 float64 `json:"p99Micros"`
	Max float64 `json:"maxMicros"`
}

const (
	publishRounds = 10
	loadListeners = 1_000
	delayRounds   = 20
	listenTarget  = 0.9
	listenBytes   = 20 << 10 // a listener may cost
)

// measureEvents measures listeners of one program and, unless that is not wanted,
// of one of several over a database.
func (b *bench) measureEvents(ctx context.Context) (*liveReport, error) {
	r, err := b.measureLive(ctx)
	if err == nil {
		err = b.measureGames(ctx, r)
	}
	if err == nil {
		r.Sinks, err = b.measureSinks(ctx)
	}
	if err == nil && b.replicas {
		err = b.measureLiveReplicas(ctx, r)
	}
	return r, err
}

// measureLive measures listeners of one program.
func (b *bench) measureLive(ctx context.Context) (r *liveReport, err error) {
	r = &liveReport{Listeners: b.listeners, Target: listenTarget}
	p, err := b.startServer(ctx, "live", b.binary, "serve")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	credentials, err := signAll(max(b.listeners, loadListeners), viewerCredential)
	if err != nil {
		return nil, err
	}
	if err := b.measureListeners(ctx, p, credentials[:b.listeners], r); err != nil {
		return nil, err
	}
	if err := b.measureLoad(ctx, p, credentials[:loadListeners], r); err != nil {
		return nil, err
	}
	r.Here, err = b.measureDelay(ctx, p, p, "here", 0, delayRounds, delayRounds)
	return r, err
}

// measureListeners measures the memory of idle listeners and how long a message
// takes to all of them.
func (b *bench) measureListeners(ctx context.Context, p *program, credentials []string, r *liveReport) error {
	b.logf("listeners  connecting %d", len(credentials))
	first, err := connectSubscribers(ctx, p.address, credentials[:1]) // so that what they share is there before
	if err != nil {
		return err
	}
	defer first.close()
	before, err := p.client.collectGarbage(ctx)
	if err != nil {
		return err
	}
	all, err := connectSubscribers(ctx, p.address, credentials)
	if err != nil {
		return err
	}
	defer all.close()
	after, err := p.client.collectGarbage(ctx)
	if err != nil {
		return err
	}
	r.Listener = memoryOfEach(before, after, len(credentials))
	latency := newHistogram()
	for round := range publishRounds {
		delays, err := all.publish(ctx, func(n int64) error { return p.broadcast(ctx, n) })
		if err != nil {
			return fmt.Errorf("message %d: %w", round, err)
		}
		for _, d := range delays {
			if err := latency.RecordValue(d.Microseconds()); err != nil {
				return err
			}
		}
	}
	r.PublishP50, r.PublishP99 = float64(latency.ValueAtQuantile(50)), float64(latency.ValueAtQuantile(99))
	r.PublishMax = float64(latency.Max())
	return nil
}

// broadcast says a number to the channel.
func (p *program) broadcast(ctx context.Context, number int64) error {
	return p.client.post(ctx, p.client.credential, "broadcast", fmt.Sprintf(`{"event":"tick","data":%d}`, number))
}

// measureLoad measures votes at full speed, with listeners and without in turns.
func (b *bench) measureLoad(ctx context.Context, p *program, credentials []string, r *liveReport) error {
	in, err := newInputs(b.voters)
	if err != nil {
		return err
	}
	votes := newVotes("heard", 1, in.viewers)
	f, err := newFleet(ctx, 256, votes, p.address)
	if err != nil {
		return err
	}
	defer f.close()
	if _, err := f.driveLoad(ctx, b.duration/3, math.MaxInt64); err != nil {
		return err
	}
	var with, without []roundSample
	for round := range 2 * b.rounds {
		if (round+round/2)%2 == 0 { // without first, with first, in turns
			s, err := f.driveLoad(ctx, b.duration, math.MaxInt64)
			if err != nil {
				return err
			}
			without = append(without, s)
			continue
		}
		s, err := b.heardBy(ctx, p, credentials, f)
		if err != nil {
			return err
		}
		with = append(with, s)
	}
	r.With, r.Without = median(with, roundSample.throughput), median(without, roundSample.throughput)
	r.Ratio = r.With / r.Without
	b.logf("listeners  %.0f votes/s with %d of them, %.0f without", r.With, len(credentials), r.Without)
	return votes.verify(ctx, p.client, f.sent.Load())
}

// heardBy is a round of votes to which others listen.
func (b *bench) heardBy(ctx context.Context, p *program, credentials []string, f *fleet) (roundSample, error) {
	a, err := connectSubscribers(ctx, p.address, credentials)
	if err != nil {
		return roundSample{}, err
	}
	defer a.close()
	s, err := f.driveLoad(ctx, b.duration, math.MaxInt64)
	if err == nil && a.events.Load() < int64(len(credentials)) {
		err = fmt.Errorf("%d subscribers have received only %d events", len(credentials), a.events.Load())
	}
	return s, err
}

// measureDelay measures the time from a vote through one program until its update
// arrives through another: of the votes numbered from first until end, in some polls in
// turns.
func (b *bench) measureDelay(ctx context.Context, votes, hears *program, prefix string, first, end, polls int) (delaySample, error) {
	viewer, err := viewerCredential(0)
	if err != nil {
		return delaySample{}, err
	}
	a, err := connectSubscribers(ctx, hears.address, []string{viewer})
	if err != nil {
		return delaySample{}, err
	}
	defer a.close()
	latency := newHistogram()
	for n := first; n < end; n++ {
		start := time.Now()
		if err := votes.client.post(ctx, viewer, fmt.Sprintf("vote?id=%s-%d", prefix, n%polls), fmt.Sprintf(`{"value":%d}`, 1+n/polls%2)); err != nil {
			return delaySample{}, err
		}
		select {
		case <-a.heard:
		case <-time.After(grace):
			return delaySample{}, errors.New("the update of a vote did not arrive")
		case <-ctx.Done():
			return delaySample{}, ctx.Err()
		}
		if err := latency.RecordValue(time.Since(start).Microseconds()); err != nil {
			return delaySample{}, err
		}
	}
	return sampleOf(latency), nil
}

func sampleOf(latency *hdrhistogram.Histogram) delaySample {
	return delaySample{P50: float64(latency.ValueAtQuantile(50)), P99: float64(latency.ValueAtQuantile(99)), Max: float64(latency.Max())}
}

// listenedPolls is the number of polls of a subscription whose cost is measured.
const listenedPolls = 100

// measureLiveReplicas measures what listening costs and how long it takes where
// another program over the same database takes the votes.
func (b *bench) measureLiveReplicas(ctx context.Context, r *liveReport) (err error) {
	db, err := openDatabase(ctx, b.mongodb, b.dir)
	if err != nil {
		return err
	}
	l := &replicaLayout{name: "live", label: "2 replicas", replicas: 2}
	defer func() { err = errors.Join(err, l.stop(), db.close(context.WithoutCancel(ctx), l.name)) }()
	if err := b.launchReplicas(ctx, db, l); err != nil {
		return err
	}
	idle, err := b.countOperations(ctx, l)
	if err != nil {
		return err
	}
	there, err := b.measureDelay(ctx, l.programs[0], l.programs[1], "there", 0, delayRounds, delayRounds)
	if err != nil {
		return err
	}
	r.There = &there
	viewer, err := viewerCredential(0)
	if err != nil {
		return err
	}
	for n := range listenedPolls - delayRounds {
		if err := l.programs[0].client.post(ctx, viewer, fmt.Sprintf("vote?id=more-%d", n), `{"value":1}`); err != nil {
			return err
		}
	}
	a, err := connectSubscribers(ctx, l.programs[1].address, []string{viewer})
	if err != nil {
		return err
	}
	defer a.close()
	if _, err := b.countOperations(ctx, l); err != nil { // until the polls that are new are known
		return err
	}
	busy, err := b.countOperations(ctx, l)
	r.Operations = busy - idle
	return err
}

// countOperations returns how many commands a second the programs send to the database.
func (b *bench) countOperations(ctx context.Context, l *replicaLayout) (float64, error) {
	before, err := l.countCommands(ctx)
	if err != nil {
		return 0, err
	}
	start := time.Now()
	select {
	case <-time.After(b.duration):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	after, err := l.countCommands(ctx)
	return (after["all"] - before["all"]) / time.Since(start).Seconds(), err
}

func verdictText(met bool) string {
	if met {
		return "met"
	}
	return "below"
}

func (r *liveReport) write(b *strings.Builder) {
	fmt.Fprintf(b, "Events:\n")
	fmt.Fprintf(b, "  %d idle listeners   %s (target %d: %s); a message to all: p50 %.1f ms, p99 %.1f ms, max %.1f ms\n",
		r.Listeners, r.Listener, listenBytes>>10, verdictText(r.Listener.Live < listenBytes), r.PublishP50/1e3, r.PublishP99/1e3, r.PublishMax/1e3)
	fmt.Fprintf(b, "  %d idle games       %s; vote to update in one: p50 %.1f ms, max %.1f ms\n",
		r.Games, r.Game, r.ToGame.P50/1e3, r.ToGame.Max/1e3)
	fmt.Fprintf(b, "  votes, one hot poll   %.0f/s with %d listeners, %.0f/s without: %.2f (target %.2f: %s)\n",
		r.With, loadListeners, r.Without, r.Ratio, r.Target, verdictText(r.Ratio >= r.Target))
	if r.Sinks != nil {
		r.Sinks.write(b)
	}
	fmt.Fprintf(b, "  vote to update        p50 %.1f ms, max %.1f ms", r.Here.P50/1e3, r.Here.Max/1e3)
	if r.There != nil {
		fmt.Fprintf(b, "; through another program: p50 %.0f ms, max %.0f ms; %.1f database commands a second to listen to %d polls",
			r.There.P50/1e3, r.There.Max/1e3, r.Operations, listenedPolls)
	}
	b.WriteString("\n\n")
}
