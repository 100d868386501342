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

// Watch calls notify with the sequence number of each chunk and the version of each
// document that any process inserts, soon after the insert is durable, until ctx is
// done. It follows the database's change stream. It calls watching with nil when
// all inserts from then on will be reported (earlier ones may have been missed),
// and with an error when inserts may be missed. One goroutine makes both calls,
// which must not block.
//
// Watch returns before ctx is done only where retrying cannot help: the server has
// no change streams or slow ones, or this user may not read them.
func (s *Store) Watch(ctx context.Context, notify func(name string, place uint64), watching func(error)) error {
	switch {
	case s.sharded:
		// An event comes when every shard and the config servers have gone past its time:
		// after a second at best, and up to 10 with an idle shard.
		return errors.New("on a sharded cluster the change stream comes late")
	case !s.transactions: // servers have both or neither
		return errors.New("the database is no replica set: it has no change streams")
	}
	w := changeWatcher{
		collections: []*mongo.Collection{s.chunks, s.documents},
		notify:      notify, watching: watching,
		pauses: backoff.NewExponentialBackOff(),
	}
	_, err := backoff.Retry(ctx, func() (struct{}, error) { return struct{}{}, w.followStream(ctx) },
		backoff.WithBackOff(w.pauses), backoff.WithMaxElapsedTime(0),
		backoff.WithNotify(func(err error, _ time.Duration) { watching(err) }))
	if ctx.Err() == nil {
		return fmt.Errorf("the database gives this user no change stream: %w", err)
	}
	return nil
}

const (
	// awaitTime limits the server's wait for an event before it answers without one.
	// It does not delay new events.
	awaitTime = time.Second
	// eventsAtOnce is the maximum number of events in one answer. Only the last of
	// each stream or document is reported.
	eventsAtOnce = 1000
)

// changeWatcher follows a change stream across broken connections.
type changeWatcher struct {
	collections []*mongo.Collection
	notify      func(name string, place uint64)
	watching    func(error)
	pauses      *backoff.ExponentialBackOff
	token       bson.Raw // position to resume from; nil: now
}

// pipeline selects inserts and projects them to their _ids on the server. The
// event's own _id, which the driver needs, comes with any projection.
func (w *changeWatcher) pipeline() mongo.Pipeline {
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

// followStream opens the change stream at the last position, or at its end, and
// reports its events until it fails.
func (w *changeWatcher) followStream(ctx context.Context) error {
	o := options.ChangeStream().SetMaxAwaitTime(awaitTime).SetBatchSize(eventsAtOnce)
	if w.token != nil {
		o.SetResumeAfter(w.token)
	}
	changes, err := w.collections[0].Database().Watch(ctx, w.pipeline(), o)
	if err != nil {
		if w.token == nil && isPermanent(err) {
			return backoff.Permanent(err)
		}
		return w.resetToken(err)
	}
	defer func() { _ = changes.Close(context.WithoutCancel(ctx)) }()
	for w.watching(nil); ; w.pauses.Reset() {
		w.token = changes.ResumeToken()
		if err := w.readAnswer(ctx, changes); err != nil {
			return w.resetToken(err)
		}
	}
}

// readAnswer reports the events of one answer.
func (w *changeWatcher) readAnswer(ctx context.Context, changes *mongo.ChangeStream) error {
	ctx, cancel := context.WithTimeout(ctx, awaitTime+operationTimeout)
	defer cancel()
	places := map[string]uint64{}
	for more := changes.TryNext(ctx); more; more = changes.RemainingBatchLength() > 0 && changes.TryNext(ctx) {
		key, _ := changes.Current.Lookup("documentKey", "_id").StringValueOK()
		if name, place, ok := parseNumberedKey(key); ok {
			places[name] = max(places[name], place)
		}
	}
	for name, place := range places {
		w.notify(name, place)
	}
	if err := changes.Err(); err != nil {
		return err
	}
	if changes.ID() == 0 {
		return errEnded
	}
	return nil
}

// errEnded marks a stream that the server closed, as it does when the database is
// dropped.
var errEnded = errors.New("the server has ended the change stream")

// resetToken drops the resume token if the server refused it, as it does when the events
// after it are gone or cannot be sent. Errors of the driver itself, which have no code, and
// those of a failover say nothing about the token.
func (w *changeWatcher) resetToken(err error) error {
	said, ok := errors.AsType[mongo.CommandError](err)
	if errors.Is(err, errEnded) || ok && said.Code != 0 && !said.HasErrorLabel("ResumableChangeStreamError") {
		w.token = nil
	}
	return err
}

// isPermanent reports whether a server will never open a change stream.
func isPermanent(err error) bool {
	said, ok := errors.AsType[mongo.CommandError](err)
	return ok && slices.Contains([]int32{
		9,     // FailedToParse
		13,    // Unauthorized
		59,    // CommandNotFound
		115,   // CommandNotSupported
		238,   // NotImplemented
		303,   // other databases, for features that they lack
		40324, // unrecognised pipeline stage
		40573, // only on replica sets
	}, said.Code)
}

// parseNumberedKey is the inverse of numberedKey.
func parseNumberedKey(key string) (name string, n uint64, ok bool) {
	i := strings.LastIndexByte(key, '#')
	if i < 0 {
		return "", 0, false
	}
	n, err := strconv.ParseUint(key[i+1:], 10, 64)
	return key[:i], n, err == nil
}
