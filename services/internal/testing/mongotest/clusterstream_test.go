package mongotest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/acclaim-dev/acclaim/services/internal/testing/mongotest"
)

// The change stream of a cluster has the events of all shards in the order of their times, and
// none before the config servers have gone past its time.
func TestChangeStreamOfCluster(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // it takes a second or two
	defer cancel()
	set := mongotest.StartReplicaSet(t, 3, mongotest.ReplicaTiming{})
	router := set.NewRouter("SINGLE_SHARD", mongotest.StartReplicaSet(t, 3, mongotest.ReplicaTiming{}))
	client, err := mongo.Connect(options.Client().ApplyURI(router.URI()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Disconnect(context.WithoutCancel(ctx)) }()
	chunks := client.Database("some").Collection("chunks")
	changes, err := client.Database("some").Watch(ctx, mongo.Pipeline{
		{{Key: "$match", Value: bson.D{{Key: "ns.coll", Value: bson.D{{Key: "$in", Value: bson.A{"chunks"}}}}}}},
	}, options.ChangeStream().SetMaxAwaitTime(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = changes.Close(context.WithoutCancel(ctx)) }()

	var want, got []string
	shards, begun := map[int]bool{}, time.Now()
	insert := func() { // each is on the shard of its stream
		name := fmt.Sprint("stream", len(want))
		shards[router.ShardOf(name)] = true
		if _, err := chunks.InsertOne(ctx, bson.D{{Key: "_id", Value: name}, {Key: "stream", Value: name}}); err != nil {
			t.Fatal(err)
		}
		want = append(want, name)
	}
	for range 10 {
		insert()
	}
	for len(got) < 10 {
		if !changes.TryNext(ctx) {
			insert() // so that no shard is idle
			if changes.Err() != nil || ctx.Err() != nil {
				t.Fatalf("after %d events: %v, %v", len(got), changes.Err(), ctx.Err())
			}
			continue
		}
		if len(got) == 0 && time.Now().Unix() == begun.Unix() {
			t.Error("an event came in the second in which it happened")
		}
		id, _ := changes.Current.Lookup("documentKey", "_id").StringValueOK()
		got = append(got, id)
	}
	if diff := cmp.Diff(want[:len(got)], got); diff != "" || len(shards) != 2 {
		t.Errorf("of %d shards (-want +got):\n%s", len(shards), diff)
	}
}
