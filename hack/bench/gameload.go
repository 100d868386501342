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

	"github.com/coder/websocket"
	"golang.org/x/sync/errgroup"
)

// gamesCase names the measurement of updates of games under a load of votes.
const gamesCase = "games"

// gamesResult has the delays of updates in games while viewers vote.
type gamesResult struct {
	Rate  float64 `json:"rate"` // votes a second that are sent; 0: as many as are answered
	Votes float64 `json:"votesPerSecond"`
	Games int     `json:"games"` // that receive the updates of the loaded poll
	// Quiet are the delays from a vote to its update of polls without other votes, Loaded
	// those of the poll that all others vote in. Its updates come at most once a second, so
	// that a vote waits for half a second on average.
	Quiet  delaySample `json:"quiet"`
	Loaded delaySample `json:"loaded"`
}

const (
	watchingGames = 1_000
	quietRounds   = 100
	loadedRounds  = 20
	// markedValue is the option that only the measured votes in the loaded poll have.
	markedValue = 31
)

// gameLoads are the votes a second beside which updates are measured: none, some, and as
// many as the program answers.
func gameLoads() []float64 { return []float64{-1, 1_000, 5_000, 0} }

// measureGameLoads measures the updates of one program under one load after the other.
func (b *bench) measureGameLoads(ctx context.Context) (results []gamesResult, err error) {
	in, err := newInputs(b.voters)
	if err != nil {
		return nil, err
	}
	p, err := startProcess(ctx, nil, b.binary, "serve", b.registry, filepath.Join(b.dir, "gameload"),
		"--gamelink-listen", "127.0.0.1:0", "--connections-per-address", strconv.Itoa(watchingGames+1_000))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	for i, rate := range gameLoads() {
		r, err := b.measureGameLoad(ctx, p, in, rate, fmt.Sprintf("load%d", i))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", describeRate(rate), err)
		}
		results = append(results, r)
	}
	return results, nil
}

func describeRate(rate float64) string {
	switch {
	case rate < 0:
		return "no other votes"
	case rate == 0:
		return "as many votes as are answered"
	}
	return fmt.Sprintf("%.0f votes/s", rate)
}

// measureGameLoad measures the updates under one load, in polls of its own.
func (b *bench) measureGameLoad(ctx context.Context, p *program, in *loadInputs, rate float64, prefix string) (r gamesResult, err error) {
	b.logf("games      %s, %d games", describeRate(rate), watchingGames)
	load := &markedVotes{newVotes(prefix, 1, in.viewers[loadedRounds:])}
	watching, stopWatching := context.WithCancel(ctx)
	games, err := watchPoll(watching, p, load.polls[0])
	defer func() {
		stopWatching()
		err = errors.Join(err, games.Wait())
	}()
	if err != nil {
		return r, err
	}
	f, err := newFleet(ctx, 64, load, p.address)
	if err != nil {
		return r, err
	}
	defer f.close()
	f.rate = max(rate, 0)
	var enough atomic.Bool
	group, measuring := errgroup.WithContext(ctx)
	group.Go(func() error {
		start := time.Now()
		for rate >= 0 && !enough.Load() {
			if _, err := f.driveLoad(measuring, b.duration/3, math.MaxInt64); err != nil {
				return err
			}
		}
		r.Votes = float64(f.sent.Load()) / time.Since(start).Seconds()
		return nil
	})
	group.Go(func() (err error) {
		defer enough.Store(true)
		if r.Quiet, err = measureGameDelay(measuring, p.client, p.Games, prefix+"-quiet"); err == nil {
			r.Loaded, err = measureMarkedVotes(measuring, p, load.polls[0], in.viewers[:loadedRounds])
		}
		return err
	})
	r.Rate, r.Games = f.rate, watchingGames
	if err := group.Wait(); err != nil {
		return r, err
	}
	return r, load.verify(ctx, p.client, f.sent.Load())
}

