package httpapi_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
	"github.com/acclaim-dev/acclaim/services/internal/feed/live"
	"github.com/acclaim-dev/acclaim/services/internal/feed/publish"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/message"
	"github.com/acclaim-dev/acclaim/services/pairing"
	"github.com/acclaim-dev/acclaim/services/picture"
	"github.com/acclaim-dev/acclaim/services/purchase"
	"github.com/acclaim-dev/acclaim/services/ranking"
	"github.com/acclaim-dev/acclaim/services/resultlog"
	"github.com/acclaim-dev/acclaim/services/roster"
	"github.com/acclaim-dev/acclaim/services/state"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// outages are conditions under which no operation, however right, succeeds.
func outages() map[outcome]func(*testing.T) *api {
	return map[outcome]func(*testing.T) *api{
		{status: "401", reason: "The credential is missing, malformed, expired or not valid here"}: withoutKeys,
		{status: "400", reason: "Games are not served here"}:                                       withoutGames,
		{status: "429", reason: "Too many requests; nothing was stored"}:                           withSpentRate,
		{status: "500", reason: "Internal error"}:                                                  withDefect,
		{status: "500", reason: "Storage failed; nothing was stored"}:                              withBrokenStore,
		{status: "500", reason: "Storage failed; the outcome is unknown"}:                          withHangingStore,
		{status: "503", reason: "The service cannot take this request now; nothing was stored"}:    withClosedServices,
		{status: "503", reason: keysFull}:                                                          withoutRoomForKeys,
	}
}

const keysFull = "Too many keys in a short time; nothing was stored"

// testOutages has each operation meet each outage that it documents.
func (c *contract) testOutages(t *testing.T) {
	for outage, begin := range outages() {
		for _, op := range c.operations(t) {
			outage.operation = op.name()
			if slices.Contains(op.outcomes(), outage) {
				t.Run(op.name()+" "+outage.reason, func(t *testing.T) {
					headers := []string{"Authorization", op.sender().in("").header(t)}
					if outage.reason == keysFull {
						headers = append(headers, "Idempotency-Key", "k")
					}
					got := begin(t).send(op.method, op.prefixes[0]+op.target(), op.exampleBody(t), headers...)
					c.check(t, op, got)
					if !outage.fits(got) {
						t.Errorf("%d %s, want %s %q", got.status, got.body, outage.status, outage.reason)
					}
				})
			}
		}
	}
}

// exampleBody is a body that the operation accepts and that changes something.
func (op describedOperation) exampleBody(t *testing.T) string {
	t.Helper()
	if op.method == http.MethodPatch && op.path != "/vote_config" && op.path != "/rank_config" {
		return `{"round":1}` // for every sender
	}
	return op.examples(t)[0]
}

func withoutKeys(t *testing.T) *api { return newAPI(t) } // of the sample extension

func withoutGames(t *testing.T) *api {
	return newSampleAPI(t, func(c *apiSettings) { c.GameLink = false })
}

// withSpentRate returns an API that has no request left for the extension, nor a name of a public
// result or a device for the address.
func withSpentRate(t *testing.T) *api {
	now := time.Now()
	a := newAPI(t, func(c *apiSettings) { c.Now = func() time.Time { return now } })
	a.reload(`extensions: [{clientID: sample-extension, ownerUserID: "1000", secrets: [{value: c2FtcGxlLXNlY3JldC10aGF0LWV2ZXJ5b25lLWtub3dz}], limits: {extensionRate: {perSecond: 1e-9, burst: 1}}}]`)
	a.as(owner().in(""), http.MethodGet, "/vote", "").is(http.StatusOK)
	for i := range 200 {
		a.send(http.MethodGet, fmt.Sprintf("/public/sample-extension/42/%d/result.json", i), "").is(http.StatusNotFound)
		a.send(http.MethodPost, "/v1/devices", `{"client":"sample-extension","channel":"42","poll":"none"}`).is(http.StatusNotFound)
	}
	return a
}

func withDefect(t *testing.T) *api {
	a := newAPI(t)
	a.registry.Store(nil)
	return a
}

func withBrokenStore(t *testing.T) *api {
	s, _ := over(t, brokenStore{errors.New("input/output error")})
	return newSampleAPI(t, s)
}

func withClosedServices(t *testing.T) *api {
	s, drain := over(t, brokenStore{fault.New(fault.Unavailable, "closed")})
	drain()
	return newSampleAPI(t, s)
}

// withoutRoomForKeys returns an API whose polls are multi-vote ones: others need no room.
func withoutRoomForKeys(t *testing.T) *api {
	store := &keyedStore{Memory: storetest.NewMemory()}
	s, _ := over(t, store)
	a := newSampleAPI(t, s)
	for _, id := range []string{"default", "lunch"} {
		a.as(owner().in(""), http.MethodPost, "/vote_config", `{"id":"`+id+`","config":{"totalVotesPerUser":9}}`).is(http.StatusOK)
	}
	a.as(owner().in(""), http.MethodPost, "/config/channel", `{"skus":{"life":{"price":10}}}`).is(http.StatusOK)
	return a
}

// keyedStore has documents that are full of keys.
type keyedStore struct{ *storetest.Memory }

