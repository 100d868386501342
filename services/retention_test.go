package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/store/mongostore"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/admin"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// laterClock is two hours ahead and does not sleep.
type laterClock struct{}

func (laterClock) Now() time.Time { return time.Now().Add(2 * time.Hour) }

func (laterClock) Sleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// Two programs share a database. Both receive votes while two retention workers
// truncate every entry. No vote is lost or counted twice. The databases are those whose updates are
// atomic: of two workers that replace a chunk at once, one has to find it changed. The server of
// hack/mongod lets both.
func TestRetentionWhileVotesArrive(t *testing.T) {
	for _, database := range []string{"replica set", "sharded cluster"} {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			truncateWhileVotesArrive(t, databases[database](t))
		})
	}
}

func truncateWhileVotesArrive(t *testing.T, uri string) {
	f := startFleet(t, []string{uri}, 2)
	const voters, rounds = 6, 20
	var all sync.WaitGroup
	var votes sync.WaitGroup
	for v := range voters {
		votes.Go(func() {
			for i := range rounds { // each votes twice, the second time instead of the first
				header := signViewer(t, fmt.Sprintf("U-%d-%d", v, i/2), "")
				if f, why := send(f.any(v+i), http.MethodPost, "/vote", header, `{"value":1}`, nil); f != stored {
					t.Errorf("a vote failed: %s", why)
				}
			}
		})
	}
	parsed, err := tenant.Parse([]byte(`extensions: [{clientID: sample-extension, secrets: [{value: aC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}], retention: {logs: 1h}}]`))
	if err != nil {
		t.Fatal(err)
	}
	var truncated atomic.Uint64
	for range 2 {
		all.Go(func() {
			store, err := mongostore.Open(t.Context(), uri)
			if err != nil {
				t.Error(err)
				return
			}
			polls := voting.NewService(store, stream.SystemClock(), stream.Options{})
			domains := admin.Domains{voting.Kind: admin.NewDomain(polls.Rewriting(), func(r tenant.Retention) time.Duration { return r.Logs })}
			worker := admin.NewRetentionWorker(store, domains, func() *tenant.Registry { return parsed }, laterClock{}, slog.New(slog.DiscardHandler))
			for i := range 5 {
				if i == 4 {
					votes.Wait() // the last truncation, at least, has entries to remove
				}
				if err := worker.RunOnce(t.Context(), true); err != nil {
					t.Error(err)
				}
			}
			truncated.Add(worker.Stats().Chunks)
			if err := errors.Join(polls.Close(t.Context()), store.Close(context.WithoutCancel(t.Context()))); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for i := range 2 {
		var tally struct{ Count int }
		if f, why := send(f.any(i), http.MethodGet, "/vote", sign(t, "backend", ""), "", &tally); f != stored || tally.Count != voters*rounds/2 {
			t.Errorf("%d votes are counted, want %d %s", tally.Count, voters*rounds/2, why)
		}
	}
	if truncated.Load() == 0 {
		t.Error("nothing was truncated")
	}
	if out, status := runVerify(t, "--mongodb-uri", uri); status != 0 {
		t.Errorf("verify: status %d\n%s", status, out)
	}
}
