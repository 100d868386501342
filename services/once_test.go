package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/acclaim-dev/acclaim/services/internal/testing/mongotest"
)

// Clients repeat each write with its key until they receive an answer, while connections
// break before and after each of them arrives and programs are killed. Each write has its
// effect once.
func TestEachKeyedWriteCountsOnce(t *testing.T) {
	t.Parallel()
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		current := startProgram(t, dir, "serve")
		var mu sync.RWMutex
		base := func(int) string {
			mu.RLock()
			defer mu.RUnlock()
			return current.base
		}
		repeatWrites(t, base, func(int) {
			mu.Lock()
			defer mu.Unlock()
			if err := current.cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
			_ = current.cmd.Wait() // it was killed
			current = startProgram(t, dir, "serve")
		})
	})
	t.Run("database", func(t *testing.T) {
		t.Parallel()
		f := startFleet(t, []string{mongotest.WithLongTimeouts(mongotest.Start(t))}, 3, "--shutdown-timeout", "3m")
		repeatWrites(t, func(i int) string { return f.any(i).base }, func(round int) {
			f.kill(round % 3)
			f.replace((round + 1) % 3)
		})
	})
}

const (
	repeaters    = 8
	writesOfEach = 12
)

// repeatWrites sends the writes of several clients while disturb is called, and checks their
// effects.
func repeatWrites(t *testing.T, base func(int) string, disturb func(round int)) {
	broadcaster := sign(t, "broadcaster", "B")
	mustRepeat(t, base, rand.New(rand.NewPCG(0, 0)), "POST", "/vote_config", broadcaster, "", `{"id":"once","config":{"totalVotesPerUser":1000,"votesPerOption":1000}}`)
	mustRepeat(t, base, rand.New(rand.NewPCG(0, 0)), "POST", "/channel_state", broadcaster, "", `{"n":[]}`)
	openShop(t, base, broadcaster)
	progress := make(chan struct{}, repeaters*writesOfEach)
	var clients sync.WaitGroup
	for c := range repeaters {
		clients.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(c), 11))
			viewer, backend := sign(t, "viewer", fmt.Sprint("U", c)), sign(t, "backend", fmt.Sprint("S", c))
			for n := range writesOfEach {
				key := fmt.Sprintf("%d-%d", c, n)
				mustRepeat(t, base, rng, "POST", "/vote?id=once", viewer, key, `{"value":1}`)
				mustRepeat(t, base, rng, "POST", "/votes?id=once", backend, key, fmt.Sprintf(`{"votes":[{"opaque_user_id":"V%d","value":2},{"opaque_user_id":"W%d","value":3}]}`, c, c))
				mustRepeat(t, base, rng, "POST", "/vote_modifier?id=weights", broadcaster, key, fmt.Sprintf(`{"user":"M%d","add":1}`, c))
				mustRepeat(t, base, rng, "POST", "/accumulate?id=once", viewer, key, fmt.Sprintf(`{"id":%q}`, key))
				mustRepeat(t, base, rng, "POST", "/rank?id=once", viewer, key, fmt.Sprintf(`{"key":%q}`, key))
				mustRepeat(t, base, rng, "POST", "/coins/purchase", buyer(t, c), key, `{"sku":"life","price":10}`)
				mustRepeat(t, base, rng, "PATCH", "/channel_state", broadcaster, key, fmt.Sprintf(`[{"op":"add","path":"/n/-","value":%q}]`, key))
				progress <- struct{}{}
			}
		})
	}
	go func() { clients.Wait(); close(progress) }()
	rounds := 0
	for range progress {
		if rounds++; rounds%16 == 0 {
			disturb(rounds / 16)
		}
	}
	checkRepeated(t, base)
}

// coinsLeft are the coins of each client after its purchases.
const coinsLeft = 35

