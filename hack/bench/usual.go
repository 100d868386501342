package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	mongooptions "go.mongodb.org/mongo-driver/v2/mongo/options"
	"golang.org/x/sync/errgroup"
)

// usualDatabase is the name of measureUsual's database.
const usualDatabase = "usual"

// usualWriters is the number of concurrent votes of the usual way. The MongoDB-wire server
// of hack/mongod does not survive many more updates at once.
const usualWriters = 32

// measureUsual votes the usual way for a time: each vote is an upsert of the
// voter's record, and its answer an aggregation over the poll's. There is no
// HTTP and no check of anything, so it is flattered.
func measureUsual(ctx context.Context, db *benchDatabase, d time.Duration, round int) (roundSample, error) {
	votes := db.client.Database(databaseName(usualDatabase)).Collection("votes")
	poll := fmt.Sprint("poll-", round)
	var number atomic.Int64
	start := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	histograms := newHistogram()
	for range usualWriters {
		group.Go(func() error {
			for time.Since(start) < d {
				n := number.Add(1)
				id := fmt.Sprintf("%s-%d", poll, n)
				_, err := votes.UpdateOne(ctx, bson.D{{Key: "_id", Value: id}},
					bson.D{{Key: "$set", Value: bson.D{{Key: "poll", Value: poll}, {Key: "value", Value: n % 32}}}},
					mongooptions.UpdateOne().SetUpsert(true))
				if err != nil {
					return err
				}
				if err := aggregateVotes(ctx, votes, poll); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return roundSample{}, err
	}
	return roundSample{requests: number.Load(), elapsed: time.Since(start), latency: histograms}, nil
}

func aggregateVotes(ctx context.Context, votes *mongo.Collection, poll string) error {
	cursor, err := votes.Aggregate(ctx, mongo.Pipeline{
		{{Key: "$match", Value: bson.D{{Key: "poll", Value: poll}}}},
		{{Key: "$group", Value: bson.D{
			{Key: "_id", Value: "$value"},
			{Key: "count", Value: bson.D{{Key: "$sum", Value: 1}}},
		}}},
	})
	if err != nil {
		return err
	}
	var groups []bson.M
	return cursor.All(ctx, &groups)
}
