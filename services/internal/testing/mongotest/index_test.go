package mongotest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/acclaim-dev/acclaim/services/internal/testing/mongotest"
)

// Tests that look records up by their _id must not read all there are, in any
// collection, of whatever database and whenever it was made.
func TestAnIDIsLookedUpInAnIndex(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // it takes a second
	defer cancel()
	uri := mongotest.StartServer(t, t.TempDir())
	client, err := mongo.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Disconnect(t.Context()) }()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for _, name := range []string{"first.some", "first.more", "second.some"} {
		database, collection, _ := strings.Cut(name, ".")
		db := client.Database(database)
		if _, err := db.Collection(collection).InsertOne(ctx, bson.D{{Key: "_id", Value: "a"}}); err != nil {
			t.Fatal(err)
		}
		find := bson.D{{Key: "find", Value: collection}, {Key: "filter", Value: bson.D{{Key: "_id", Value: "a"}}}}
		for plan := ""; !strings.Contains(plan, "USING INDEX"); <-again.C {
			// Explaining alone does not make SQLite notice that there is a new index.
			if err := db.RunCommand(ctx, find).Err(); err != nil {
				t.Fatal(err)
			}
			explained, err := db.RunCommand(ctx, bson.D{{Key: "explain", Value: find}}).Raw()
			if err != nil {
				t.Fatal(err)
			}
			plan = explained.Lookup("queryPlanner").String()
		}
	}
}
