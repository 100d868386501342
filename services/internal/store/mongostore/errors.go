package mongostore

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// unavailableError wraps a failure after which the caller may retry as
// fault.Unavailable. Where the database denies the access retrying is of no use: that is
// fault.Storage.
func unavailableError(err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case isDenied(err):
		return fault.Wrap(fault.Storage, err, "the database denies the access")
	}
	return fault.Wrap(fault.Unavailable, err, "the database cannot be reached")
}

// openError classifies an error of a server while the store is opened. Only wrong
// credentials and shard keys are permanent: servers that elect a primary, start or shut down say so with
// many codes. shown is err without secrets.
func openError(err, shown error) error {
	if isDenied(err) || errors.Is(err, errShardKey) {
		return shown
	}
	return fault.Wrap(fault.Unavailable, shown, "the database cannot be reached")
}

// isDenied reports whether a server denies the access to this user, or there is no such
// user.
func isDenied(err error) bool {
	said, ok := errors.AsType[mongo.ServerError](err)
	const unauthorized, authenticationFailed, atlas = 13, 18, 8000
	return ok && (said.HasErrorCode(unauthorized) || said.HasErrorCode(authenticationFailed) ||
		said.HasErrorCodeWithMessage(atlas, "auth") || said.HasErrorCodeWithMessage(atlas, "not allowed"))
}

// writeError classifies a failed write. It is fault.Unavailable if certainly
// nothing was stored.
func writeError(err error) error {
	if neverSent(err) {
		return unavailableError(err)
	}
	return err
}

// neverSent reports whether no server can have received the command: no server
// could be selected, or no connection obtained. After any later failure a server
// may have received it, even after a refusal, which may answer the second attempt
// of a write whose first one succeeded.
func neverSent(err error) bool {
	if _, ok := errors.AsType[topology.ServerSelectionError](err); ok {
		return true
	}
	if _, ok := errors.AsType[topology.WaitQueueTimeoutError](err); ok {
		return true
	}
	return errors.Is(err, mongo.ErrClientDisconnected)
}
