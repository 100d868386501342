package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// updatesCase names the measurement of live updates through another program.
const updatesCase = "updates"

// updatesResult has the delays from a vote through one program to its update through
// another one over the same database.
type updatesResult struct {
	Database string `json:"database"`
	// First are those of polls without votes until then, Later those of polls with some.
	First delaySample `json:"first"`
	Later delaySample `json:"later"`
}

// Each poll has had its last update long before the next one: updates of a poll that come
// together are one.
const (
	updatedPolls  = 40
	updatesOfPoll = 4 // the first one included
)

// measureUpdates measures live updates over models of databases that real ones resemble:
// a replica set, whose change stream the programs follow, and a sharded cluster, whose
// change stream would come later than what they tell one another.
func (b *bench) measureUpdates(ctx context.Context) (results []updatesResult, err error) {
	for _, model := range []struct{ database, shards string }{{"replica set", "1"}, {"sharded cluster", "2"}} {
		r, err := b.updatesOver(ctx, model.database, "-shards", model.shards)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", model.database, err)
		}
		results = append(results, r)
	}
	return results, nil
}

func (b *bench) updatesOver(ctx context.Context, name string, args ...string) (r updatesResult, err error) {
	db, err := openModel(ctx, b.dir, args...)
	if err != nil {
		return r, err
	}
	l := &replicaLayout{name: "updates", label: name, replicas: 2, listens: true}
	defer func() { err = errors.Join(err, l.stop(), db.close(context.WithoutCancel(ctx), l.name)) }()
	if err := b.launchReplicas(ctx, db, l); err != nil {
		return r, err
	}
	b.logf("updates    %d votes in %d polls over a %s", updatedPolls*updatesOfPoll, updatedPolls, name)
	r.Database = name
	if r.First, err = b.measureDelay(ctx, l.programs[0], l.programs[1], "updates", 0, updatedPolls, updatedPolls); err != nil {
		return r, err
	}
	r.Later, err = b.measureDelay(ctx, l.programs[0], l.programs[1], "updates", updatedPolls, updatedPolls*updatesOfPoll, updatedPolls)
	return r, err
}

func writeUpdates(b *strings.Builder, results []updatesResult) {
	if len(results) == 0 {
		return
	}
	fmt.Fprintf(b, "Live updates through another program, over models; ms from before the vote (target over a replica set: p50 50, p99 300):\n")
	for _, r := range results {
		fmt.Fprintf(b, "  %-16s a poll's first vote: p50 %.0f, p99 %.0f; later votes: p50 %.0f, p99 %.0f, max %.0f\n", r.Database,
			r.First.P50/1e3, r.First.P99/1e3, r.Later.P50/1e3, r.Later.P99/1e3, r.Later.Max/1e3)
	}
	b.WriteByte('\n')
}
