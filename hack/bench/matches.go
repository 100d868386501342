package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// matchesCase names the measurement of matches: one poll in many channels, which a game watches.
const matchesCase = "matches"

// matchResult has the costs of the feed of a match.
type matchResult struct {
	Channels int     `json:"channels"`
	Votes    float64 `json:"votesPerSecond"` // over all channels
	// With and Without are the shares of a processor that the program takes while a game
	// watches the match, and while none does.
	With    float64 `json:"processorsWith"`
	Without float64 `json:"processorsWithout"`
	Ratio   float64 `json:"ratio"`
	// Bytes are those of the heap that the feed takes, with the connection of its game.
	Bytes float64 `json:"bytes"`
	// Delay is from a vote to the push that counts it. Pushes come once a second.
	Delay delaySample `json:"delay"`
}

const (
	matchVoters = 8_000
	matchRate   = 1_000 // votes a second
)

func matchSizes() []int { return []int{1, 20, 400} }

// measureMatches measures matches of one program, one size after the other.
func (b *bench) measureMatches(ctx context.Context) (results []matchResult, err error) {
	p, err := startProcess(ctx, nil, b.binary, "serve", b.registry, filepath.Join(b.dir, "matches"), "--gamelink-listen", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	for _, channels := range matchSizes() {
		b.logf("matches    %d channels", channels)
		r, err := b.measureMatch(ctx, p, channels)
		if err != nil {
			return nil, fmt.Errorf("%d channels: %w", channels, err)
		}
		results = append(results, r)
	}
	return results, nil
}

func (b *bench) measureMatch(ctx context.Context, p *program, channels int) (r matchResult, err error) {
	m := &matchVotes{poll: fmt.Sprint("match", channels), channels: channels}
	if m.credentials, err = signAll(matchVoters+loadedRounds, m.credential); err != nil {
		return r, err
	}
	if err := m.create(ctx, p.Games); err != nil {
		return r, err
	}
	f, err := newFleet(ctx, 64, m, p.address)
	if err != nil {
		return r, err
	}
	defer f.close()
	// Unmeasured: each channel has its poll afterwards.
	if _, err := f.driveLoad(ctx, fillTimeout, matchVoters); err != nil {
		return r, err
	}
	f.rate = matchRate
	r.Channels = channels
	if err := b.compareWatched(ctx, p, m, f, &r); err != nil {
		return r, err
	}
	r.Delay, err = b.measureMatchDelay(ctx, p, m, f)
	return r, err
}

// compareWatched takes turns of votes while no game watches the match and while one does.
func (b *bench) compareWatched(ctx context.Context, p *program, m *matchVotes, f *fleet, r *matchResult) error {
	alone, watched := &caseSide{program: p, fleet: f}, &caseSide{program: p, fleet: f}
	for range b.rounds {
		if err := alone.measureRound(ctx, b.duration); err != nil {
			return err
		}
		game, err := m.watch(ctx, p.Games)
		if err != nil {
			return err
		}
		err = watched.measureRound(ctx, b.duration)
		with, withErr := p.client.liveHeap(ctx)
		err = errors.Join(err, withErr, game.close())
		without, withoutErr := p.client.liveHeap(ctx)
		if err := errors.Join(err, withoutErr); err != nil {
			return err
		}
		r.Bytes += (with - without) / float64(b.rounds)
	}
	r.Votes = medianFigures(watched.samples).RequestsPerSecond
	r.With, r.Without = processorsOf(watched.samples), processorsOf(alone.samples)
	r.Ratio = r.With / r.Without
	return nil
}

// processorsOf returns the share of a processor that a program took in rounds.
func processorsOf(samples []roundSample) float64 {
	var cpu, elapsed time.Duration
	for _, s := range samples {
		cpu, elapsed = cpu+s.cpu, elapsed+s.elapsed
	}
	return cpu.Seconds() / elapsed.Seconds()
}

// measureMatchDelay measures the time from marked votes to the pushes that count them, beside the
// other votes. In the end the match has all votes.
func (b *bench) measureMatchDelay(ctx context.Context, p *program, m *matchVotes, f *fleet) (d delaySample, err error) {
	game, err := m.watch(ctx, p.Games)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, game.close()) }()
	var enough atomic.Bool
	group, measuring := errgroup.WithContext(ctx)
	group.Go(func() error {
		for !enough.Load() {
			if _, err := f.driveLoad(measuring, b.duration/3, math.MaxInt64); err != nil {
				return err
			}
		}
		return nil
	})
	group.Go(func() error {
		defer enough.Store(true)
		latency := newHistogram()
		for n := range loadedRounds {
			select { // not always right after the push before
			case <-time.After(rand.N(time.Second)):
			case <-measuring.Done():
				return measuring.Err()
			}
			start := time.Now()
			if err := p.client.post(measuring, m.credentials[matchVoters+n], "vote?id="+m.poll, fmt.Sprintf(`{"value":%d}`, markedValue)); err != nil {
				return err
			}
			if err := game.await(measuring, func(u matchUpdate) bool { return u.marks() > n }); err != nil {
				return err
			}
			if err := latency.RecordValue(time.Since(start).Microseconds()); err != nil {
				return err
			}
		}
		d = sampleOf(latency)
		return nil
	})
	if err := group.Wait(); err != nil {
		return d, err
	}
	return d, game.await(ctx, func(u matchUpdate) bool {
		return u.Overall.Count == matchVoters+loadedRounds && u.marks() == loadedRounds
	})
}