// openShop has the channel sell lives, and gives the clients coins.
func openShop(t *testing.T, base func(int) string, broadcaster string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(0, 0))
	mustRepeat(t, base, rng, "POST", "/config/channel", broadcaster, "", `{"skus":{"life":{"price":10}}}`)
	for c := range repeaters {
		receipt, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
			"topic": "bits_transaction_receipt", "exp": time.Now().Add(time.Hour).Unix(),
			"data": map[string]any{
				"transactionId": fmt.Sprint("bits-", c), "userId": fmt.Sprint(buyersFrom + c),
				"product": map[string]any{
					"domainId": "twitch.ext." + sampleExtension, "sku": "bits",
					"cost": map[string]any{"amount": 10*writesOfEach + coinsLeft, "type": "bits"},
				},
			},
		}).SignedString(sampleSecret(t))
		if err != nil {
			t.Fatal(err)
		}
		// The answer is 201 at first, and 200 when it is repeated.
		mustRepeat(t, base, rng, "POST", "/bits/transactions", buyer(t, c), "", fmt.Sprintf(`{"transactionReceipt":%q}`, receipt))
	}
}

// buyersFrom is the user id of the first client.
const buyersFrom = 5000

func buyer(t *testing.T, c int) string {
	t.Helper()
	return signViewer(t, fmt.Sprint("U", c), fmt.Sprint(buyersFrom+c))
}

func checkRepeated(t *testing.T, base func(int) string) {
	const all = repeaters * writesOfEach
	backend, broadcaster := sign(t, "backend", "S"), sign(t, "broadcaster", "B")
	read := func(path, header string) string {
		return mustRepeat(t, base, rand.New(rand.NewPCG(0, 0)), "GET", path, header, "", "")
	}
	if n := strings.Count(read("/vote_logs?id=once", backend), `"value"`); n != 3*all {
		t.Errorf("%d votes are in the log, want %d", n, 3*all)
	}
	for c := range repeaters {
		mustRepeat(t, base, rand.New(rand.NewPCG(0, 0)), "POST", "/vote?id=weights", sign(t, "viewer", fmt.Sprint("M", c)), "last", `{"value":1}`)
	}
	var weights struct{ Count int }
	if err := json.Unmarshal([]byte(read("/vote?id=weights", backend)), &weights); err != nil || weights.Count != repeaters*(1+writesOfEach) {
		t.Errorf("modifiers add up to %d, %v, want %d", weights.Count, err, repeaters*(1+writesOfEach))
	}
	for c := range repeaters {
		if got, want := read("/coins", buyer(t, c)), fmt.Sprintf(`{"balance":%d}`, coinsLeft); got != want {
			t.Errorf("buyer %d has %s, want %s", c, got, want)
		}
	}
	entries, state := read("/accumulate?id=once", backend), read("/channel_state", broadcaster)
	for c := range repeaters {
		for n := range writesOfEach {
			id := fmt.Sprintf(`"%d-%d"`, c, n)
			if strings.Count(entries, id) != 1 || strings.Count(state, id) != 1 {
				t.Errorf("%s is in the buffer %d times, in the state %d times", id, strings.Count(entries, id), strings.Count(state, id))
			}
		}
	}
	ranked := read("/rank?id=once&limit=1000", broadcaster)
	for c := range repeaters {
		if want := fmt.Sprintf(`{"key":"%d-%d","score":1}`, c, writesOfEach-1); !strings.Contains(ranked, want) {
			t.Errorf("the ranking lacks %s: %s", want, ranked)
		}
	}
}

// mustRepeat sends a request until it has an answer of 200, and gives up on some before they
// arrive, while they are under way, and after their effect.
func mustRepeat(t *testing.T, base func(int) string, rng *rand.Rand, method, path, header, key, body string) string {
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline) && !t.Failed(); {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		if key != "" && rng.IntN(2) == 0 {
			ctx, cancel = context.WithTimeout(t.Context(), time.Duration(rng.IntN(12_000))*time.Microsecond)
		}
		status, answer := sendOnce(ctx, base(rng.IntN(1<<20)), method, path, header, key, body)
		cancel()
		switch {
		case status == http.StatusOK:
			return answer
		case status >= 400 && status < 500 && status != http.StatusTooManyRequests:
			t.Errorf("%s %s with %s: %d %s", method, path, body, status, answer)
		}
	}
	t.Errorf("%s %s has no answer", method, path)
	return ""
}

// sendOnce returns the answer to a request, 0 for none.
func sendOnce(ctx context.Context, base, method, path, header, key, body string) (status int, answer string) {
	r, err := http.NewRequestWithContext(ctx, method, base+path, strings.NewReader(body))
	if err != nil {
		return 0, ""
	}
	r.Header.Set("Authorization", header)
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, ""
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, ""
	}
	return response.StatusCode, string(content)
}