// watchPoll connects games that read the updates of a poll until ctx is done.
func watchPoll(ctx context.Context, p *program, poll string) (*errgroup.Group, error) {
	reading, connections := &errgroup.Group{}, make(chan *websocket.Conn, watchingGames)
	dialing, dialed := errgroup.WithContext(ctx)
	dialing.SetLimit(connecting)
	for range watchingGames {
		dialing.Go(func() error {
			game, err := connectGame(dialed, p.Games, loadedChannel)
			if err == nil {
				connections <- game
				err = subscribeGame(dialed, game, poll)
			}
			return err
		})
	}
	err := dialing.Wait()
	close(connections)
	for game := range connections {
		reading.Go(func() error {
			defer func() { _ = game.CloseNow() }() // nothing is under way
			for {
				if _, _, err := game.Read(ctx); err != nil {
					if ctx.Err() != nil {
						return nil
					}
					return fmt.Errorf("a game that reads was cut off: %w", err)
				}
			}
		})
	}
	return reading, err
}

// loadedChannel is the number of the channel that the load votes in.
const loadedChannel = 1

func subscribeGame(ctx context.Context, game *websocket.Conn, poll string) error {
	return askGame(ctx, game, fmt.Sprintf(`{"action":"subscribe","params":{"request_id":1,"target":"poll"},"data":{"topic_id":%q}}`, poll))
}

// measureMarkedVotes measures the time from a vote in a loaded poll until a game has an
// update that counts it.
func measureMarkedVotes(ctx context.Context, p *program, poll string, voters []string) (delaySample, error) {
	game, err := connectGame(ctx, p.Games, loadedChannel)
	if err != nil {
		return delaySample{}, err
	}
	defer func() { _ = game.CloseNow() }() // nothing is under way
	if err := subscribeGame(ctx, game, poll); err != nil {
		return delaySample{}, err
	}
	latency := newHistogram()
	for n, voter := range voters {
		select { // not always right after the update before
		case <-time.After(rand.N(time.Second)):
		case <-ctx.Done():
			return delaySample{}, ctx.Err()
		}
		start := time.Now()
		if err := p.client.post(ctx, voter, "vote?id="+poll, fmt.Sprintf(`{"value":%d}`, markedValue)); err != nil {
			return delaySample{}, err
		}
		if err := awaitMarks(ctx, game, int64(n+1)); err != nil {
			return delaySample{}, err
		}
		if err := latency.RecordValue(time.Since(start).Microseconds()); err != nil {
			return delaySample{}, err
		}
	}
	return sampleOf(latency), nil
}

// awaitMarks reads updates until one counts so many marked votes.
func awaitMarks(ctx context.Context, game *websocket.Conn, marks int64) error {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	for {
		_, message, err := game.Read(ctx)
		if err != nil {
			return fmt.Errorf("the update of a marked vote: %w", err)
		}
		var update struct {
			Data struct{ Results []int64 }
		}
		if err := json.Unmarshal(message, &update); err != nil {
			return err
		}
		if results := update.Data.Results; len(results) > markedValue && results[markedValue] >= marks {
			return nil
		}
	}
}

// markedVotes are votes in one poll, none of them for the marked option.
type markedVotes struct{ *votes }

func (v *markedVotes) request(buf []byte, _ int, n int64) []byte {
	voter, poll := v.at(n)
	return appendRequest(buf, "POST", "vote?id="+v.polls[poll], v.credentials[voter], fmt.Appendf(nil, `{"value":%d}`, voter%markedValue))
}

// verify expects each voter to count once, and the marked votes.
func (v *markedVotes) verify(ctx context.Context, server *client, n int64) error {
	var s statistics
	if err := server.get(ctx, "vote?id="+v.polls[0], decodeInto(&s)); err != nil {
		return err
	}
	if want := min(n, int64(len(v.credentials))) + loadedRounds; s.Count != want {
		return fmt.Errorf("%d voters are counted, want %d", s.Count, want)
	}
	return nil
}

func writeGames(b *strings.Builder, results []gamesResult) {
	if len(results) == 0 {
		return
	}
	fmt.Fprintf(b, "Updates in games beside votes in one poll, which %d games watch; ms from before the vote:\n", watchingGames)
	for _, r := range results {
		fmt.Fprintf(b, "  %6.0f votes/s   of a quiet poll: p50 %.1f, p99 %.1f, max %.1f; of the loaded one, once a second: p50 %.0f, max %.0f\n",
			r.Votes, r.Quiet.P50/1e3, r.Quiet.P99/1e3, r.Quiet.Max/1e3, r.Loaded.P50/1e3, r.Loaded.Max/1e3)
	}
	b.WriteByte('\n')
}
