package mongostore

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

const (
	// transactionLifetime is the time after which a server ends a transaction by itself
	// (transactionLifetimeLimitSeconds, by default).
	transactionLifetime = time.Minute
	// maxAbandoned limits the sessions that wait to be ended. The server ends the
	// transactions of others.
	maxAbandoned = 64
)

// abandonedSessions ends sessions whose transaction may be open. Its locks would keep all
// processes from its documents for transactionLifetime, and the driver does not report
// whether its abort arrived.
type abandonedSessions struct {
	ctx    context.Context
	cancel context.CancelFunc
	places chan struct{}
	work   sync.WaitGroup
	kill   func(ctx context.Context, session bson.Raw) error
}

func newAbandonedSessions(kill func(context.Context, bson.Raw) error) *abandonedSessions {
	ctx, cancel := context.WithCancel(context.Background())
	return &abandonedSessions{ctx: ctx, cancel: cancel, places: make(chan struct{}, maxAbandoned), kill: kill}
}

func (a *abandonedSessions) close() {
	a.cancel()
	a.work.Wait()
}

// end ends a session in the background.
func (a *abandonedSessions) end(session *mongo.Session) {
	select {
	case a.places <- struct{}{}:
	default:
		session.EndSession(a.ctx)
		return
	}
	a.work.Go(func() {
		defer func() { <-a.places }()
		defer session.EndSession(a.ctx)
		// Again after a while: what was under way to the server may have arrived later.
		for range 2 {
			if a.killOnce(session.ID()) != nil {
				return
			}
			select {
			case <-time.After(operationTimeout):
			case <-a.ctx.Done():
				return
			}
		}
	})
}

// killOnce kills a session once the server can be reached.
func (a *abandonedSessions) killOnce(session bson.Raw) error {
	_, err := backoff.Retry(a.ctx, func() (struct{}, error) {
		err := a.kill(a.ctx, session)
		if said, ok := errors.AsType[mongo.ServerError](err); ok && (isDenied(err) || said.HasErrorCode(commandNotFound)) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithMaxElapsedTime(transactionLifetime))
	return err
}

// Codes of a server's answers.
const (
	commandNotFound = 59
	writeConflict   = 112
)

// killSession ends a session at the server, and with it its transaction.
func (s *Store) killSession(ctx context.Context, session bson.Raw) error {
	return s.client.Database("admin").RunCommand(ctx, bson.D{{Key: "killSessions", Value: bson.A{session}}}).Err()
}

// isWriteConflict reports whether a transaction has ended because another one holds one of
// its documents. Nothing of it is stored.
func isWriteConflict(err error) bool {
	said, ok := errors.AsType[mongo.ServerError](err)
	return ok && said.HasErrorCode(writeConflict)
}
