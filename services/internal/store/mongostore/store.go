// Package mongostore keeps streams and documents in MongoDB, or in any server
// that speaks its protocol. README.md beside it describes the collections and
// how they shard.
//
// It relies on one property of a server: an insert is atomic, and a unique index
// refuses the second of two. There are no updates of essential data, no locks and,
// but for writes of several documents where the server has them, no transactions.
// So a write that the driver or a server repeats changes nothing: the second
// attempt is refused, and the callers find their own ids in the stored record.
//
// The package may not know a domain. It writes no log lines; its errors never
// contain the URI.
package mongostore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/acclaim-dev/acclaim/services/internal/cluster/peer"
	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

var (
	_ stream.Store    = (*Store)(nil)
	_ document.Store  = (*Store)(nil)
	_ peer.Membership = (*Store)(nil)
)

// defaultDatabase is used when the URI names none.
const defaultDatabase = "acclaim"

// Time-outs of the driver, unless the URI sets others.
const (
	operationTimeout = 5 * time.Second
	selectionTimeout = 2 * time.Second
)

// defaultConnections limits the connections to one server, unless the URI sets
// another limit. It is the driver's own default.
const defaultConnections = 100

// Store is one process's access to the database.
type Store struct {
	client       *mongo.Client
	transactions bool
	sharded      bool // commands go through a mongos
	operations   *commandCounter
	queue        *connectionQueue
	// confirmed holds the time of the last heartbeat that a majority stored; nil before
	// the first.
	confirmed atomic.Pointer[time.Time]

	chunks, snapshots, parts, documents, members *mongo.Collection

	// several keeps writes of several documents apart from all others of this
	// process where there are no transactions.
	several sync.RWMutex
	pruning pruner
	appends *insertQueue
	barrier *readBarrier

	abandoned *abandonedSessions
}

// Open connects to the database in the URI and creates its indexes. Any number of
// processes may do so at once. An error of the kind Unavailable means that no
// server answers.
func Open(ctx context.Context, uri string) (*Store, error) {
	return OpenOver(ctx, uri, (&net.Dialer{}).DialContext)
}

// DialFunc opens a connection to a server, as [net.Dialer.DialContext] does.
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// DialContext implements [options.ContextDialer].
func (d DialFunc) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return d(ctx, network, address)
}

// OpenOver is Open over another network than the machine's.
func OpenOver(ctx context.Context, uri string, dial DialFunc) (*Store, error) {
	parsed, err := parseURI(uri)
	if err != nil {
		return nil, fmt.Errorf("MongoDB: %w", err)
	}
	s, err := connect(uri, cmp.Or(parsed.Database, defaultDatabase), dial)
	if err != nil {
		return nil, fmt.Errorf("MongoDB: %w", err)
	}
	if err := s.prepareDatabase(ctx); err != nil {
		return nil, errors.Join(openError(err, fmt.Errorf("MongoDB: %w", redactSecrets(parsed, err))), s.client.Disconnect(ctx))
	}
	return s, nil
}

func connect(uri, database string, dial DialFunc) (*Store, error) {
	counted := newCommandCounter()
	o := options.Client().
		SetTimeout(operationTimeout).
		SetServerSelectionTimeout(selectionTimeout).
		SetConnectTimeout(selectionTimeout).
		SetAppName("acclaim").
		SetDialer(dial).
		ApplyURI(uri).
		// A URI must not weaken the meaning of an acknowledgement.
		SetWriteConcern(&writeconcern.WriteConcern{W: "majority", Journal: new(true)}).
		SetReadConcern(readconcern.Majority()).
		SetReadPreference(readpref.Primary())
	waiting := &connectionQueue{connections: defaultConnections}
	if o.MaxPoolSize != nil {
		waiting.connections = int64(*o.MaxPoolSize)
	}
	o.SetMonitor(waiting.recordDurations(counted.commandMonitor())).SetPoolMonitor(waiting.poolMonitor())
	client, err := mongo.Connect(o)
	if err != nil {
		return nil, connectError(err)
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
	s.appends = newInsertQueue(*o.ServerSelectionTimeout, s.insertChunks)
	s.barrier = newReadBarrier(s.readLinearizable)
	s.abandoned = newAbandonedSessions(s.killSession)
	return s, nil
}

// prepareDatabase creates the indexes and detects the features of the server.
func (s *Store) prepareDatabase(ctx context.Context) error {
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
		name       string
		keys       bson.D
	}{
		{s.chunks, "stream_1_seq_1", bson.D{{Key: streamField, Value: 1}, {Key: "seq", Value: 1}}},
		{s.snapshots, "stream_1__id_-1", bson.D{{Key: streamField, Value: 1}, {Key: "_id", Value: -1}}},
		{s.parts, "stream_1_snapshot_1", bson.D{{Key: streamField, Value: 1}, {Key: "snapshot", Value: 1}}},
		{s.documents, "key_1_version_-1", newestFirst()},
	} {
		if err := ensureIndex(ctx, index.collection, index.name, index.keys); err != nil {
			return fmt.Errorf("index of %s: %w", index.collection.Name(), err)
		}
	}
	return s.checkShardKeys(ctx)
}

