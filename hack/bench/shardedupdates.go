package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/acclaim-dev/acclaim/hack/child"
	"github.com/acclaim-dev/acclaim/hack/overlay"
)

// shardedUpdatesCase names the comparison of live updates on a sharded cluster without its
// change stream, as the program is, and with it.
const shardedUpdatesCase = "sharded-updates"

// shardedUpdates holds the delays from a vote through one program to its update through
// another one, with and without the change stream, over the same model of a sharded cluster.
type shardedUpdates struct {
	First comparedDelays `json:"first"` // of polls without votes until then
	Later comparedDelays `json:"later"`
}

// comparedDelays are medians of rounds, in microseconds. The ratios are the medians of those
// of each round, without to with the stream.
type comparedDelays struct {
	Without  delaySample `json:"without"`
	With     delaySample `json:"with"`
	P50Ratio float64     `json:"p50Ratio"`
	MaxRatio float64     `json:"maxRatio"`
}

// Few polls, as an update takes a second or two with the stream. They are enough for a poll
// to have had its last update long before the next one.
const (
	comparedPolls   = 6
	comparedVotes   = 3 // in each poll and round
	comparedPause   = time.Second
	watchFile       = "services/internal/store/mongostore/watch.go"
	refusesClusters = "case s.sharded:"
)

// measureShardedUpdates measures both in turns.
func (b *bench) measureShardedUpdates(ctx context.Context) (r *shardedUpdates, err error) {
	db, err := openModel(ctx, b.dir, "-shards", "2")
	if err != nil {
		return nil, err
	}
	without := &replicaLayout{name: "tail", label: "without", replicas: 2, listens: true}
	with := &replicaLayout{name: "stream", label: "with", replicas: 2, listens: true}
	defer func() {
		err = errors.Join(err, without.stop(), with.stop(), db.close(context.WithoutCancel(ctx), without.name, with.name))
	}()
	if with.binary, err = b.buildFollowing(ctx); err != nil {
		return nil, err
	}
	for _, l := range []*replicaLayout{without, with} {
		if err := b.launchReplicas(ctx, db, l); err != nil {
			return nil, err
		}
	}
	var first, later []delayPair
	for round := range b.rounds {
		f, l, err := b.compareRound(ctx, without, with, round)
		if err != nil {
			return nil, err
		}
		first, later = append(first, f), append(later, l)
	}
	return &shardedUpdates{First: compareDelays(first), Later: compareDelays(later)}, nil
}

// delayPair holds the delays of one round.
type delayPair struct{ without, with delaySample }

// compareRound votes on both layouts, beginning with another one each time.
func (b *bench) compareRound(ctx context.Context, without, with *replicaLayout, round int) (first, later delayPair, err error) {
	measure := func(l *replicaLayout, first, later *delaySample) {
		prefix := fmt.Sprintf("round%d", round)
		if err == nil {
			*first, err = b.measureDelay(ctx, l.programs[0], l.programs[1], prefix, 0, comparedPolls, comparedPolls, comparedPause)
		}
		if err == nil {
			*later, err = b.measureDelay(ctx, l.programs[0], l.programs[1], prefix, comparedPolls, comparedPolls*comparedVotes, comparedPolls, comparedPause)
		}
		b.logf("updates    round %d of %d, %s the change stream: p50 %.0f ms, later votes %.0f ms", round+1, b.rounds, l.label, first.P50/1e3, later.P50/1e3)
	}
	if round%2 == 0 {
		measure(without, &first.without, &later.without)
	}
	measure(with, &first.with, &later.with)
	if round%2 == 1 {
		measure(without, &first.without, &later.without)
	}
	return first, later, err
}

func compareDelays(rounds []delayPair) comparedDelays {
	medians := func(of func(delayPair) delaySample) delaySample {
		return delaySample{
			P50: median(rounds, func(p delayPair) float64 { return of(p).P50 }),
			P99: median(rounds, func(p delayPair) float64 { return of(p).P99 }),
			Max: median(rounds, func(p delayPair) float64 { return of(p).Max }),
		}
	}
	return comparedDelays{
		Without:  medians(func(p delayPair) delaySample { return p.without }),
		With:     medians(func(p delayPair) delaySample { return p.with }),
		P50Ratio: median(rounds, func(p delayPair) float64 { return p.without.P50 / p.with.P50 }),
		MaxRatio: median(rounds, func(p delayPair) float64 { return p.without.Max / p.with.Max }),
	}
}

// buildFollowing builds the program with an edit by which it follows the change stream of a
// sharded cluster as it follows that of a replica set.
func (b *bench) buildFollowing(ctx context.Context) (binary string, err error) {
	changed, err := followClusters(".")
	if err != nil {
		return "", err
	}
	dir := filepath.Join(b.dir, "following")
	file, err := overlay.WriteFiles(dir, changed)
	if err != nil {
		return "", err
	}
	return child.BuildProgram(ctx, dir, nil, "-overlay", file)
}

// followClusters returns the edited file by its path.
func followClusters(root string) (map[string]string, error) {
	path, err := filepath.Abs(filepath.Join(root, watchFile))
	if err != nil {
		return nil, err
	}
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if n := strings.Count(string(source), refusesClusters); n != 1 {
		return nil, fmt.Errorf("%s has %q %d times, want once", watchFile, refusesClusters, n)
	}
	return map[string]string{path: strings.Replace(string(source), refusesClusters, "case false:", 1)}, nil
}

func (r *shardedUpdates) write(b *strings.Builder) {
	b.WriteString("Live updates through another program over the model of a sharded cluster, ms from before the vote, medians of rounds in turns:\n")
	for _, l := range []struct {
		label string
		comparedDelays
	}{{"a poll's first vote", r.First}, {"later votes", r.Later}} {
		fmt.Fprintf(b, "  %-20s p50 %.0f, max %.0f; if the programs followed the change stream: p50 %.0f, max %.0f; the first to the second: %.2f and %.2f (wanted: at most 1)\n", l.label,
			l.Without.P50/1e3, l.Without.Max/1e3, l.With.P50/1e3, l.With.Max/1e3, l.P50Ratio, l.MaxRatio)
	}
	b.WriteByte('\n')
}
