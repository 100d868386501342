// Package mongostore keeps streams and documents in MongoDB, or in any server
// that speaks its protocol. README.md beside it describes the collections and
// how they shard.
//
// The one thing it asks of a server is that an insert is atomic and that a
// unique index refuses the second of two. There are no updates of anything that
// counts, no locks and, but for writes of several documents where the server has
// them, no transactions. So a write that the driver or a server repeats changes
// nothing: the second attempt is refused, and the callers find their own ids in
// what is there.
//
// The package may not know a domain. It writes no log lines; its errors never
// contain the URI.
package mongostore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/acclaim-dev/acclaim/services/internal/document"
	"github.com/acclaim-dev/acclaim/services/internal/peer"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

var (
	_ stream.Store   = (*Store)(nil)
	_ document.Store = (*Store)(nil)
	_ peer.Registry  = (*Store)(nil)
)

// defaultDatabase is used when the URI names none.
const defaultDatabase = "acclaim"

// How long the driver waits, unless the URI says otherwise.
const (
	operationTimeout = 5 * time.Second
	selectionTimeout = 2 * time.Second
)

// defaultConnections is how many there are to one server at most, unless the URI
// says otherwise. It is the driver's own default.
const defaultConnections = 100

// Store is one process's way to the database.
type Store struct {
	client       *mongo.Client
	transactions bool
	sharded      bool // what is asked goes through a mongos
	operations   *operations
	queue        *queue

	chunks, snapshots, parts, documents, members *mongo.Collection

	// several keeps writes of several documents apart from all others of this
	// process where there are no transactions.
	several sync.RWMutex
	pruning pruner
	appends *appends
}

// Open connects to the database that the URI names and makes sure of its
// indexes. Any number of processes may do so at once. An error of the kind
// Unavailable says that no server answers.
func Open(ctx context.Context, uri string) (*Store, error) {
	parsed, err := parse(uri)
	if err != nil {
		return nil, fmt.Errorf("MongoDB: %w", err)
	}
	s, err := connect(uri, cmp.Or(parsed.Database, defaultDatabase))
	if err != nil {
		return nil, fmt.Errorf("MongoDB: %w", err)
	}
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(unopened(err, fmt.Errorf("MongoDB: %w", redact(parsed, err))), s.client.Disconnect(ctx))
	}
	return s, nil
}

func connect(uri, database string) (*Store, error) {
	counted := newOperations()
	o := options.Client().
		SetTimeout(operationTimeout).
		SetServerSelectionTimeout(selectionTimeout).
		SetConnectTimeout(selectionTimeout).
		SetAppName("acclaim").
		ApplyURI(uri).
		// What acknowledged means is not for a URI to weaken.
		SetWriteConcern(&writeconcern.WriteConcern{W: "majority", Journal: new(true)}).
		SetReadConcern(readconcern.Majority()).
		SetReadPreference(readpref.Primary()).
		SetRetryWrites(true)
	waiting := &queue{connections: defaultConnections}
	if o.MaxPoolSize != nil {
		waiting.connections = int64(*o.MaxPoolSize)
	}
	o.SetMonitor(waiting.listen(counted.monitor())).SetPoolMonitor(waiting.pool())
	client, err := mongo.Connect(o)
	if err != nil {
		return nil, unusable(err)
	}
	db := client.Database(database)
	s := &Store{
		client:     client,
		operations: counted,
		queue:      waiting,
		chunks:     db.Collection("chunks"),
		snapshots:  db.Collection("snapshots"),
		parts:      db.Collection("snapshot_parts"),
		documents:  db.Collection("documents"),
		members:    db.Collection("members"),
		pruning:    newPruner(),
	}
	s.appends = newAppends(*o.ServerSelectionTimeout, s.insertChunks)
	return s, nil
}

// prepare makes the indexes and asks what the server can do.
func (s *Store) prepare(ctx context.Context) error {
	var hello struct {
		SetName string `bson:"setName"`
		Msg     string `bson:"msg"` // isdbgrid: a mongos
	}
	if err := s.client.Database("admin").RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&hello); err != nil {
		return err
	}
	s.sharded = hello.Msg == "isdbgrid"
	s.transactions = hello.SetName != "" || s.sharded
	for _, index := range []struct {
		collection *mongo.Collection
		keys       bson.D
	}{
		{s.chunks, bson.D{{Key: "stream", Value: 1}, {Key: "seq", Value: 1}}},
		{s.snapshots, bson.D{{Key: "stream", Value: 1}, {Key: "_id", Value: -1}}},
		{s.parts, bson.D{{Key: "stream", Value: 1}, {Key: "snapshot", Value: 1}}},
		{s.documents, bson.D{{Key: "key", Value: 1}, {Key: "version", Value: -1}}},
	} {
		if _, err := index.collection.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: index.keys}); err != nil {
			return fmt.Errorf("index of %s: %w", index.collection.Name(), err)
		}
	}
	return nil
}

// Ping reports whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.client.Ping(ctx, nil); err != nil {
		return unavailable(err)
	}
	return nil
}

// Operations returns how many commands were sent to the server, by name.
func (s *Store) Operations() map[string]uint64 { return s.operations.counts() }

// Close ends what runs in the background and disconnects.
func (s *Store) Close(ctx context.Context) error {
	s.pruning.close()
	s.appends.close()
	return s.client.Disconnect(ctx)
}
