package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// historyCoins are the coins of each client at the beginning.
const historyCoins = 10*mostBought + 35

// openShop has the channel sell lives, and gives the clients coins.
func (h *history) openShop(broadcaster string) {
	h.t.Helper()
	h.must("POST", "/config/channel", broadcaster, "", `{"skus":{"life":{"price":10}}}`)
	for c := range historians {
		receipt, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
			"topic": "bits_transaction_receipt", "exp": time.Now().Add(time.Hour).Unix(),
			"data": map[string]any{
				"transactionId": fmt.Sprint("history-", c), "userId": fmt.Sprint(buyersFrom + c),
				"product": map[string]any{
					"domainId": "twitch.ext." + sampleExtension, "sku": "bits",
					"cost": map[string]any{"amount": historyCoins, "type": "bits"},
				},
			},
		}).SignedString(sampleSecret(h.t))
		if err != nil {
			h.t.Fatal(err)
		}
		h.must("POST", "/bits/transactions", buyer(h.t, c), "", fmt.Sprintf(`{"transactionReceipt":%q}`, receipt))
	}
}

// bounds are the least and the most rounds of each client whose writes may be found: all before
// a moment, and none after another.
type bounds struct{ least, most [historians]int64 }

// read reads from one program.
func (h *history) read(base, path, header string, into any) {
	h.t.Helper()
	status, answer := 0, ""
	h.eventually(func() bool { // a program may have to find the owner again
		status, answer = sendOnce(h.t.Context(), base, "GET", path, header, "", "")
		return status != 0 && status != http.StatusServiceUnavailable && status != http.StatusTooManyRequests
	})
	if status != http.StatusOK {
		h.t.Errorf("GET %s: %d %s", path, status, answer)
	} else if into != nil {
		if err := json.Unmarshal([]byte(answer), into); err != nil {
			h.t.Errorf("GET %s: %v", path, err)
		}
	}
}

// eventually asks until something holds, within minutes.
func (h *history) eventually(holds func() bool) {
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for deadline := time.Now().Add(3 * time.Minute); !holds() && time.Now().Before(deadline) && !h.t.Failed() && h.t.Context().Err() == nil; {
		<-again.C
	}
}

// check compares what a program answers with what the clients have written.
func (h *history) check(base string, within bounds) {
	h.t.Helper()
	h.checkVotes(base, within)
	h.checkEntries(base, within)
	for c := range historians {
		var state struct{ N []int64 }
		h.read(base, "/viewer_state", buyer(h.t, c), &state)
		for n, value := range state.N {
			if value != int64(n) {
				h.t.Errorf("the state of client %d has %d in place %d", c, value, n)
				break
			}
		}
		within.want(h.t, c, "patches", int64(len(state.N)))
		var coins struct{ Balance int64 }
		h.read(base, "/coins", buyer(h.t, c), &coins)
		all := h.shop.bought[c].Load()
		if least, most := min(bought(within.least[c]), all), min(bought(within.most[c]), all); coins.Balance > historyCoins-10*least || coins.Balance < historyCoins-10*most {
			h.t.Errorf("buyer %d has %d coins after %d to %d purchases", c, coins.Balance, least, most)
		}
	}
}

// shop counts the purchases of each client until it is closed.
type shop struct {
	mu     sync.RWMutex // is locked while it closes
	closed bool
	bought [historians]atomic.Int64
}

// buy buys a life for coins, unless the shop is closed.
func (h *history) buy(c int, rng *rand.Rand, key string) {
	h.shop.mu.RLock()
	defer h.shop.mu.RUnlock()
	if !h.shop.closed {
		h.repeat(rng, "POST", "/coins/purchase", buyer(h.t, c), key, `{"sku":"life","price":10}`)
		h.shop.bought[c].Add(1)
	}
}

// closeShop waits for the purchases under way and ends all.
func (h *history) closeShop() {
	h.shop.mu.Lock()
	defer h.shop.mu.Unlock()
	h.shop.closed = true
}

// bought is the number of purchases in a number of rounds.
func bought(rounds int64) int64 { return min((rounds+buyEvery-1)/buyEvery, mostBought) }

