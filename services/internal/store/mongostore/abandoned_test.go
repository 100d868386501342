package mongostore

import (
	"context"
	"errors"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/mongotest"
)

// A transaction that a process left open keeps others from its documents, who receive that
// nothing is stored, until its session is killed.
func TestTransactionThatWasLeftOpen(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) string{
		"replica set": func(t *testing.T) string { return mongotest.StartReplicaSet(t, 3, mongotest.ReplicaTiming{}).URI() },
		"router": func(t *testing.T) string {
			other := mongotest.StartReplicaSet(t, 3, mongotest.ReplicaTiming{})
			return mongotest.StartReplicaSet(t, 3, mongotest.ReplicaTiming{}).NewRouter("SINGLE_SHARD", other).URI()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			uri := open(t)
			s, gone := mustOpen(t, uri+"&timeoutMS=2000"), mustOpen(t, uri)
			defer mustClose(t, gone)
			defer mustClose(t, s)
			session, err := gone.client.StartSession()
			if err != nil {
				t.Fatal(err)
			}
			if err := session.StartTransaction(); err != nil {
				t.Fatal(err)
			}
			if err := gone.tryInsert(mongo.NewSessionContext(t.Context(), session), version("b", 0), putMark{}); err != nil {
				t.Fatal(err)
			}
			if err := s.Put(t.Context(), version("a", 0), version("b", 0)); fault.KindOf(err) != fault.Unavailable {
				t.Errorf("put: %v, want that nothing is stored", err)
			}
			if err := gone.killSession(t.Context(), session.ID()); err != nil {
				t.Fatal(err)
			}
			if err := s.Put(t.Context(), version("a", 0), version("b", 0)); err != nil {
				t.Error(err)
			}
		})
	}
}

// An abandoned session is killed once the server can be reached, or at once given up where
// the server does not know how.
func TestAbandonedSessionIsKilled(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, mongotest.StartReplicaSet(t, 3, mongotest.ReplicaTiming{}).URI())
	t.Cleanup(func() { mustClose(t, s) })
	for name, test := range map[string]struct {
		failures []error
		calls    int // before it is given up or has succeeded
	}{
		"unreachable": {[]error{errors.New("no server"), errors.New("no server")}, 3},
		"unknown":     {[]error{mongo.CommandError{Code: commandNotFound}, errors.New("not called")}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			session, err := s.client.StartSession()
			if err != nil {
				t.Fatal(err)
			}
			killed, calls := make(chan struct{}, 1), 0
			sessions := newAbandonedSessions(func(_ context.Context, id bson.Raw) error {
				if !slices.Equal(id, session.ID()) {
					t.Errorf("killed %v", id)
				}
				if calls++; calls == test.calls {
					killed <- struct{}{}
				}
				if calls <= len(test.failures) {
					return test.failures[calls-1]
				}
				return nil
			})
			sessions.end(session)
			<-killed
			sessions.close()
			if calls != test.calls {
				t.Errorf("%d calls, want %d", calls, test.calls)
			}
		})
	}
}
