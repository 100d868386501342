package sink_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/internal/storetest"
	"github.com/acclaim-dev/acclaim/services/state"
)

func TestPubSubRequest(t *testing.T) {
	in(t, func(t *testing.T) {
		to := &system{t: t}
		p := start(t, storetest.NewMemory(), platform, to, true)
		pass(2 * time.Second)
		for _, test := range []struct {
			do              func()
			target, channel string
			global          bool
		}{
			{func() { p.vote("p", 1) }, "broadcast", "1", false},
			{func() { p.say("U7", "psst", "1") }, "whisper-U7", "1", false},
			{func() { p.write(state.Extension, `{"a":1}`) }, "global", "all", true},
		} {
			test.do()
			pass(5 * time.Second)
			token, _ := strings.CutPrefix(to.headers.Get("Authorization"), "Bearer ")
			claims := jwt.MapClaims{}
			_, err := jwt.NewParser(jwt.WithTimeFunc(time.Now)).ParseWithClaims(token, claims, func(*jwt.Token) (any, error) { return []byte("one"), nil })
			if err != nil {
				t.Fatal(err)
			}
			delete(claims, "exp")
			if diff := cmp.Diff(jwt.MapClaims{
				"user_id": "1000", "role": "external", "channel_id": test.channel,
				"pubsub_perms": map[string]any{"send": []any{test.target}},
			}, claims); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
			}
			var body struct {
				Target      []string
				Broadcaster string `json:"broadcaster_id"`
				Global      bool   `json:"is_global_broadcast"`
			}
			if err := json.Unmarshal([]byte(to.tried[len(to.tried)-1].body), &body); err != nil {
				t.Fatal(err)
			}
			if body.Target[0] != test.target || body.Global != test.global || (body.Broadcaster == "") != test.global {
				t.Errorf("%s: %+v", test.target, body)
			}
			if id := to.headers.Get("Client-Id"); id != "ext" {
				t.Errorf("client id %q", id)
			}
		}
	})
}

// The platform's bucket is never overdrawn, whatever happens, and in the end it has
// heard what every poll came to.
func TestBudget(t *testing.T) {
	for seed := range uint64(20) {
		in(t, func(t *testing.T) {
			random, moods := rand.New(rand.NewPCG(seed, 0)), rand.New(rand.NewPCG(seed, 1))
			tokens, last := 100.0, time.Now()
			known := map[string]string{}
			to := &system{t: t}
			to.answer = func(_ int, body string) int {
				now := time.Now()
				tokens, last = min(100, tokens+now.Sub(last).Seconds()), now
				if tokens--; tokens < -1e-6 {
					t.Errorf("seed %d: the budget is overdrawn", seed)
				}
				switch moods.IntN(10) {
				case 0:
					return http.StatusTooManyRequests
				case 1:
					return 0
				}
				for _, e := range events(t, body) {
					name, count, _ := strings.Cut(strings.TrimPrefix(e, "vote_update:"), " ")
					known[name] = count
				}
				return http.StatusNoContent
			}
			store := storetest.NewMemory()
			p := start(t, store, platform, to, true)
			counts := map[string]int{}
			for n := range 400 {
				id := fmt.Sprint("p", random.IntN(60))
				p.vote(id, n)
				counts[id]++
				if random.IntN(4) == 0 {
					pass(time.Duration(random.IntN(500)) * time.Millisecond)
				}
				if random.IntN(100) == 0 {
					p.kill()
					p = start(t, store, platform, to, true)
				}
			}
			pass(30 * time.Minute)
			for id, count := range counts {
				if known[id] != fmt.Sprint(count) {
					t.Errorf("seed %d: %s has %d votes, the platform knows of %q", seed, id, count, known[id])
				}
			}
		})
	}
}

// A poll's updates are merged while the budget is used up, and what does not fit is
// replaced.
func TestMergesAndReplaces(t *testing.T) {
	in(t, func(t *testing.T) {
		to := &system{t: t}
		p := start(t, storetest.NewMemory(), platform, to, true)
		for voter := range 50 {
			p.vote("p", voter)
			p.vote("q", voter)
		}
		synctest.Wait()
		pass(time.Second)
		if n := len(to.tried); n != 1 {
			t.Errorf("%d messages, want 1", n)
		}
		to.want("vote_update:p 50", "vote_update:q 50")
		p.write(state.Channel, `{"a":"`+strings.Repeat("x", 6000)+`"}`)
		pass(5 * time.Second)
		to.want("resync {}")
	})
}
