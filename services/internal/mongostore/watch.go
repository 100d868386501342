package mongostore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Watch calls touch with the place of each chunk and of each version of a document
// that any process inserts, soon after that is durable, until ctx is done. It
// follows the database's change stream. watching is told nil when touch hears of all
// that is inserted from then on, what was inserted before perhaps missed, and why
// when it may not hear of it. Both are called by one goroutine, and return at once.
//
// Watch returns before ctx is done only where it makes no sense to go on trying: the
// server has no change streams, or this user may not read them.
func (s *Store) Watch(ctx context.Context, touch func(name string, place uint64), watching func(error)) error {
	if !s.transactions { // the same servers have both
		return errors.New("the database is neither a replica set nor sharded: it has no change streams")
	}
	w := watch{
		collections: []*mongo.Collection{s.chunks, s.documents},
		touch:       touch, watching: watching,
		pauses: backoff.NewExponentialBackOff(),
	}
	_, err := backoff.Retry(ctx, func() (struct{}, error) { return struct{}{}, w.follow(ctx) },
		backoff.WithBackOff(w.pauses), backoff.WithMaxElapsedTime(0),
		backoff.WithNotify(func(err error, _ time.Duration) { watching(err) }))
	if ctx.Err() == nil {
		return fmt.Errorf("the database gives this user no change stream: %w", err)
	}
	return nil
}

const (
	// awaitTime is how long the server holds back the answer that there is nothing
	// new. It is in no way of what is new.
	awaitTime = time.Second
	// eventsAtOnce is how many events one answer has at most. Of the same stream or
	// document only the last is told.
	eventsAtOnce = 1000
)

// watch follows a change stream across broken connections.
type watch struct {
	collections []*mongo.Collection
	touch       func(name string, place uint64)
	watching    func(error)
	pauses      *backoff.ExponentialBackOff
	token       bson.Raw // to go on from; nil: from now
}

// pipeline keeps all but the _ids of what is inserted on the server. The event's
// own _id, which the driver needs, comes with any projection.
func (w *watch) pipeline() mongo.Pipeline {
	var names []string
	for _, c := range w.collections {
		names = append(names, c.Name())
	}
	return mongo.Pipeline{
		{{Key: "$match", Value: bson.D{
			{Key: "operationType", Value: "insert"},
			{Key: "ns.coll", Value: bson.D{{Key: "$in", Value: names}}},
		}}},
		{{Key: "$project", Value: bson.D{{Key: "documentKey._id", Value: 1}}}},
	}
}

// follow opens the change stream where it was left, or at its end, and tells of
// what it says until that fails.
func (w *watch) follow(ctx context.Context) error {
	o := options.ChangeStream().SetMaxAwaitTime(awaitTime).SetBatchSize(eventsAtOnce)
	if w.token != nil {
		o.SetResumeAfter(w.token)
	}
	changes, err := w.collections[0].Database().Watch(ctx, w.pipeline(), o)
	if err != nil {
		if w.token == nil && refused(err) {
			return backoff.Permanent(err)
		}
		return w.failed(err)
	}
	defer func() { _ = changes.Close(context.WithoutCancel(ctx)) }()
	for w.watching(nil); ; w.pauses.Reset() {
		w.token = changes.ResumeToken()
		if err := w.read(ctx, changes); err != nil {
			return w.failed(err)
		}
	}
}

// read tells of the events of one answer.
func (w *watch) read(ctx context.Context, changes *mongo.ChangeStream) error {
	ctx, cancel := context.WithTimeout(ctx, awaitTime+operationTimeout)
	defer cancel()
	places := map[string]uint64{}
	for more := changes.TryNext(ctx); more; more = changes.RemainingBatchLength() > 0 && changes.TryNext(ctx) {
		key, _ := changes.Current.Lookup("documentKey", "_id").StringValueOK()
		if name, place, ok := unnumbered(key); ok {
			places[name] = max(places[name], place)
		}
	}
	for name, place := range places {
		w.touch(name, place)
	}
	if err := changes.Err(); err != nil {
		return err
	}
	if changes.ID() == 0 {
		return errEnded
	}
	return nil
}

// errEnded is that of a stream that the server has ended, as it does when the
// database is dropped.
var errEnded = errors.New("the server has ended the change stream")

// failed forgets where to go on unless the stream broke off for reasons of the
// network. A server that says no to a token does so because what came after is gone,
// or can't be told of.
func (w *watch) failed(err error) error {
	said, ok := errors.AsType[mongo.CommandError](err)
	if errors.Is(err, errEnded) || ok && !said.HasErrorLabel("NetworkError") {
		w.token = nil
	}
	return err
}

// refused reports whether a server will never open a change stream.
func refused(err error) bool {
	said, ok := errors.AsType[mongo.CommandError](err)
	return ok && slices.Contains([]int32{
		9,     // FailedToParse
		13,    // Unauthorized
		59,    // CommandNotFound
		115,   // CommandNotSupported
		238,   // NotImplemented
		303,   // what other databases say of features that they lack
		40324, // unrecognised pipeline stage
		40573, // only on replica sets
	}, said.Code)
}

// unnumbered is the reverse of numbered.
func unnumbered(key string) (name string, n uint64, ok bool) {
	i := strings.LastIndexByte(key, '#')
	if i < 0 {
		return "", 0, false
	}
	n, err := strconv.ParseUint(key[i+1:], 10, 64)
	return key[:i], n, err == nil
}