// want checks that the number of writes that were found belongs to a client's rounds.
func (b bounds) want(t *testing.T, c int, what string, found int64) {
	t.Helper()
	if found < b.least[c] || found > b.most[c] {
		t.Errorf("client %d has %d %s of %d to %d", c, found, what, b.least[c], b.most[c])
	}
}

// checkVotes checks the log and the statistics of the poll, and the modifiers.
func (h *history) checkVotes(base string, within bounds) {
	h.t.Helper()
	var logged logAnswer
	var statistics statisticsAnswer
	h.read(base, "/vote_logs?id="+historyPoll, sign(h.t, "backend", "S"), &logged)
	h.read(base, "/vote?id="+historyPoll, sign(h.t, "backend", "S"), &statistics)
	times, sum := map[string]int64{}, int64(0)
	for _, record := range logged.Result {
		times[fmt.Sprint(record.Opaque, " for ", record.Value)]++
		sum += record.Value
	}
	if statistics.Count != int64(len(logged.Result)) || statistics.Sum != sum {
		h.t.Errorf("the statistics are %d and %d, those of the log %d and %d", statistics.Count, statistics.Sum, len(logged.Result), sum)
	}
	for c := range historians {
		for value, who := range map[int]string{1: "U", 2: "V", 3: "W"} {
			within.want(h.t, c, "votes of "+who, times[fmt.Sprintf("%s%d for %d", who, c, value)])
		}
	}
}

// checkEntries checks that the buffer has each entry once, and of each client the first ones.
func (h *history) checkEntries(base string, within bounds) {
	h.t.Helper()
	found := map[string]int{}
	for start := int64(0); ; {
		var page entriesPage
		if h.read(base, fmt.Sprintf("/accumulate?id=%s&start=%d", historyPoll, start), sign(h.t, "backend", "S"), &page); page.Latest == 0 {
			break
		}
		for _, entry := range page.Data {
			found[entry.Data.ID]++
		}
		start = page.Latest
	}
	var of [historians]int64
	for id, times := range found {
		var c, n int64
		if _, err := fmt.Sscanf(strings.ReplaceAll(id, "-", " "), "%d %d", &c, &n); err != nil || times != 1 {
			h.t.Errorf("entry %q is there %d times, %v", id, times, err)
			continue
		}
		of[c]++
	}
	for c := range historians {
		within.want(h.t, c, "entries", of[c])
		for n := range of[c] {
			if id := fmt.Sprintf("%d-%d", c, n); found[id] == 0 {
				h.t.Errorf("entry %s is missing, and later ones are there", id)
				break
			}
		}
	}
}

// checkLast also checks what a check before the end would change: the modifiers, which a vote
// shows. Then it checks a program that has everything.
func (h *history) checkLast(base string) {
	h.t.Helper()
	rounds, total := h.snapshot(), int64(historians)
	for c, n := range rounds {
		total += n
		h.must("POST", "/vote?id=weights", sign(h.t, "viewer", fmt.Sprint("M", c)), "last", `{"value":1}`)
	}
	var weights struct{ Count int64 }
	if h.read(base, "/vote?id=weights", sign(h.t, "backend", "S"), &weights); weights.Count != total {
		h.t.Errorf("modifiers add up to %d, want %d", weights.Count, total)
	}
	h.checkRanking(base, rounds)
	h.checkPairings(base)
	h.check(base, bounds{rounds, rounds})
}

// checkRanking checks that the last answer of each client counts, and no other.
func (h *history) checkRanking(base string, rounds [historians]int64) {
	h.t.Helper()
	var ranked struct {
		Data []struct {
			Key   string
			Score int
		}
	}
	h.read(base, "/rank?limit=1000&id="+historyPoll, sign(h.t, "broadcaster", "B"), &ranked)
	scores := map[string]int{}
	for _, answer := range ranked.Data {
		scores[answer.Key] = answer.Score
	}
	for c, n := range rounds {
		if key := fmt.Sprintf("%d-%d", c, n-1); n > 0 && scores[key] != 1 {
			h.t.Errorf("answer %s has %d points", key, scores[key])
		}
	}
	if len(scores) > historians {
		h.t.Errorf("%d answers of %d clients are ranked", len(scores), historians)
	}
}