func (s *keyedStore) Get(ctx context.Context, keys ...string) ([]document.Document, error) {
	found, err := s.Memory.Get(ctx, keys...)
	for i := range found {
		found[i].Keys = make([]once.Kept, 4096)
		for n := range found[i].Keys {
			found[i].Keys[n].At = time.Now().UnixMilli()
		}
	}
	return found, err
}

// withHangingStore returns an API whose callers give up when their write has
// begun.
func withHangingStore(t *testing.T) *api {
	store := &hangingStore{Memory: storetest.NewMemory(), release: make(chan struct{})}
	s, drain := over(t, store)
	a := newSampleAPI(t, s)
	t.Cleanup(func() { close(store.release); drain() })
	for _, op := range []string{"/vote", "/rank", "/accumulate"} { // so that there is something to delete
		a.as(owner().in(""), http.MethodPost, op+"?id=lunch", `{"key":"a"}`).is(http.StatusOK)
	}
	a.as(owner().in(""), http.MethodPost, "/json_store?id=prices", "{}").is(http.StatusOK)
	a.as(owner().in(""), http.MethodPost, "/pictures", uploadOf(encodedPicture(t, 2, 2, 1))).is(http.StatusOK)
	serve := a.handler
	a.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var ctx context.Context
		ctx, store.giveUp = context.WithCancel(r.Context())
		serve.ServeHTTP(w, r.WithContext(ctx))
	})
	return a
}

// memory is a store with the interfaces that all services need.
type memory interface {
	stream.Store
	document.Store
}

// over makes production's services of a store, and returns what drains them.
func over(t *testing.T, store memory) (change func(*apiSettings), drain func()) {
	clock, options := stream.SystemClock(), stream.Options{Exclusive: true, KeyBudget: 1}
	votes := voting.NewService(store, clock, options)
	buffers := accumulation.NewService(store, clock, options)
	questions := ranking.NewService(store, clock, options)
	messages := message.NewService(store, clock, options)
	documents := document.NewService(store, clock, document.Options{})
	results := resultlog.NewService(store, clock, options)
	publisher := publish.New(publish.Options{Polls: votes, Log: results, Key: ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)), Origin: "votes.example/acclaim", Clock: clock, Logger: slog.New(slog.DiscardHandler)})
	states, viewers := state.NewService(documents), roster.NewService(store, clock, options)
	hub := live.New(live.Options{
		Reader:   event.NewReader(event.Stores{Polls: votes, Documents: documents, Messages: messages, Buffers: buffers, Questions: questions}),
		Notifier: &event.Notifier{}, Streams: storetest.NewMemory().Streams,
	})
	drain = func() {
		for _, service := range []interface{ Close(context.Context) error }{hub, publisher, results, votes, buffers, questions, messages, documents, viewers} {
			if err := service.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		}
	}
	return func(c *apiSettings) {
		c.Voting, c.Accumulation, c.Ranking, c.State = operation.NewVoting(votes), buffers, operation.NewRanking(questions), operation.NewState(states)
		c.Live, c.Messages, c.Roster, c.Results = hub, messages, viewers, publisher
		c.Pairing, c.Purchases = operation.NewPairing(pairing.NewService(documents, nil)), purchase.NewService(documents, nil)
		c.Pictures = picture.NewService(documents, nil)
		c.PollLister = func(_ context.Context, prefix, _ string) iter.Seq2[string, error] {
			return func(yield func(string, error) bool) { yield(prefix+"lunch", nil) }
		}
	}, drain
}

// brokenStore fails always.
type brokenStore struct{ err error }

func (s brokenStore) Append(context.Context, stream.Chunk) error { return s.err }

func (s brokenStore) Chunks(context.Context, string, uint64) iter.Seq2[stream.Chunk, error] {
	return func(yield func(stream.Chunk, error) bool) { yield(stream.Chunk{}, s.err) }
}

func (s brokenStore) Replace(context.Context, stream.Chunk, stream.Digest) error { return s.err }

func (s brokenStore) DeleteSnapshot(context.Context, string) error { return s.err }

func (s brokenStore) Delete(context.Context, string) error { return s.err }

func (s brokenStore) SaveSnapshot(context.Context, string, stream.Snapshot) error { return s.err }

func (s brokenStore) LoadSnapshot(context.Context, string) (stream.Snapshot, bool, error) {
	return stream.Snapshot{}, false, s.err
}

func (s brokenStore) Get(context.Context, ...string) ([]document.Document, error) { return nil, s.err }

func (s brokenStore) Put(context.Context, ...document.Write) error { return s.err }

// hangingStore makes the caller give up and then keeps the write until release.
type hangingStore struct {
	*storetest.Memory
	giveUp  context.CancelFunc // nil: writes are as usual
	release chan struct{}
}

func (s *hangingStore) hang() {
	if s.giveUp != nil {
		s.giveUp()
		<-s.release
	}
}

func (s *hangingStore) Append(ctx context.Context, chunk stream.Chunk) error {
	s.hang()
	return s.Memory.Append(ctx, chunk)
}

func (s *hangingStore) Put(ctx context.Context, writes ...document.Write) error {
	if s.giveUp != nil && len(writes) > 1 { // whose callers do not give up
		return errors.Join(document.ErrIncomplete, document.ErrPartial)
	}
	s.hang()
	return s.Memory.Put(ctx, writes...)
}
