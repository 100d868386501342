package mongostore

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// unavailable is what a caller hears of a read that failed: it may ask again.
func unavailable(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return fault.Wrap(fault.Unavailable, err, "the database cannot be reached")
}

// unopened is what a caller hears of a database that cannot be opened, told is
// what may be said of err.
func unopened(err, told error) error {
	if neverSent(err) || mongo.IsNetworkError(err) || mongo.IsTimeout(err) {
		return fault.Wrap(fault.Unavailable, told, "the database cannot be reached")
	}
	return told
}

// written is what a caller hears of a write that failed: whether it is certain
// that nothing was stored.
func written(err error) error {
	if neverSent(err) {
		return unavailable(err)
	}
	return err
}

// neverSent reports whether no server can have seen the command: none could be
// selected, or no connection to it be had. Anything later leaves that open, a
// refusal by a server included: it may come from the second attempt of a write
// whose first one succeeded.
func neverSent(err error) bool {
	if _, ok := errors.AsType[topology.ServerSelectionError](err); ok {
		return true
	}
	if _, ok := errors.AsType[topology.WaitQueueTimeoutError](err); ok {
		return true
	}
	return errors.Is(err, mongo.ErrClientDisconnected)
}
