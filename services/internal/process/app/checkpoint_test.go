package app_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/process/app"
	"github.com/acclaim-dev/acclaim/services/internal/testing/mongotest"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/transfer"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// voteInDatabase stores a vote and returns the scope of an export that has it.
func voteInDatabase(t *testing.T, config app.StoreConfig) transfer.Scope {
	t.Helper()
	store, closeStore, err := app.OpenStore(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	votes := voting.NewService(store, stream.SystemClock(), stream.Options{})
	poll := voting.Poll{Environment: "production", Extension: "quiz", Channel: "1", ID: "p"}
	if _, err := votes.Vote(t.Context(), poll, voting.Voter{OpaqueID: "U1"}, 1, 1); err != nil {
		t.Fatal(err)
	}
	if err := votes.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := closeStore(); err != nil {
		t.Fatal(err)
	}
	return transfer.Scope{Extension: poll.Extension, Environments: []string{poll.Environment}, Kinds: transfer.Kinds()}
}

// A command that reads a database begins again where an election interrupts it.
func TestReadStoreOverAnElection(t *testing.T) {
	t.Parallel()
	set := mongotest.StartReplicaSet(t, 3, mongotest.ReplicaTiming{})
	config := app.StoreConfig{MongoDBURI: set.URI() + "&timeoutMS=1000"}
	scope := voteInDatabase(t, config)
	var interrupted error
	heal := func(err error, _ time.Duration) {
		interrupted = err
		set.Heal()
	}
	reads, found := 0, transfer.Totals{}
	err := app.ReadStore(t.Context(), config, heal, func(ctx context.Context, store app.Store) (err error) {
		if reads++; reads == 1 {
			set.StopReplication(1, true) // the primary cannot know that it is still one
			set.StopReplication(2, true)
		}
		found, err = transfer.Export(ctx, store, scope, &bytes.Buffer{})
		return err
	})
	if err != nil || reads != 2 || found.Entries != 1 || fault.KindOf(interrupted) != fault.Unavailable {
		t.Errorf("%d reads, %d entries, interrupted by %v: %v", reads, found.Entries, interrupted, err)
	}
}