// indexTimeout limits how long the server may build an index, over data that exists.
const indexTimeout = time.Hour

// ensureIndex creates an index unless it exists. It looks first, because the creation of
// an index that exists waits for a majority all the same.
func ensureIndex(ctx context.Context, c *mongo.Collection, name string, keys bson.D) error {
	specifications, err := c.Indexes().ListSpecifications(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(specifications, func(i mongo.IndexSpecification) bool { return i.Name == name }) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, indexTimeout)
	defer cancel()
	_, err = c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: keys, Options: options.Index().SetName(name)})
	return err
}

// checkShardKeys returns an error where a sharded cluster spreads the records of one
// stream, or of one document, over several shards: it keeps an _id unique within a shard
// only. A mongos says so when it explains a query. It cannot say so while all records are
// on one shard.
func (s *Store) checkShardKeys(ctx context.Context) error {
	if !s.sharded {
		return nil
	}
	for c, field := range map[*mongo.Collection]string{s.chunks: streamField, s.documents: keyField} {
		var plan struct {
			Planner struct {
				Winner struct {
					Stage string `bson:"stage"`
				} `bson:"winningPlan"`
			} `bson:"queryPlanner"`
		}
		err := c.Database().RunCommand(ctx, bson.D{
			{Key: "explain", Value: bson.D{{Key: "find", Value: c.Name()}, {Key: "filter", Value: bson.D{{Key: field, Value: "x"}}}}},
			{Key: "verbosity", Value: "queryPlanner"},
		}).Decode(&plan)
		if err != nil {
			return fmt.Errorf("explain a query of %s: %w", c.Name(), err)
		}
		if strings.HasPrefix(plan.Planner.Winner.Stage, "SHARD_MERGE") {
			return fmt.Errorf("%w: %s must be sharded by %s alone, ranged or hashed", errShardKey, c.Name(), field)
		}
	}
	return nil
}

// errShardKey refuses a cluster that would accept two chunks with one sequence number.
var errShardKey = errors.New("the shard key is not that of the documentation")

// confirmationTimeout limits how long the database may go without confirming a heartbeat.
const confirmationTimeout = 5 * time.Second

// Ping returns an error if the database does not answer, or confirms no writes: a primary
// that no majority follows answers pings all the same.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.client.Ping(ctx, nil); err != nil {
		return unavailableError(err)
	}
	if last := s.confirmed.Load(); last != nil && time.Since(*last) > confirmationTimeout {
		return unavailableError(errUnconfirmed)
	}
	return nil
}

var errUnconfirmed = errors.New("no majority of the database has confirmed a heartbeat for some seconds")

// Operations returns how many commands were sent to the server, by name.
func (s *Store) Operations() map[string]uint64 { return s.operations.counts() }

// Close ends what runs in the background and disconnects.
func (s *Store) Close(ctx context.Context) error {
	s.pruning.close()
	s.appends.close()
	s.barrier.close()
	s.abandoned.close()
	// With a deadline the driver spins while a connection is in use (2.9.3, pool.close), as
	// one is that waits for the rest of an answer. All that uses them has ended.
	disconnecting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	return s.client.Disconnect(disconnecting)
}
