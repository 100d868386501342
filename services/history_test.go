package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// history is a history of writes whose results are known: each has a key, and its client
// repeats it blindly until it has a certain answer. The writes of a client follow each other,
// so that a moment between two of them is a number of rounds for each client.
type history struct {
	t    *testing.T
	base func(place int) string // of a program that may serve; it asks again for another
	done progress               // rounds
	over atomic.Bool            // the clients begin no more rounds
	// mixed is set where programs of an earlier version run.
	mixed bool

	rounds   [historians]atomic.Int64 // completed, by client
	messages [historians]atomic.Int64 // sent
	repeats  atomic.Int64             // requests after the first of each write
	refusals atomic.Int64             // of them with status 503 or 429
	shop     shop
	pairs    pairings
	overlays overlays

	ears []*ear
}

const (
	historians = 6 // clients
	// talkEvery is the number of rounds for each message, which have a rate, buyEvery that for
	// each purchase, as few may be open, and pairEvery for a pairing and an overlay key of the
	// first clients.
	talkEvery, buyEvery, pairEvery = 4, 3, 12
	mostBought                     = 12 // by a client
	// historyPoll is the id of all that the clients write.
	historyPoll = "history"
)

// start prepares what the clients write to, and starts clients and listeners.
func (h *history) start() (wait func()) {
	t := h.t
	broadcaster := sign(t, "broadcaster", "B")
	h.must("POST", "/vote_config", broadcaster, "", fmt.Sprintf(`{"id":%q,"config":{"totalVotesPerUser":1024,"votesPerOption":1024}}`, historyPoll))
	h.openShop(broadcaster)
	ctx, stop := context.WithCancel(t.Context())
	var clients, listeners sync.WaitGroup
	h.startEars(ctx, &listeners)
	h.done.join(historians)
	for c := range historians {
		clients.Go(func() {
			defer h.done.leave()
			h.write(c)
		})
	}
	return func() {
		h.over.Store(true)
		clients.Wait()
		if !t.Failed() {
			h.awaitEars()
		}
		stop()
		listeners.Wait()
	}
}

// write writes round after round.
func (h *history) write(c int) {
	rng := rand.New(rand.NewPCG(uint64(c), 21))
	viewer, backend, broadcaster := sign(h.t, "viewer", fmt.Sprint("U", c)), sign(h.t, "backend", fmt.Sprint("S", c)), sign(h.t, "broadcaster", "B")
	for n := 0; !h.over.Load() && !h.t.Failed() && n < 1000; n++ {
		key := fmt.Sprintf("%d-%d", c, n)
		for _, w := range []struct{ method, path, header, body string }{
			{"POST", "/vote?id=" + historyPoll, viewer, `{"value":1}`},
			{"POST", "/votes?id=" + historyPoll, backend, fmt.Sprintf(`{"votes":[{"opaque_user_id":"V%d","value":2},{"opaque_user_id":"W%d","value":3}]}`, c, c)},
			{"POST", "/vote_modifier?id=weights", broadcaster, fmt.Sprintf(`{"user":"M%d","add":1}`, c)},
			{"POST", "/accumulate?id=" + historyPoll, viewer, fmt.Sprintf(`{"id":%q}`, key)},
			{"POST", "/rank?id=" + historyPoll, viewer, fmt.Sprintf(`{"key":%q}`, key)},
			{"PATCH", "/viewer_state", buyer(h.t, c), addToList(n)},
		} {
			h.repeat(rng, w.method, w.path, w.header, key, w.body)
		}
		if n%buyEvery == 0 && n < mostBought*buyEvery {
			h.buy(c, rng, key)
		}
		if n%talkEvery == 0 {
			h.repeat(rng, "POST", "/broadcast", broadcaster, key, fmt.Sprintf(`{"event":"tick","data":%q}`, key))
			h.messages[c].Add(1)
		}
		if n%pairEvery == 1 {
			h.usePairings(c, rng)
		}
		h.rounds[c].Add(1)
		h.done.add()
	}
}

// addToList is a patch that adds a number to a list, which the first one begins.
func addToList(n int) string {
	if n == 0 {
		return `[{"op":"add","path":"/n","value":[0]}]`
	}
	return fmt.Sprintf(`[{"op":"add","path":"/n/-","value":%d}]`, n)
}

// snapshot returns the rounds that each client has completed.
func (h *history) snapshot() (rounds [historians]int64) {
	for c := range rounds {
		rounds[c] = h.rounds[c].Load()
	}
	return rounds
}

// must sends a request until it is answered by 200, and gives up on none.
func (h *history) must(method, path, header, key, body string) string {
	return h.repeat(nil, method, path, header, key, body)
}

// repeat sends a request until it is answered by 200. With a source of randomness it gives up
// on some before they arrive, while they are under way, and after their effect. Each other
// answer but one that promises nothing is a failure.
func (h *history) repeat(rng *rand.Rand, method, path, header, key, body string) string {
	status, answer, _ := h.settle(rng, method, path, header, key, body)
	if status != http.StatusOK && status != http.StatusCreated && !h.t.Failed() {
		h.t.Errorf("%s %s of %s: %d %s", method, path, body, status, answer)
	}
	return answer
}

// settle repeats a request until it has a certain answer. blind is set where one before it may
// have had an effect.
func (h *history) settle(rng *rand.Rand, method, path, header, key, body string) (status int, answer string, blind bool) {
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline) && !h.t.Failed(); h.repeats.Add(1) {
		limit, place := 20*time.Second, rand.IntN(1<<20)
		if rng != nil {
			if place = rng.IntN(1 << 20); rng.IntN(3) == 0 {
				limit = time.Duration(rng.IntN(12_000)) * time.Microsecond
			}
		}
		ctx, cancel := context.WithTimeout(h.t.Context(), limit)
		status, answer = sendOnce(ctx, h.base(place), method, path, header, key, body)
		cancel()
		switch status {
		case http.StatusServiceUnavailable, http.StatusTooManyRequests:
			h.refusals.Add(1)
		case 0, http.StatusInternalServerError:
			blind = true
		default:
			return status, answer, blind
		}
		<-again.C
	}
	if !h.t.Failed() {
		h.t.Errorf("%s %s of %s has no answer but %d %s", method, path, body, status, answer)
	}
	return status, answer, blind
}