// matchVotes are votes in the poll of a match, by viewers of all its channels in turn.
type matchVotes struct {
	poll        string // its id, and that of the match
	channels    int
	credentials []string // matchVoters, and those of marked votes
}

func (m *matchVotes) credential(n int) (string, error) {
	return newCredential("viewer", strconv.Itoa(1+n%m.channels), fmt.Sprintf("U%09d", n))
}

func (m *matchVotes) request(buf []byte, _ int, n int64) []byte {
	voter := int(n % matchVoters)
	return appendRequest(buf, "POST", "vote?id="+m.poll, m.credentials[voter], fmt.Appendf(nil, `{"value":%d}`, n%markedValue))
}

// verify implements [workload]: the last push is checked instead.
func (m *matchVotes) verify(context.Context, *client, int64) error { return nil }

// create creates the match and its poll.
func (m *matchVotes) create(ctx context.Context, address string) error {
	game, err := connectBackend(ctx, address)
	if err != nil {
		return err
	}
	defer func() { _ = game.CloseNow() }() // nothing is under way
	var channels []string
	for c := range m.channels {
		channels = append(channels, strconv.Quote(strconv.Itoa(1+c)))
	}
	for _, request := range []string{
		`"create","params":{"request_id":1,"target":"match"},"data":{"id":"%[1]s"}`,
		`"add_channels","params":{"request_id":2,"target":"match"},"data":{"id":"%[1]s","channel_ids":[%[2]s]}`,
		`"create","params":{"request_id":3,"target":"match_poll"},"data":{"id":"%[1]s","poll":{"poll_id":"%[1]s","prompt":"?","options":["a","b"],"config":{}}}`,
	} {
		text := strings.NewReplacer("%[1]s", m.poll, "%[2]s", strings.Join(channels, ",")).Replace(request)
		if err := askGame(ctx, game, `{"action":`+text+`}`); err != nil {
			return err
		}
	}
	return nil
}

// matchWatcher is a game that watches a match.
type matchWatcher struct {
	updates chan matchUpdate // the newest
	last    matchUpdate      // that await has seen
	reading errgroup.Group
	stop    context.CancelFunc
}

// matchUpdate is a push of a match.
type matchUpdate struct {
	Overall struct {
		Count   int
		Results []int
	}
}

func (u matchUpdate) marks() int {
	if len(u.Overall.Results) <= markedValue {
		return 0
	}
	return u.Overall.Results[markedValue]
}

// watch subscribes a game to the match and reads all pushes.
func (m *matchVotes) watch(ctx context.Context, address string) (*matchWatcher, error) {
	game, err := connectBackend(ctx, address)
	if err != nil {
		return nil, err
	}
	if err := askGame(ctx, game, fmt.Sprintf(`{"action":"subscribe","params":{"request_id":1,"target":"match_poll"},"data":{"topic_id":%q}}`, m.poll)); err != nil {
		return nil, errors.Join(err, game.CloseNow())
	}
	ctx, cancel := context.WithCancel(ctx)
	w := &matchWatcher{updates: make(chan matchUpdate, 1), stop: cancel}
	w.reading.Go(func() error {
		defer func() { _ = game.CloseNow() }() // nothing is under way
		for {
			_, message, err := game.Read(ctx)
			if ctx.Err() != nil {
				return nil
			}
			var push struct{ Data matchUpdate }
			if err = errors.Join(err, json.Unmarshal(message, &push)); err != nil {
				return err
			}
			select { // a push that was not read is replaced
			case <-w.updates:
			default:
			}
			w.updates <- push.Data
		}
	})
	return w, nil
}

// await reads pushes until the last one holds something.
func (w *matchWatcher) await(ctx context.Context, holds func(matchUpdate) bool) error {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	for !holds(w.last) {
		select {
		case w.last = <-w.updates:
		case <-ctx.Done():
			return fmt.Errorf("the push of a match: %w, the last one has %d votes, %d of them marked", ctx.Err(), w.last.Overall.Count, w.last.marks())
		}
	}
	return nil
}

func (w *matchWatcher) close() error {
	w.stop()
	return w.reading.Wait()
}

func writeMatches(b *strings.Builder, results []matchResult) {
	if len(results) == 0 {
		return
	}
	fmt.Fprintf(b, "A poll of a match, which a game watches; processor time as a ratio to the same votes without the game; ms from before a vote to the push, once a second:\n")
	for _, r := range results {
		fmt.Fprintf(b, "  %4d channels, %5.0f votes/s   ratio %.2f (%.1f %% of a processor, %.1f %% without), %.0f KiB of heap; p50 %.0f, max %.0f\n",
			r.Channels, r.Votes, r.Ratio, 100*r.With, 100*r.Without, r.Bytes/1024, r.Delay.P50/1e3, r.Delay.Max/1e3)
	}
	b.WriteByte('\n')
}
